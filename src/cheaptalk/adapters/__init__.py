"""Adapters that make games, runs and records available in other projects' formats.

Adapters are imported on first use; each adapter needs its own extra.

>>> study = ct.Study(name="s", games=[{"game": "negotiation"}], players={"luck": "random"})
>>> _ = ct.run(study, "s.sqlite")
>>> ct.adapters.write_dataset(
...     "s.sqlite", "s", "dataset", title="Luck", licence="cc0-1.0", citation="Me (2026). Luck."
... ).rows["matches"]
1
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
