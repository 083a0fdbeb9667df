"""Inspect scores of a seat in a match, used by both tasks and exported logs.

``outcome`` contains the payoff and the match's end, ``answers`` the number of answers by kind. A
forfeited match is counted, but has no payoff and is excluded from its mean.
"""

from collections.abc import Callable, Mapping
from functools import cache
from math import isfinite, nan
from typing import Any

from cheaptalk.adapters.inspect.messages import inspect_part
from cheaptalk.players import Kind
from cheaptalk.rules import Game, Result, get_game

KINDS = tuple(kind for kind in Kind if kind not in (Kind.LEFT, Kind.STOOD_IN, Kind.PROVIDER_ERROR))
"""The kinds of models' answers in a match that ended."""
METRICS: dict[str, dict[str, Any]] = {"mean": {}, "stderr": {"cluster": "instance"}}
"""Inspect's metrics of each value, with their options; clustered by instance."""
ACHIEVED = "achieved"
"""The key of the outcome in a sample's store."""


def achieved(
    game: Game, seat: str, result: Result | None, kinds: Mapping[Kind, int], *, forfeited: bool
) -> dict[str, Any]:
    """Return a seat's results in a completed match as a dictionary; undefined results are None.

    ``payoff`` is in the game's unit; ``share`` is its position between the rules' minimum and
    maximum, from 0 to 1, if these are attainable and the seat has one actor. ``agreement`` exists
    in games with that metric; ``metrics`` contains all metrics. There is no result if any seat
    forfeited the match.
    """
    metrics = get_game(game.name).metrics
    payoff = None if result is None else float(game.payoffs(result.outcome)[seat])
    outcome: dict[str, Any] = {"payoff": payoff, "share": _share(game, seat, payoff)}
    measured = {name: result and metric.of(result) for name, metric in metrics.items()}
    if "agreement" in metrics:
        outcome["agreement"] = measured["agreement"]
    return outcome | {
        "forfeited": int(forfeited),
        "metrics": measured,
        "answers": {kind.value: kinds.get(kind, 0) for kind in KINDS},
    }


def _share(game: Game, seat: str, payoff: float | None) -> float | None:
    """Return a payoff's position in the attainable range, from 0 to 1; None if undefined."""
    seats = {actor.name: actor.seat for actor in game.actors}
    several = [*seats.values()].count(seats[seat]) > 1
    if payoff is None or several or not game.payoffs_reach_bounds:
        return None
    minimum, maximum = game.payoff_bounds()[game.seats[seats[seat]]]
    return (
        (payoff - minimum) / (maximum - minimum)
        if isfinite(maximum - minimum) and minimum < maximum
        else None
    )


def outcome_score(outcome: Mapping[str, Any]) -> Any:
    """Return the Inspect score for a seat's outcome, with the game's metrics as metadata."""
    values = {
        name: nan if value is None else value  # Inspect excludes NaN from means
        for name, value in outcome.items()
        if name not in ("metrics", "answers")
    }
    subject = "the seat" if outcome["forfeited"] else "another seat"
    why = f"{subject} forfeited the match" if outcome["payoff"] is None else None
    return inspect_part("inspect_ai.scorer").Score(
        value=values, explanation=why, metadata={"metrics": outcome["metrics"]}
    )


def answers_score(outcome: Mapping[str, Any]) -> Any:
    """Return the Inspect score that counts a seat's answers of each kind."""
    return inspect_part("inspect_ai.scorer").Score(value=dict(outcome["answers"]))


@cache
def scorers() -> tuple[Any, Any]:
    """Register the tasks' scorer factories, for outcomes and answers, and return them."""
    scorer = inspect_part("inspect_ai.scorer")

    def reading(write: Callable[[Mapping[str, Any]], Any]) -> Any:
        async def score(state: Any, target: Any) -> Any:  # noqa: ARG001 - there is no target
            outcome = state.store.get(ACHIEVED)
            if outcome is None:
                return scorer.Score.unscored(reason="the match did not end")
            return write(outcome)

        return score

    def outcome() -> Any:
        return reading(outcome_score)

    def answers() -> Any:
        return reading(answers_score)

    metrics = [getattr(scorer, name)(**options) for name, options in METRICS.items()]
    register = scorer.scorer({"*": metrics})
    return register(outcome), register(answers)
