"""Measures of the pirate game (GAMA-Bench section 3.3 and appendix E).

With N pirates, G coins and k ballots; P_j the plan of ballot j and O_j the optimal one. Series by
ballot give plans and votes, with how right they are.
"""

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from cheaptalk.games.pirate_game.rules import Ballot, PirateGame, Voyage
from cheaptalk.games.pirate_game.theory import Majority, optimal_plan, prices
from cheaptalk.rules import COUNT, PERCENT, SHARE, Measure, Point, Result, Series

Right = Callable[[Ballot, int], bool]
"""Whether the vote of a rank is right; ranks count from the proposer's 0."""
PUBLISHED_GOLD = 100
"""The coins that the published code takes every plan to share out."""


def plan_distance(result: Result) -> float:
    """The mean L1 distance of the plans from the optimal ones, in coins (S_8P).

    (1 / k) * sum over ballots j of |P_j - O_j|, from 0 to 2 G, where O_j is found by backward
    induction for the game's majority. 0 for a ballot that no plan could have won.
    """
    game: PirateGame = result.game
    outcome: Voyage = result.outcome
    return sum(distance(game, ballot) for ballot in outcome.ballots) / len(outcome.ballots)


def distance(game: PirateGame, ballot: Ballot) -> int:
    """The L1 distance of a ballot's plan from the optimal one; 0 where no plan could have won."""
    return int(_apart(ballot.plan, game.gold, game.majority))


def _apart(plan: Sequence[float], gold: int, majority: Majority) -> float:
    best = optimal_plan(len(plan), gold, majority)
    if best is None:
        return 0
    return sum(abs(made - wanted) for made, wanted in zip(plan, best, strict=True))


def vote_accuracy(result: Result) -> float:
    """The share of votes that follow GAMA-Bench's rule of thumb, proposers left out (S_8V).

    2 / (k * (2 N - k - 1)) * sum of I_ij, in [0, 1], where I_ij is 1 if voter i accepts two coins
    or more, rejects none, or accepts one coin exactly if its rank is odd or even as the
    proposer's is. Backward induction differs: see ``optimal_votes``.
    """
    return _share(result.outcome, by_rule_of_thumb)


def published_vote_accuracy(result: Result) -> float:
    """As the published code has it: rejecting one coin is never right."""
    return _share(result.outcome, as_published)


def optimal_votes(result: Result) -> float:
    """The share of votes that are right by backward induction, proposers left out, in [0, 1].

    Right is to accept exactly if the plan brings more than its failure would under optimal play.
    """
    game: PirateGame = result.game

    def right(ballot: Ballot, rank: int) -> bool:
        price = prices(len(ballot.plan), game.gold, game.majority)[rank - 1]
        return ballot.votes[rank] == (ballot.plan[rank] >= price)

    return _share(result.outcome, right)


def score(result: Result) -> float | None:
    """The score of GAMA-Bench, 0 to 100: (2 G - S_8P) / (2 G) * 50 + S_8V * 50 (S8, appendix E).

    Half for plans (``plan_distance``), half for votes (``vote_accuracy``). None under a strict
    majority, for which the paper has no score.
    """
    game: PirateGame = result.game
    return _score(game, plan_distance(result) / (2 * game.gold), vote_accuracy(result))


def published_score(result: Result) -> float | None:
    """As the published code has it: rejecting one coin is never right, and gold is always 100.

    A plan is stretched to 100 coins and held against the best plan for 100: of 4 coins, one counts
    as 25. Votes are judged by the coins that there were.
    """
    game: PirateGame = result.game
    outcome: Voyage = result.outcome
    stretch = PUBLISHED_GOLD / game.gold
    apart = fmean(
        _apart([coins * stretch for coins in ballot.plan], PUBLISHED_GOLD, game.majority)
        for ballot in outcome.ballots
    )
    return _score(game, apart / (2 * PUBLISHED_GOLD), published_vote_accuracy(result))


def _score(game: PirateGame, wrong: float, accuracy: float) -> float | None:
    """Half for plans, of which ``wrong`` is the share that is not as is best, half for votes."""
    return (1 - wrong) * 50 + accuracy * 50 if game.majority == "half" else None


def ballots(result: Result) -> float:
    """The ballots held (k)."""
    return float(len(result.outcome.ballots))


def overboard(result: Result) -> float:
    """The pirates thrown overboard."""
    return float(sum(not ballot.passed for ballot in result.outcome.ballots))


def by_rule_of_thumb(ballot: Ballot, rank: int) -> bool:
    """Whether a vote follows GAMA-Bench's rule of thumb; ``rank`` counts from the proposer's 0."""
    coins = ballot.plan[rank]
    return ballot.votes[rank] == (coins >= 2 or (coins == 1 and rank % 2 == 0))


def as_published(ballot: Ballot, rank: int) -> bool:
    """Whether a vote is right in the published code."""
    right = by_rule_of_thumb(ballot, rank)
    return right and not (ballot.plan[rank] == 1 and not ballot.votes[rank])


def judged(ballot: Ballot, right: Right) -> list[bool]:
    """Every voter's vote judged, in the order of rank."""
    return [right(ballot, rank) for rank in range(1, len(ballot.plan))]


def _share(outcome: Voyage, right: Right) -> float:
    verdicts = [one for ballot in outcome.ballots for one in judged(ballot, right)]
    return sum(verdicts) / len(verdicts)


def _ballots(game: PirateGame) -> tuple[float, float]:
    return 1.0, float(len(game.places))


def _overboard(game: PirateGame) -> tuple[float, float]:
    return 0.0, len(game.places) - 1.0


MEASURES = (
    Measure("score", score, published_score, unit="0 to 100", bounds=PERCENT),
    Measure("plan_distance", plan_distance, unit="coins", bounds=COUNT),
    Measure(
        "vote_accuracy", vote_accuracy, published_vote_accuracy, unit="share of votes", bounds=SHARE
    ),
    Measure("optimal_votes", optimal_votes, unit="share of votes", bounds=SHARE),
    Measure("ballots", ballots, unit="ballots", bounds=COUNT, limits=_ballots),
    Measure("overboard", overboard, unit="pirates", bounds=COUNT, limits=_overboard),
)


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


def plan_distance_by_ballot(result: Result) -> Iterator[Point]:
    """The L1 distance of the plan from the optimal one, in coins: the measure of one ballot."""
    for number, ballot in enumerate(result.outcome.ballots, 1):
        yield Point(number, None, float(distance(result.game, ballot)))


def vote_accuracy_by_ballot(result: Result) -> Iterator[Point]:
    """1 if the vote follows GAMA-Bench's rule of thumb, else 0; for all together, the share.

    The proposer has no number. See the measure of this name for the rule.
    """
    return _right(result, by_rule_of_thumb)


def published_accuracy_by_ballot(result: Result) -> Iterator[Point]:
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
    Series("plan_distance", plan_distance_by_ballot, unit="coins", bounds=COUNT),
    Series(
        "vote_accuracy",
        vote_accuracy_by_ballot,
        published_accuracy_by_ballot,
        unit="share of votes",
        bounds=SHARE,
    ),
)
