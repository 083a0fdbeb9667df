"""Presets of training runs: algorithm, game, number of matches and settings."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic import Field

from cheaptalk.rules import CheaptalkError, Value

MATCHES = 1_000_000
"""Default number of matches."""
PAPER_MATCHES = 100_000_000
PAPER_STEPS = 1_000_000
QUICK_SOURCE = "cheaptalk's settings, trained within minutes on two cores"


class Preset(Value):
    """A preset of a training run: an algorithm with its game and settings.

    Attributes:
        algorithm: the name of the algorithm.
        game: the name of a game or of a configuration.
        matches: total number of matches.
        settings: those that differ from the algorithm's defaults.
        source: the settings' source.
    """

    algorithm: str
    game: str
    matches: int = Field(ge=1)
    settings: Mapping[str, Any] = {}
    source: str = ""


def _nfsp(game: str, table: str, **settings: Any) -> Preset:
    source = f"appendix G, {table}, of the paper on the bargaining meta-game"
    return Preset(
        algorithm="nfsp", game=game, matches=PAPER_MATCHES, settings=settings, source=source
    )


def _rnad(game: str, table: str) -> Preset:
    source = f"appendix H, {table}, of the paper on the bargaining meta-game"
    return Preset(algorithm="rnad", game=game, matches=256 * PAPER_STEPS, source=source)


def _quick(algorithm: str, game: str, matches: int, /, **settings: Any) -> Preset:
    settings = {"threshold": 0.03, "bins": 32, **settings}
    return Preset(
        algorithm=algorithm, game=game, matches=matches, settings=settings, source=QUICK_SOURCE
    )


QUICK_RNAD = {"sizes": (250,), "repeats": (1,), "averaging": 0.02, "opposed": False}
QUICK_RNAD |= {"fine_tune": None, "rate": 1e-3, "eta": 0.02}
"""Settings of regularised Nash dynamics for trainings within minutes."""
LARGER = {"matches": 512, "policy_buffer": 400_000, "q_buffer": 200_000, "target": 50}
"""Settings of fictitious self-play for games larger than BG4."""
TRAININGS: Mapping[str, Preset] = MappingProxyType(
    {
        "nfsp-bg4": _nfsp("BG4", "Table 6"),
        "nfsp-bg5": _nfsp(
            "BG5", "Table 7", policy_buffer=1_000_000, q_buffer=500_000, updates=6, policy_rate=1e-5
        ),
        "nfsp-bg6": _nfsp(
            "BG6",
            "Table 8",
            policy_buffer=2_000_000,
            q_buffer=1_000_000,
            updates=10,
            policy_rate=1e-5,
        ),
        "rnad-bg4": _rnad("BG4", "Table 9"),
        "rnad-bg5": _rnad("BG5", "Table 10"),
        "rnad-bg6": _rnad("BG6", "Table 11"),
        "nfsp-bg4-quick": _quick("nfsp", "BG4", 8_000_000),
        "nfsp-bg5-quick": _quick("nfsp", "BG5", 20_000_000, **LARGER),
        "nfsp-bg6-quick": _quick("nfsp", "BG6", 20_000_000, **LARGER),
        "rnad-bg4-quick": _quick("rnad", "BG4", 16_000_000, **QUICK_RNAD),
        "rnad-bg5-quick": _quick("rnad", "BG5", 12_800_000, **QUICK_RNAD),
        "rnad-bg6-quick": _quick("rnad", "BG6", 16_000_000, **QUICK_RNAD),
        "rnad-bargaining-quick": _quick(
            "rnad",
            "bargaining",
            3_000_000,
            **QUICK_RNAD | {"rate": 5e-4, "eta": 0.1, "exploration": 0.1, "force": 20, "beta": 10},
        ),
    }
)
"""The included trainings. The algorithms' defaults are the paper appendix's values for BG4."""


def chosen(name: str, game: str | None, matches: int | None, settings: Mapping[str, Any]) -> Preset:
    """Return a preset by its name or its algorithm's name, with the given changes.

    >>> chosen("rnad-bg5", None, 1_000, {"rate": 0.001}).game
    'BG5'

    Args:
        name: the algorithm or the preset.
        game: replaces the preset's game; None to keep it.
        matches: replaces the preset's matches; None to keep them.
        settings: settings to change.

    Raises:
        CheaptalkError: an algorithm is given without a game.
    """
    preset = TRAININGS.get(name)
    if preset is None:
        if game is None:
            trainings = ", ".join(TRAININGS)
            raise CheaptalkError(
                f"name a game with --game, or use a training that includes one: {trainings}"
            )
        return Preset(algorithm=name, game=game, matches=matches or MATCHES, settings=settings)
    changes = {"game": game or preset.game, "matches": matches or preset.matches}
    return preset.model_copy(update={**changes, "settings": {**preset.settings, **settings}})
