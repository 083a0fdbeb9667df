"""Analysed games as plain data, for scripts."""

from collections.abc import Iterable
from typing import Any

from cheaptalk.equilibrium.analysis.analysis import Analysis
from cheaptalk.equilibrium.analysis.providers import Providers
from cheaptalk.equilibrium.analysis.two_seat_solution import SeatsEquilibrium
from cheaptalk.equilibrium.analysis.two_seats import Pair, SeatsAnalysis
from cheaptalk.equilibrium.empirical.bootstrap import LEVEL, Spread
from cheaptalk.equilibrium.empirical.next_cells import QUANTITY, NextCells


def analysis_json(one: Analysis, seed: int) -> dict[str, Any]:
    """A game with its equilibria and what stands beside them, as JSON holds it.

    Each number over draws is an object with ``estimate`` (of all matches), ``mean``, ``error`` (the
    standard deviation), ``low`` and ``high``; what is not defined is null. Of an equilibrium of the
    mean payoffs, ``exists_in_draws`` and ``chosen_in_draws`` are the shares of draws in which one
    with the same strategies exists, and is the one that is taken; ``most_entropy`` says how many
    have as much entropy as the first, of which the best paid is taken.

    Args:
        seed: with which the draws were made.
    """
    metrics = [column.title for reading in one.readings for column in reading.columns]
    return {
        "game": one.name,
        "strategies": list(one.labels),
        "matches": one.game.counts().tolist(),
        "deals": one.game.deals().tolist(),
        "draws": one.draws,
        "seed": seed if one.draws else None,
        "paired": one.drawn.paired if one.draws else None,
        "deals_in_all_cells": one.deals_in_all[0],
        "deals_in_some_cell": one.deals_in_all[1],
        "warning": "; ".join(one.warnings) or None,
        **_cautions(one),
        "level": LEVEL if one.draws else None,
        "no_intervals_because": one.unsure or None,
        "equilibria": [
            {
                "mixture": _under(one.labels, component.point.mixture.tolist()),
                "payoff": component.point.payoff,
                "regret": component.point.regret,
                "entropy": component.point.entropy,
                "isolated": component.isolated,
                "exists_in_draws": recurrence and recurrence.exists,
                "chosen_in_draws": recurrence and recurrence.chosen,
            }
            for component, recurrence in zip(one.found.components, one.recurring, strict=True)
        ],
        "most_entropy": one.tied_entropy,
        "weakly_dominated_by": one.dominated,
        "complete": one.found.complete,
        "payoffs": [list(map(Spread._asdict, row)) for row in one.payoffs],
        "best_reply": one.responses.alone.tolist(),
        "tied_best_reply": one.responses.tied.tolist(),
        "at_equilibrium": {
            name: one.at_equilibrium(name)._asdict() for name in ("payoff", *metrics)
        },
        "against_equilibrium": {
            "payoff": _under(one.labels, map(Spread._asdict, one.gets)),
            **{name: _under(one.labels, map(Spread._asdict, one.against(name)))
               for name in ("mixture", "regret", *metrics)},
        },
        "ratings": {
            rating.kind.name: {
                "values": _under(one.labels, rating.values),
                "before_though_of_more_regret": [list(pair) for pair in rating.against],
            }
            for rating in one.rankings.ratings
        },
        "ratings_absent": dict(one.rankings.absent),
        "providers": _providers(one.providers) if one.providers else None,
        "next": _next(one.next_cells) if one.next_cells is not None else None,
    }  # fmt: skip


def _cautions(one: Analysis | SeatsAnalysis) -> dict[str, Any]:
    """What limits the answer, as on the page, and how many matches no payoff includes."""
    counts, total = one.unscored
    return {
        "cautions": one.cautions,
        "uncertain_because": one.uncertain or None,
        "unscored": counts,
        "matches_of_any_status": total,
    }


def _providers(among: Providers) -> dict[str, Any]:
    """The game among providers; matrices and lists follow the order of ``members``."""
    return {
        "members": {provider: list(labels) for provider, labels in among.members.items()},
        "left_out": list(among.left_out),
        "readings": {
            reading.name: {
                "payoffs": [list(map(Spread._asdict, row)) for row in reading.payoffs],
                "best_reply": reading.responses,
                "mixture": list(map(Spread._asdict, reading.shares)),
                "value_given": reading.given and list(map(Spread._asdict, reading.given)),
                "several_equilibria": reading.several,
            }
            for reading in among.readings
        },
        "absent": dict(among.absent),
    }


def _next(plan: NextCells | str) -> dict[str, Any]:
    if isinstance(plan, str):
        return {"none_because": plan}
    return {
        "target": plan.target,
        "error": plan.error,
        "planned": plan.planned,
        "even": plan.even,
        "even_matches": plan.even_matches,
        "quantity": QUANTITY[plan.target],
        "paired": plan.paired,
        "cells": plan.cells.to_dicts(),
    }


def _under(names: Iterable[str], values: Iterable[Any]) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))


def seats_json(one: SeatsAnalysis, seed: int) -> dict[str, Any]:
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
        "strategies": _under(one.seats, map(list, one.labels)),
        "payoff": one.payoff,
        "units": list(one.units),
        "pooled": one.pooled,
        "draws": one.draws,
        "seed": seed if one.draws else None,
        "paired": one.paired if one.draws else None,
        "level": LEVEL if one.draws else None,
        "no_intervals_because": one.unsure or None,
        **_cautions(one),
        "equilibria": [_equilibrium(one, found) for found in one.solved.found],
        "complete": one.solved.complete,
        "paths": one.solved.paths,
        "paths_lost": one.solved.lost,
        "pairs": [_pair(one, pair) for pair in one.pairs],
        "without_pure_equilibrium": one.choice.without,
    }


def _equilibrium(one: SeatsAnalysis, found: SeatsEquilibrium) -> dict[str, Any]:
    mixtures = [
        _under(labels, shares.tolist())
        for labels, shares in zip(one.labels, found.mixtures, strict=True)
    ]
    return {
        "mixtures": _under(one.seats, mixtures),
        "payoffs": _under(one.seats, found.profile.payoffs),
        "regrets": _under(one.seats, found.profile.regrets),
        "pure": found.pure,
        "continuum": found.continuum,
    }


def _pair(one: SeatsAnalysis, pair: Pair) -> dict[str, Any]:
    return {
        "players": _under(one.seats, pair[:2]),
        "gets": _under(one.seats, map(Spread._asdict, pair.gets)),
        "regrets": _under(one.seats, pair.regrets),
        "best_reply": _under(one.seats, pair.best),
        "best_reply_in": _under(one.seats, pair.replies),
        "pure_equilibrium": pair.stable,
        "support": pair.support,
        "matches": pair.matches,
        "deals": pair.deals,
    }
