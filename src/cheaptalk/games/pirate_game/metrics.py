"""Metrics of the pirate game (GAMA-Bench section 3.3 and appendix E).

N is the number of pirates, G is the number of coins, and k is the number of ballots; P_j is the
plan of ballot j, and O_j is the optimal plan. Metrics by ballot compare plans and votes with
optimal play.
"""

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from cheaptalk.games.pirate_game.rules import Ballot, Majority, PirateGame, Voyage
from cheaptalk.games.pirate_game.strategies import optimal_plan, prices
from cheaptalk.rules import COUNT, PERCENT, SHARE, Metric, Point, Result, Series

Right = Callable[[Ballot, int], bool]
"""Returns whether the vote of a rank is correct; the proposer's rank is 0."""
PUBLISHED_GOLD = 100
"""Number of coins that the published code assumes in every plan."""


def plan_distance(result: Result) -> float:
    """The mean L1 distance of the plans from the optimal plans, in coins (S_8P in GAMA-Bench).

    (1 / k) * sum over ballots j of |P_j - O_j|, from 0 to 2 G, where O_j follows from backward
    induction for the game's majority. If no plan could have passed, the distance is 0.
    """
    return fmean(distance(result.game, ballot) for ballot in result.outcome.ballots)


def distance(game: PirateGame, ballot: Ballot) -> int:
    """Return the L1 distance of a plan from the optimal plan; 0 if no plan could have passed."""
    return int(_plan_distance(ballot.plan, game.gold, game.majority))


def _plan_distance(plan: Sequence[float], gold: int, majority: Majority) -> float:
    best = optimal_plan(len(plan), gold, majority)
    if best is None:
        return 0
    return sum(abs(coins - optimal) for coins, optimal in zip(plan, best, strict=True))


def vote_accuracy(result: Result) -> float:
    """The share of non-proposers' votes that follow GAMA-Bench's rule of thumb (S_8V).

    2 / (k * (2 N - k - 1)) * sum of I_ij, in [0, 1]. I_ij is 1 if voter i accepts two coins or
    more, rejects 0 coins, or accepts one coin if and only if its rank has the same parity as the
    proposer's rank. Backward induction differs: see ``optimal_votes``.
    """
    return _share(result.outcome, by_rule_of_thumb)


def published_vote_accuracy(result: Result) -> float:
    """Vote accuracy in GAMA-Bench's code, which never counts rejecting one coin as correct."""
    return _share(result.outcome, as_published)


def optimal_votes(result: Result) -> float:
    """The share of non-proposers' votes that are correct by backward induction, in [0, 1].

    A correct vote accepts if and only if the plan gives more than optimal play after its failure.
    """
    game: PirateGame = result.game

    def right(ballot: Ballot, rank: int) -> bool:
        price = prices(len(ballot.plan), game.gold, game.majority)[rank - 1]
        return ballot.votes[rank] == (ballot.plan[rank] >= price)

    return _share(result.outcome, right)


def score(result: Result) -> float | None:
    """GAMA-Bench's score from 0 to 100, half for plans and half for votes (S8, appendix E).

    (2 G - S_8P) / (2 G) * 50 + S_8V * 50, or None under a strict majority (not in the paper).
    """
    game: PirateGame = result.game
    return _score(game, plan_distance(result) / (2 * game.gold), vote_accuracy(result))


def published_score(result: Result) -> float | None:
    """The score in GAMA-Bench's released code, which assumes 100 coins of gold.

    A plan is scaled to 100 coins and compared with the optimal plan for 100 coins. Votes are judged
    by the actual coins; rejecting one coin is never correct.
    """
    game: PirateGame = result.game
    outcome: Voyage = result.outcome
    stretch = PUBLISHED_GOLD / game.gold
    mean_distance = fmean(
        _plan_distance([coins * stretch for coins in ballot.plan], PUBLISHED_GOLD, game.majority)
        for ballot in outcome.ballots
    )
    return _score(game, mean_distance / (2 * PUBLISHED_GOLD), published_vote_accuracy(result))


def _score(game: PirateGame, wrong: float, accuracy: float) -> float | None:
    """Return the score from the normalised plan distance (``wrong``) and the vote accuracy."""
    return (1 - wrong) * 50 + accuracy * 50 if game.majority == "half" else None


def ballots(result: Result) -> float:
    """The number of ballots in the match, k."""
    return float(len(result.outcome.ballots))


