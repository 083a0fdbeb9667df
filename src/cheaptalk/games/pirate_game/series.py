"""The pirate game by ballot: plans and votes, with how right they are."""

from collections.abc import Callable, Iterator

from cheaptalk.games.pirate_game.measures import (
    Right,
    as_published,
    by_rule_of_thumb,
    distance,
    judged,
)
from cheaptalk.games.pirate_game.rules import Ballot
from cheaptalk.rules import COUNT, SHARE, Point, Result, Series


def aboard(result: Result, ballot: Ballot) -> tuple[str, ...]:
    """Who lives when a ballot is held, the proposer first."""
    return tuple(result.game.places)[-len(ballot.plan) :]


def of_each(result: Result, numbers: Callable[[Ballot], tuple[float, ...]]) -> Iterator[Point]:
    """A number of each ballot for each pirate who lives then."""
    for number, ballot in enumerate(result.outcome.ballots, 1):
        for place, value in zip(aboard(result, ballot), numbers(ballot), strict=True):
            yield Point(number, place, float(value))


def coins(result: Result) -> Iterator[Point]:
    """What the plan gives each pirate who lives."""
    return of_each(result, lambda ballot: ballot.plan)


def accepted(result: Result) -> Iterator[Point]:
    """1 if the pirate is for the plan, as its proposer is, else 0; for all together, the share."""
    yield from of_each(result, lambda ballot: ballot.votes)
    for number, ballot in enumerate(result.outcome.ballots, 1):
        yield Point(number, None, sum(ballot.votes) / len(ballot.votes))


def plan_distance(result: Result) -> Iterator[Point]:
    """The L1 distance of the plan from the optimal one, in coins: the measure of one ballot."""
    for number, ballot in enumerate(result.outcome.ballots, 1):
        yield Point(number, None, float(distance(result.game, ballot)))


def vote_accuracy(result: Result) -> Iterator[Point]:
    """1 if the vote follows GAMA-Bench's rule of thumb, else 0; for all together, the share.

    The proposer has no number. See the measure of this name for the rule.
    """
    return _right(result, by_rule_of_thumb)


def published_vote_accuracy(result: Result) -> Iterator[Point]:
    """As the published code has it: rejecting one coin is never right."""
    return _right(result, as_published)


def _right(result: Result, right: Right) -> Iterator[Point]:
    for number, ballot in enumerate(result.outcome.ballots, 1):
        verdicts = judged(ballot, right)
        yield Point(number, None, sum(verdicts) / len(verdicts))
        for place, verdict in zip(aboard(result, ballot)[1:], verdicts, strict=True):
            yield Point(number, place, float(verdict))


SERIES = (
    Series("coins", coins, unit="coins", bounds=COUNT),
    Series("accepted", accepted, unit="share of votes", bounds=SHARE),
    Series("plan_distance", plan_distance, unit="coins", bounds=COUNT),
    Series(
        "vote_accuracy", vote_accuracy, published_vote_accuracy, unit="share of votes", bounds=SHARE
    ),
)
