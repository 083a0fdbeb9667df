"""Players of a study who differ in one setting alone, found in what the study says of them."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cheaptalk.reports.pages import capital, plain, readable
from cheaptalk.reports.recipes.gama.runs import GAMES

REASONING = "reasoning strategy"
VERSION = "prompt version"
CALLED = {"chain_of_thought": REASONING, "persona": REASONING, "style": VERSION}
"""Settings that are called otherwise here; those of one name are one treatment."""
IDENTITY = ("model", "strategy", "person", "recorded")
"""Settings in which players differ who are others altogether."""
LEFT = "default"
"""The value of a setting that is left alone."""


class Family(NamedTuple):
    """Players who differ in one setting alone.

    Attributes:
        setting: which one.
        name: the model or strategy that they have in common.
        values: the setting's value as it is shown, by label, in order.
    """

    setting: str
    name: str
    values: dict[str, str]

    @property
    def title(self) -> str:
        """The setting as people read it."""
        if self.game is None:
            return capital(self.setting)
        return (
            f"{GAMES.get(self.game, capital(self.game))}, {plain(self.setting.rpartition('.')[2])}"
        )

    @property
    def game(self) -> str | None:
        """The only game that the setting is about, if it is a scripted strategy's for one."""
        first, _, rest = self.setting.partition(".")
        return rest.partition(".")[0] if first == "strategies" else None


def families(players: Mapping[str, Mapping[str, Any]]) -> list[Family]:
    """All sets of two players or more who differ in one setting, by setting.

    Args:
        players: a study's entries by label.

    >>> found = families({"a": {"model": "vllm/x", "temperature": 0.2},
    ...                   "b": {"model": "vllm/x", "temperature": 0}, "c": {"model": "vllm/y"}})
    >>> [(one.setting, one.name, one.values) for one in found]
    [('temperature', 'x', {'b': '0', 'a': '0.2'})]
    """
    settings = {label: dict(_settings(entry)) for label, entry in players.items()}
    names = dict.fromkeys(name for of in settings.values() for name in of)
    found = []
    for name in names:
        if name.rpartition(".")[2] in IDENTITY:
            continue
        alike: dict[str, list[str]] = {}
        for label, of in settings.items():
            rest = sorted((key, value) for key, value in of.items() if key != name)
            alike.setdefault(str(rest), []).append(label)
        for labels in alike.values():
            if len(labels) > 1:
                values = {label: settings[label].get(name, LEFT) for label in labels}
                found.append(Family(name, _common(settings[labels[0]]), _ordered(values)))
    return found


def _settings(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """An entry's settings as texts by name, those within others under ``outer.inner``."""
    together: dict[str, list[str]] = {}
    for name, value in _leaves(entry):
        text = f"CoT {plain(value)}" if name == "chain_of_thought" else readable(value)
        together.setdefault(CALLED.get(name.partition(".")[0], name), []).append(text)
    yield from ((name, " and ".join(texts)) for name, texts in together.items())


def _leaves(entry: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in entry.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{key}.")
        elif (path.startswith("strategies.") and "strategy" not in entry) or path == "strategies.":
            yield f"{path}{key}.strategy", value
        elif value is not None:
            yield f"{path}{key}", value


def _common(settings: Mapping[str, str]) -> str:
    """What players of these settings are called together."""
    own = [value.rpartition("/")[2] for name, value in settings.items()
           if name.rpartition(".")[2] in IDENTITY]  # fmt: skip
    return own[0] if len(set(own)) == 1 else "scripted strategies"


def _ordered(values: dict[str, str]) -> dict[str, str]:
    """Numbers by size and texts by name, with what is left alone first."""

    def place(label: str) -> tuple[int, float, str]:
        try:
            return 1, float(values[label]), ""
        except ValueError:
            return 0 if values[label] == LEFT else 2, 0.0, values[label]

    return {label: values[label] for label in sorted(values, key=place)}