def overboard(result: Result) -> float:
    """The number of pirates thrown overboard."""
    return float(sum(not ballot.passed for ballot in result.outcome.ballots))


def by_rule_of_thumb(ballot: Ballot, rank: int) -> bool:
    """Return whether a vote follows GAMA-Bench's rule of thumb; see :func:`vote_accuracy`."""
    coins = ballot.plan[rank]
    return ballot.votes[rank] == (coins >= 2 or (coins == 1 and rank % 2 == 0))


def as_published(ballot: Ballot, rank: int) -> bool:
    """Return whether a vote is correct according to GAMA-Bench's released code."""
    right = by_rule_of_thumb(ballot, rank)
    return right and not (ballot.plan[rank] == 1 and not ballot.votes[rank])


def judged(ballot: Ballot, right: Right) -> list[bool]:
    """Return whether each voter's vote is correct, in the order of rank."""
    return [right(ballot, rank) for rank in range(1, len(ballot.plan))]


def _share(outcome: Voyage, right: Right) -> float:
    verdicts = [verdict for ballot in outcome.ballots for verdict in judged(ballot, right)]
    return sum(verdicts) / len(verdicts)


def _ballots(game: PirateGame) -> tuple[float, float]:
    return 1.0, float(game.players)


def _overboard(game: PirateGame) -> tuple[float, float]:
    return 0.0, game.players - 1.0


VOTES = "share of votes"
METRICS = (
    Metric("score", score, published_score, unit="0 to 100", bounds=PERCENT),
    Metric("plan_distance", plan_distance, unit="coins", bounds=COUNT),
    Metric("vote_accuracy", vote_accuracy, published_vote_accuracy, VOTES, SHARE),
    Metric("optimal_votes", optimal_votes, unit=VOTES, bounds=SHARE),
    Metric("ballots", ballots, unit="ballots", bounds=COUNT, limits=_ballots),
    Metric("overboard", overboard, unit="pirates", bounds=COUNT, limits=_overboard),
)


def aboard(result: Result, ballot: Ballot) -> tuple[str, ...]:
    """Return the living pirates at a ballot, the proposer first."""
    return tuple(result.game.seats)[-len(ballot.plan) :]


def by_pirate(result: Result, numbers: Callable[[Ballot], tuple[float, ...]]) -> Iterator[Point]:
    """Yield a value for each living pirate in each ballot."""
    for number, ballot in enumerate(result.outcome.ballots, 1):
        for seat, value in zip(aboard(result, ballot), numbers(ballot), strict=True):
            yield Point(number, seat, float(value))


def coins(result: Result) -> Iterator[Point]:
    """The coins that the plan gives each living pirate."""
    return by_pirate(result, lambda ballot: ballot.plan)


def approval(result: Result) -> Iterator[Point]:
    """The votes on the plan, 1 to accept (always for the proposer) or 0, and their mean."""
    yield from by_pirate(result, lambda ballot: ballot.votes)
    for number, ballot in enumerate(result.outcome.ballots, 1):
        yield Point(number, None, sum(ballot.votes) / len(ballot.votes))


def plan_distance_by_ballot(result: Result) -> Iterator[Point]:
    """The L1 distance of the ballot's plan from the optimal plan, in coins."""
    for number, ballot in enumerate(result.outcome.ballots, 1):
        yield Point(number, None, float(distance(result.game, ballot)))


def vote_accuracy_by_ballot(result: Result) -> Iterator[Point]:
    """Whether each vote follows GAMA-Bench's rule of thumb (1 or 0), and the share that do."""
    return _right(result, by_rule_of_thumb)


def published_accuracy_by_ballot(result: Result) -> Iterator[Point]:
    """Whether each vote is correct in GAMA-Bench's code, which never rewards rejecting one coin."""
    return _right(result, as_published)


def _right(result: Result, right: Right) -> Iterator[Point]:
    for number, ballot in enumerate(result.outcome.ballots, 1):
        verdicts = judged(ballot, right)
        yield Point(number, None, sum(verdicts) / len(verdicts))
        for seat, verdict in zip(aboard(result, ballot)[1:], verdicts, strict=True):
            yield Point(number, seat, float(verdict))


SERIES = (
    Series("coins", coins, unit="coins", bounds=COUNT),
    Series("approval", approval, unit=VOTES, bounds=SHARE),
    Series("plan_distance", plan_distance_by_ballot, unit="coins", bounds=COUNT),
    Series("vote_accuracy", vote_accuracy_by_ballot, published_accuracy_by_ballot, VOTES, SHARE),
)
