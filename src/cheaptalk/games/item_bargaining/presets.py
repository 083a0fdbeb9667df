"""The games of the paper (section 5 and appendix A), as parameters."""

from typing import Any

BGS: dict[str, Any] = {"quantities": (7, 4, 1)}
"""The class of small games: three kinds, always as many items."""
BGL: dict[str, Any] = {"quantities": {"kinds": 5, "mean": 4}}
"""The class of large games: five kinds, as many items of each as a Poisson number of mean 4."""

PRESETS: dict[str, dict[str, Any]] = {
    "BG1": BGL | {"discount": 0.9, "rounds": 3},
    "BG2": BGL | {"discount": 0.98, "rounds": 3},
    "BG3": BGL | {"discount": 0.98, "rounds": 5},
    "BG4": BGS | {"discount": 0.9, "rounds": 3},
    "BG5": BGS | {"discount": 0.98, "rounds": 3},
    "BG6": BGS | {"discount": 0.98, "rounds": 5},
    "BGS": BGS,
    "BGL": BGL,
}
"""By the paper's names, for ``ItemBargaining.model_validate``; the two classes have the default
discount and rounds, on which nothing that is particular to a class depends."""
