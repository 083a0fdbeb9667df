"""Convert analysed games to plain data for JSON."""

from collections.abc import Iterable
from typing import Any

from cheaptalk.equilibrium.analysis.analysis import Analysis
from cheaptalk.equilibrium.analysis.providers import Providers
from cheaptalk.equilibrium.analysis.two_seats import SeatsAnalysis
from cheaptalk.equilibrium.empirical.bootstrap import LEVEL, Spread
from cheaptalk.equilibrium.empirical.next_cells import QUANTITY, NextCells


def analysis_json(analysis: Analysis | SeatsAnalysis, seed: int) -> dict[str, Any]:
    """Return the equilibria of a game, with metrics, ratings or strategy pairs, as JSON data.

    Each number over draws is an object with ``estimate`` (of all matches), ``mean``, ``error`` (the
    standard deviation), ``low`` and ``high``; undefined values are null. For an equilibrium of the
    mean payoffs, ``exists_in_draws`` and ``chosen_in_draws`` are the shares of draws in which an
    equilibrium with the same support exists and is selected. ``most_entropy`` is the number of
    equilibria with maximum entropy, of which the one with the highest payoff is selected. For each
    pair of strategies of two seats, ``pure_equilibrium`` is for the mean payoffs, and ``support``
    is the share of draws in which the pair is a pure equilibrium.
    """
    counts, total = analysis.unscored
    paired = None
    if analysis.draws:
        sample = analysis if isinstance(analysis, SeatsAnalysis) else analysis.bootstrap
        paired = sample.paired
    return {
        "game": analysis.name,
        "draws": analysis.draws,
        "seed": seed if analysis.draws else None,
        "paired": paired,
        "level": LEVEL if analysis.draws else None,
        "no_intervals_because": analysis.no_draws_reason or None,
        "cautions": analysis.cautions,
        "uncertain_because": analysis.uncertain or None,
        "unscored": counts,
        "matches_of_any_status": total,
        "complete": analysis.solution.complete,
    } | (_of_seats(analysis) if isinstance(analysis, SeatsAnalysis) else _of_choices(analysis))


def _of_choices(analysis: Analysis) -> dict[str, Any]:
    metrics = [column.title for reading in analysis.readings for column in reading.columns]
    return {
        "strategies": list(analysis.labels),
        "matches": analysis.game.counts().tolist(),
        "instances": analysis.game.instances().tolist(),
        "instances_in_all_cells": analysis.instances_in_all[0],
        "instances_in_some_cell": analysis.instances_in_all[1],
        "warning": "; ".join(analysis.warnings) or None,
        "equilibria": [
            {
                "mixture": _under(analysis.labels, component.point.mixture.tolist()),
                "payoff": component.point.payoff,
                "regret": component.point.regret,
                "entropy": component.point.entropy,
                "isolated": component.isolated,
                "exists_in_draws": recurrence and recurrence.exists,
                "chosen_in_draws": recurrence and recurrence.chosen,
            }
            for component, recurrence in zip(
                analysis.solution.components, analysis.recurring, strict=True
            )
        ],
        "most_entropy": analysis.tied_entropy,
        "weakly_dominated_by": analysis.dominated,
        "payoffs": [list(map(Spread._asdict, row)) for row in analysis.payoffs],
        "best_response": analysis.responses.unique.tolist(),
        "tied_best_response": analysis.responses.tied.tolist(),
        "at_equilibrium": {
            name: analysis.at_equilibrium(name)._asdict() for name in ("payoff", *metrics)
        },
        "against_equilibrium": {
            "payoff": _under(analysis.labels, map(Spread._asdict, analysis.equilibrium_payoffs)),
            **{
                name: _under(analysis.labels, map(Spread._asdict, analysis.against(name)))
                for name in ("mixture", "regret", *metrics)
            },
        },
        "ratings": {
            rating.kind.name: {
                "values": _under(analysis.labels, rating.values),
                "before_though_of_more_regret": [list(pair) for pair in rating.disagreements],
            }
            for rating in analysis.rankings.ratings
        },
        "ratings_absent": dict(analysis.rankings.absent),
        "providers": _providers(analysis.providers) if analysis.providers else None,
        "next": _next(analysis.next_cells) if analysis.next_cells is not None else None,
    }


def _providers(among: Providers) -> dict[str, Any]:
    """Return the game between model providers as JSON data, with matrices in ``members`` order."""
    return {
        "members": {provider: list(labels) for provider, labels in among.members.items()},
        "left_out": list(among.left_out),
        "readings": {
            reading.name: {
                "payoffs": [list(map(Spread._asdict, row)) for row in reading.payoffs],
                "best_response": reading.responses,
                "mixture": list(map(Spread._asdict, reading.shares)),
                "value_given": reading.value_given
                and list(map(Spread._asdict, reading.value_given)),
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


def _of_seats(analysis: SeatsAnalysis) -> dict[str, Any]:
    return {
        "seats": list(analysis.seats),
        "strategies": _under(analysis.seats, map(list, analysis.labels)),
        "payoff": analysis.payoff,
        "units": list(analysis.units),
        "pooled": analysis.pooled,
        "equilibria": [
            {
                "mixtures": {
                    seat: _under(labels, shares.tolist())
                    for seat, labels, shares in zip(
                        analysis.seats, analysis.labels, equilibrium.mixtures, strict=True
                    )
                },
                "payoffs": _under(analysis.seats, equilibrium.profile.payoffs),
                "regrets": _under(analysis.seats, equilibrium.profile.regrets),
                "pure": equilibrium.pure,
                "continuum": equilibrium.continuum,
            }
            for equilibrium in analysis.solution.equilibria
        ],
        "paths": analysis.solution.paths,
        "paths_lost": analysis.solution.failed_paths,
        "pairs": [
            {
                "players": _under(analysis.seats, pair[:2]),
                "gets": _under(analysis.seats, map(Spread._asdict, pair.payoffs)),
                "regrets": _under(analysis.seats, pair.regrets),
                "best_response": _under(analysis.seats, pair.best),
                "best_response_in": _under(analysis.seats, pair.replies),
                "pure_equilibrium": pair.stable,
                "support": pair.support,
                "matches": pair.matches,
                "instances": pair.instances,
            }
            for pair in analysis.pairs
        ],
        "without_pure_equilibrium": analysis.choice.without,
    }
