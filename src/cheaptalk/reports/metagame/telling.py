"""An analysed game as plain data, for scripts."""

from collections.abc import Iterable
from typing import Any

from cheaptalk.reports.metagame.analysis import LEVEL, Analysis, Spread


def told(one: Analysis, seed: int) -> dict[str, Any]:
    """A game with its equilibria, as JSON holds it.

    Each number over draws is an object with ``estimate`` (of all matches), ``mean``, ``error`` (the
    standard deviation), ``low`` and ``high``; what is not defined is null.

    Args:
        seed: with which the draws were made.
    """
    metrics = [metric.name for reading in one.readings for metric in reading.metrics]
    return {
        "game": one.name,
        "strategies": list(one.labels),
        "matches": one.game.counts().tolist(),
        "deals": one.game.deals().tolist(),
        "draws": one.draws,
        "seed": seed if one.draws else None,
        "paired": one.drawn.paired if one.draws else None,
        "level": LEVEL if one.draws else None,
        "no_intervals_because": one.unsure or None,
        "equilibria": [
            {
                "mixture": _by_label(one, component.point.mixture.tolist()),
                "payoff": component.point.payoff,
                "regret": component.point.regret,
                "entropy": component.point.entropy,
                "isolated": component.isolated,
            }
            for component in one.found.components
        ],
        "complete": one.found.complete,
        "payoffs": [[_numbers(cell) for cell in row] for row in one.payoffs],
        "best_reply": one.responses.alone.tolist(),
        "tied_best_reply": one.responses.tied.tolist(),
        "at_equilibrium": {
            name: _numbers(one.at_equilibrium(name)) for name in ("payoff", *metrics)
        },
        "against_equilibrium": {
            "payoff": _by_label(one, map(_numbers, one.gets)),
            **{name: _by_label(one, map(_numbers, one.against(name)))
               for name in ("mixture", "regret", *metrics)},
        },
    }  # fmt: skip


def _numbers(one: Spread) -> dict[str, float | None]:
    return one._asdict()


def _by_label(one: Analysis, values: Iterable[Any]) -> dict[str, Any]:
    return dict(zip(one.labels, values, strict=True))
