"""Presets of training runs: algorithm, game, number of matches and settings."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import Field

from cheaptalk.rules import CheaptalkError, Value
from cheaptalk.yaml_files import read_yaml

MATCHES = 1_000_000
"""Default number of matches."""


class Preset(Value):
    """A preset of a training run: an algorithm with its game and settings.

    Attributes:
        game: the name of a game or of a configuration.
    """

    algorithm: str
    game: str
    matches: int = Field(ge=1)
    settings: Mapping[str, Any] = {}
    source: str = ""


TRAININGS: Mapping[str, Preset] = MappingProxyType(
    {
        name: Preset.model_validate(training)
        for name, training in read_yaml(Path(__file__).with_name("trainings.yaml")).items()
    }
)
"""The included trainings. The algorithms' defaults are the paper appendix's values for BG4."""


def get_preset(
    name: str, game: str | None, matches: int | None, settings: Mapping[str, Any]
) -> Preset:
    """Return a preset by its name or its algorithm's name, with the given changes.

    >>> get_preset("rnad-bg5", None, 1_000, {"rate": 0.001}).game
    'BG5'

    Args:
        name: the algorithm or the preset.
        game: replaces the preset's game; None to keep it.
        matches: replaces the preset's matches; None to keep them.

    Raises:
        CheaptalkError: an algorithm is given without a game.
    """
    preset = TRAININGS.get(name)
    if preset is None:
        if game is None:
            trainings = ", ".join(TRAININGS)
            raise CheaptalkError(f"name a game, or use a training that includes one: {trainings}")
        return Preset(algorithm=name, game=game, matches=matches or MATCHES, settings=settings)
    changes = {"game": game or preset.game, "matches": matches or preset.matches}
    return preset.model_copy(update={**changes, "settings": {**preset.settings, **settings}})
