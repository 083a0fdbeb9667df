"""What a seat achieved in a match as Inspect's scores, the same for its tasks and for our records.

``outcome`` has the payoff and how the match ended, ``answers`` how many answers were of each kind.
A match that was forfeited has no payoff: it is counted, and no part of the mean.
"""

from collections.abc import Callable, Mapping
from functools import cache
from math import isfinite, nan
from typing import Any, NamedTuple

from cheaptalk.adapters.inspect.messages import inspect_part
from cheaptalk.players import Kind
from cheaptalk.rules import Game, Result, get_game

KINDS = tuple(kind for kind in Kind if kind not in (Kind.LEFT, Kind.STOOD_IN, Kind.PROVIDER_ERROR))
"""The kinds of models' answers in a match that ended."""
METRICS: dict[str, dict[str, Any]] = {"mean": {}, "stderr": {"cluster": "instance"}}
"""Inspect's metrics of each value, with their options: samples on one instance count as a
cluster."""
ACHIEVED = "achieved"
"""The key of the outcome in a sample's store."""


class Scorers(NamedTuple):
    """Makers of the scorers of tasks, which read what the solver noted."""

    outcome: Callable[[], Any]
    answers: Callable[[], Any]


def achieved(
    game: Game, seat: str, result: Result | None, kinds: Mapping[Kind, int], *, forfeited: bool
) -> dict[str, Any]:
    """What a seat achieved in a match that is over, as plain data.

    ``payoff`` is in the game's unit. ``share`` is where it lies between the least and the most that
    the rules allow, from 0 to 1; it is undefined in games in which nobody comes to these, and for a
    seat that is one of several of its place. ``agreement`` is there in games that measure it, and
    ``metrics`` has all that the game metrics of the match. None is what is undefined.

    Args:
        result: None where the match was forfeited, by whomever.
        kinds: how many answers of the seat were of each kind.
        forfeited: whether it was this seat that forfeited it.
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
    """Return a payoff's position between minimum and maximum; None if these aren't attainable."""
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
    """Return the score ``outcome``, with the game's metrics as metadata."""
    values = {
        name: _value(value) for name, value in outcome.items() if name not in ("metrics", "answers")
    }
    subject = "the seat" if outcome["forfeited"] else "another seat"
    why = f"{subject} forfeited the match" if outcome["payoff"] is None else None
    return inspect_part("inspect_ai.scorer").Score(
        value=values, explanation=why, metadata={"metrics": outcome["metrics"]}
    )


def answers_score(outcome: Mapping[str, Any]) -> Any:
    """Return the score ``answers``: numbers of answers by kind."""
    return inspect_part("inspect_ai.scorer").Score(value=dict(outcome["answers"]))


def _value(number: float | None) -> float:
    """Return a number for Inspect; undefined values (NaN) are excluded from means."""
    return nan if number is None else number


@cache
def scorers() -> Scorers:
    """Return the scorers of tasks, registered with Inspect."""
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

    of_value = [getattr(scorer, name)(**options) for name, options in METRICS.items()]
    register = scorer.scorer({"*": of_value})
    return Scorers(register(outcome), register(answers))
