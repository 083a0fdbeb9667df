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
from cheaptalk.rules import Game, Result, game_box

KINDS = tuple(kind for kind in Kind if kind not in (Kind.LEFT, Kind.STOOD_IN, Kind.PROVIDER_ERROR))
"""What answers of models can be in a match that ended."""
METRICS: dict[str, dict[str, Any]] = {"mean": {}, "stderr": {"cluster": "deal"}}
"""Inspect's metrics of each value, with their options: samples on one deal count as a cluster."""
ACHIEVED = "achieved"
"""Where a task keeps what was achieved, in a sample's store."""


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
    ``measures`` has all that the game measures of the match. None is what is undefined.

    Args:
        result: None where the match was forfeited, by whomever.
        kinds: how many answers of the seat were of each kind.
        forfeited: whether it was this seat that forfeited it.
    """
    measures = game_box(game.name).measures
    payoff = None if result is None else float(game.payoffs(result.outcome)[seat])
    found: dict[str, Any] = {"payoff": payoff, "share": _share(game, seat, payoff)}
    measured = {name: result and one.of(result) for name, one in measures.items()}
    if "agreement" in measures:
        found["agreement"] = measured["agreement"]
    return found | {
        "forfeited": int(forfeited),
        "measures": measured,
        "answers": {kind.value: kinds.get(kind, 0) for kind in KINDS},
    }


def _share(game: Game, seat: str, payoff: float | None) -> float | None:
    """Where a payoff lies between the least and the most; None where nobody comes to these."""
    places = {one.name: one.place for one in game.seats}
    several = [*places.values()].count(places[seat]) > 1
    if payoff is None or several or not game.payoffs_reach_bounds:
        return None
    least, most = game.payoff_bounds()[game.places[places[seat]]]
    return (payoff - least) / (most - least) if isfinite(most - least) and least < most else None


def outcome_score(found: Mapping[str, Any]) -> Any:
    """The score ``outcome`` of what was achieved; the game's measures are beside it."""
    values = {
        name: _value(one) for name, one in found.items() if name not in ("measures", "answers")
    }
    who = "the seat" if found["forfeited"] else "another seat"
    why = f"{who} forfeited the match" if found["payoff"] is None else None
    return inspect_part("inspect_ai.scorer").Score(
        value=values, explanation=why, metadata={"measures": found["measures"]}
    )


def answers_score(found: Mapping[str, Any]) -> Any:
    """The score ``answers`` of what was achieved: numbers of answers by kind."""
    return inspect_part("inspect_ai.scorer").Score(value=dict(found["answers"]))


def _value(found: float | None) -> float:
    """A number as Inspect takes it: what is undefined is no part of a mean."""
    return nan if found is None else found


@cache
def scorers() -> Scorers:
    """The scorers of tasks, registered with Inspect."""
    scorer = inspect_part("inspect_ai.scorer")

    def reading(write: Callable[[Mapping[str, Any]], Any]) -> Any:
        async def score(state: Any, target: Any) -> Any:  # noqa: ARG001 - there is no target
            found = state.store.get(ACHIEVED)
            if found is None:
                return scorer.Score.unscored(reason="the match did not end")
            return write(found)

        return score

    def outcome() -> Any:
        return reading(outcome_score)

    def answers() -> Any:
        return reading(answers_score)

    of_value = [getattr(scorer, name)(**options) for name, options in METRICS.items()]
    register = scorer.scorer({"*": of_value})
    return Scorers(register(outcome), register(answers))
