"""A game of two seats as plain data, for scripts."""

from collections.abc import Iterable
from typing import Any

from cheaptalk.reports.metagame.seats import Pair, SeatsAnalysis
from cheaptalk.reports.metagame.seats_solving import Found
from cheaptalk.reports.metagame.spreads import LEVEL


def told_seats(one: SeatsAnalysis, seed: int) -> dict[str, Any]:
    """A game of two seats with its equilibria, as JSON holds it.

    Each number over draws is an object with ``estimate`` (of all matches), ``mean``, ``error`` (the
    standard deviation), ``low`` and ``high``. Pairs come with whether they are a pure equilibrium
    of the mean payoffs, and in which share of draws they are one (``support``).

    Args:
        seed: with which the draws were made.
    """
    return {
        "game": one.name,
        "seats": list(one.seats),
        "strategies": dict(zip(one.seats, map(list, one.labels), strict=True)),
        "payoff": one.payoff,
        "units": list(one.units),
        "pooled": one.pooled,
        "draws": one.draws,
        "seed": seed if one.draws else None,
        "paired": one.paired if one.draws else None,
        "level": LEVEL if one.draws else None,
        "no_intervals_because": one.unsure or None,
        "equilibria": [_equilibrium(one, found) for found in one.solved.found],
        "complete": one.solved.complete,
        "paths": one.solved.paths,
        "paths_lost": one.solved.lost,
        "pairs": [_pair(one, pair) for pair in one.pairs],
        "without_pure_equilibrium": one.choice.without,
    }


def _equilibrium(one: SeatsAnalysis, found: Found) -> dict[str, Any]:
    mixtures = [
        dict(zip(labels, shares, strict=True))
        for labels, shares in zip(one.labels, found.mixtures, strict=True)
    ]
    return {
        "mixtures": _by_seat(one, mixtures),
        "payoffs": _by_seat(one, found.profile.payoffs),
        "regrets": _by_seat(one, found.profile.regrets),
        "pure": found.pure,
        "continuum": found.continuum,
    }


def _pair(one: SeatsAnalysis, pair: Pair) -> dict[str, Any]:
    return {
        "players": _by_seat(one, pair[:2]),
        "gets": _by_seat(one, [got._asdict() for got in pair.gets]),
        "regrets": _by_seat(one, pair.regrets),
        "best_reply": _by_seat(one, pair.best),
        "best_reply_in": _by_seat(one, pair.replies),
        "pure_equilibrium": pair.stable,
        "support": pair.support,
        "matches": pair.matches,
        "deals": pair.deals,
    }


def _by_seat(one: SeatsAnalysis, values: Iterable[Any]) -> dict[str, Any]:
    return dict(zip(one.seats, values, strict=True))
