"""Measures of Deal or No Deal (Liao, Tomlin and Klein 2024, sections 4 and 5, appendix E).

With X and Y what each player's claim is worth to it in points, 0 without an agreement, and lambda
the objective. How often a player was corrected stands in the record, with every answer's kind.
Vocabulary and entropy are of one match; over many they are to be computed from all their messages
with :mod:`cheaptalk.games.language`.

Series by turn say how much is said, and what of it is false. A turn is a message or a proposal of
one player; turns count from 1 as in the measure ``length``. An exact check of hallucinations is
what judges of them are held against.
"""

from collections.abc import Iterator, Sequence

from cheaptalk.games.deal_or_no_deal.contexts import PILE, Context, Triple, bundles, rest, worth
from cheaptalk.games.deal_or_no_deal.counts import stated_counts
from cheaptalk.games.deal_or_no_deal.dialogue import (
    Fault,
    Move,
    inconsistencies,
    part,
    standing,
    stated_values,
)
from cheaptalk.games.deal_or_no_deal.events import MessageOrProposal, Proposal
from cheaptalk.games.deal_or_no_deal.rules import DealOrNoDeal, Division, Opening, paid
from cheaptalk.games.language import ngram_entropy, vocabulary, words
from cheaptalk.rules import COUNT, SHARE, Measure, Point, Result, Series

SLACK = 1e-9
"""Slack in comparing payoffs, in points."""


def points(context: Context, claim: Triple) -> tuple[int, int]:
    """What both get, in points, where player 1 gets this claim and player 2 the rest."""
    mine, theirs = context.values
    return worth(mine, claim), worth(theirs, rest(context.counts, claim))


def best_joint_score(context: Context) -> int:
    """The most points that the two can get together, from 10 to 19.

    Over the published contexts its mean is 15.008.
    """
    return max(sum(points(context, claim)) for claim in bundles(context.counts))


def optimal_claims(context: Context, objective: float = 0.0) -> list[Triple]:
    """Player 1's part in each division that is Pareto-optimal in the players' payoffs.

    A division is, if no other pays both at least as much and one of them more. Under the
    cooperative objective these are the divisions with the greatest sum of points, under the
    strictly competitive one all of them. Over the 81,767 divisions of the published contexts
    23.3 % are optimal in points.

    Args:
        context: pool and values.
        objective: the weight of the partner's points, lambda in [-1, 1].
    """
    claims = list(bundles(context.counts))
    all_paid = [paid(points(context, claim), objective) for claim in claims]
    return [
        claim
        for claim, (mine, theirs) in zip(claims, all_paid, strict=True)
        if not any(
            one >= mine - SLACK and two >= theirs - SLACK and one + two > mine + theirs + SLACK
            for one, two in set(all_paid)
        )
    ]


def score(result: Result) -> float:
    """The mean payoff of the two players, (1 + lambda) (X + Y) / 2; 0 without an agreement."""
    game: DealOrNoDeal = result.game
    return sum(game.payoffs(result.outcome).values()) / 2


def joint_points(result: Result) -> float:
    """The points of both together, X + Y, from 0 to 19, whatever the objective."""
    outcome: Division = result.outcome
    return float(sum(outcome.points or (0, 0)))


def efficiency(result: Result) -> float:
    """The points of both as a share of the most that the context allows, in [0, 1]."""
    deal: Opening = result.deal
    return joint_points(result) / best_joint_score(deal.context)


def agreement(result: Result) -> float:
    """1 if the two claims make up exactly the pool, else 0."""
    return float(result.outcome.ending == "agreement")


def pareto_optimality(result: Result) -> float:
    """1 if there is an agreement and no other division is better for one and worse for neither.

    Better and worse in payoffs. Without an agreement 0, as in the paper's rates over all games.
    """
    outcome: Division = result.outcome
    deal: Opening = result.deal
    best = optimal_claims(deal.context, result.game.objective)
    return float(outcome.ending == "agreement" and outcome.claims[0] in best)


def published_pareto_optimality(result: Result) -> float:
    """As the released game classes have it: in points, 1 just if player 2 gets all 10.

    They mix up whose values and claim they compare, and so call 12.54 % of the divisions of the
    published contexts optimal instead of 23.3 %. Other objectives as above.
    """
    outcome: Division = result.outcome
    if result.game.objective != 0:
        return pareto_optimality(result)
    return float(outcome.points is not None and outcome.points[1] == PILE)


def aborted(result: Result) -> float:
    """1 if a player's failure to answer ended the game, else 0."""
    return float(result.outcome.ending == "aborted")


def length(result: Result) -> float:
    """The number of messages and proposals made."""
    return float(result.outcome.turns)


def words_spoken(result: Result) -> float:
    """The number of words in all messages.

    The paper counts tokens of GPT-2; the recipe ``self-play`` does so, given its merges.
    """
    return float(sum(len(words(text)) for text in _messages(result)))


def vocabulary_size(result: Result) -> float:
    """The number of different words in the messages of the match."""
    return float(vocabulary(_messages(result)))


def bigram_entropy(result: Result) -> float | None:
    """The entropy of the pairs of words in the match's messages, in bits; None without pairs."""
    return ngram_entropy(_messages(result), 2)


def impossible_counts(result: Result) -> float:
    """The share of messages that state more items of a kind than there are; 0 without messages."""
    return _share(result, "impossible count")


def false_values(result: Result) -> float:
    """The share of messages with a false statement of one's own values; 0 without messages."""
    return _share(result, "false value")


def broken_agreements(result: Result) -> float:
    """The number of proposals that break what was plainly agreed on last, from 0 to 2."""
    return float(_count(result, "broken agreement"))


def inverted_proposals(result: Result) -> float | None:
    """The share of proposals that claim just what would be the partner's; None without any.

    Of proposals that follow an offer which gives each something else, accepted or not. Strict
    competition was found to teach it (Liao, Tomlin and Klein 2024, appendix D): two who both do so
    agree, and nobody agrees with them.
    """
    counts = result.deal.context.counts
    moves = moves_of(result)
    table = standing(counts, moves)
    if table.division is None:
        return None
    found = [
        move.action.claim == rest(counts, mine)
        for move in moves
        if move.message is None
        and (mine := part(table.division, counts, move.player)) != rest(counts, mine)
    ]
    return sum(found) / len(found) if found else None


def inconsistency(result: Result) -> float | None:
    """The share of messages and proposals with an inconsistency that is exact; None without any.

    A lower bound of what a judge would find (the paper's figure 2, right).
    """
    moves = moves_of(result)
    if not moves:
        return None
    return len(faulty_turns(result, moves)) / len(moves)


def faulty_turns(result: Result, moves: Sequence[Move]) -> set[int]:
    """The turns, counted from 1, with an inconsistency that is exact."""
    return {found.turn for found in inconsistencies(result.deal.context, moves)}


def requests_and_moves(result: Result) -> list[tuple[int, Move]]:
    """The messages and proposals of a match in order, one a turn, with their requests."""
    return [
        (given.request, Move(given.seat, given.action))
        for given in result.given()
        if isinstance(given.action, MessageOrProposal | Proposal)
    ]


def moves_of(result: Result) -> list[Move]:
    """The messages and proposals of a match in order, one a turn."""
    return [move for _, move in requests_and_moves(result)]


def _messages(result: Result) -> list[str]:
    return [move.message for move in moves_of(result) if move.message is not None]


def _count(result: Result, fault: Fault) -> int:
    found = inconsistencies(result.deal.context, moves_of(result))
    return sum(one.fault == fault for one in found)


def _share(result: Result, fault: Fault) -> float:
    return _count(result, fault) / max(1, len(_messages(result)))


def _score_limits(game: DealOrNoDeal) -> tuple[float, float]:
    """From no points to all that both can have together."""
    return 0.0, (1 + game.objective) * (2 * PILE - 1) / 2


def _turns(game: DealOrNoDeal) -> tuple[float, float]:
    return 0.0, float(game.turns)


MEASURES = (
    Measure("score", score, unit="points", limits=_score_limits),
    Measure("agreement", agreement, unit="share of matches", bounds=SHARE),
    Measure(
        "pareto_optimality",
        pareto_optimality,
        published_pareto_optimality,
        unit="share of matches",
        bounds=SHARE,
    ),
    Measure("joint_points", joint_points, unit="points", bounds=(0.0, 2 * PILE - 1.0)),
    Measure("efficiency", efficiency, unit="share of the best sum", bounds=SHARE),
    Measure("aborted", aborted, unit="share of matches", bounds=SHARE),
    Measure("length", length, unit="turns", bounds=COUNT, limits=_turns),
    Measure("words", words_spoken, unit="words", bounds=COUNT),
    Measure("vocabulary", vocabulary_size, unit="words", bounds=COUNT),
    Measure("bigram_entropy", bigram_entropy, unit="bits", bounds=COUNT),
    Measure("inconsistency", inconsistency, unit="share of turns", bounds=SHARE),
    Measure("impossible_counts", impossible_counts, unit="share of messages", bounds=SHARE),
    Measure("false_values", false_values, unit="share of messages", bounds=SHARE),
    Measure("broken_agreements", broken_agreements, unit="proposals", bounds=COUNT),
    Measure("inverted_proposals", inverted_proposals, unit="share of proposals", bounds=SHARE),
)


def words_by_turn(result: Result) -> Iterator[Point]:
    """The number of words in the turn's message; none in a turn with a proposal."""
    for number, move in enumerate(moves_of(result), 1):
        said = None if move.message is None else float(len(words(move.message)))
        yield Point(number, move.player, said)


def inconsistent_by_turn(result: Result) -> Iterator[Point]:
    """1 if the turn has an inconsistency that is exact, else 0; see the measure inconsistency."""
    moves = moves_of(result)
    faulty = faulty_turns(result, moves)
    for number, move in enumerate(moves, 1):
        yield Point(number, move.player, float(number in faulty))


SERIES = (
    Series("words", words_by_turn, unit="words", bounds=COUNT),
    Series("inconsistent", inconsistent_by_turn, unit="share of turns", bounds=SHARE),
)


CONSISTENT = "consistent"


def check_hallucination(result: Result) -> dict[tuple[int, str], str]:
    """The first fault of each message and proposal, or that it is consistent.

    Only of turns with something in them that is read exactly: a number of items, a value of one's
    own, or a claim after a plain agreement. Of all others nothing is said.
    """
    context = result.deal.context
    moves = requests_and_moves(result)
    made = [move for _, move in moves]
    faults: dict[int, str] = {}
    for turn, _, fault in inconsistencies(context, made):
        faults.setdefault(turn, fault)
    agreed = standing(context.counts, made).agreed
    return {
        (request, move.player): faults.get(turn, CONSISTENT)
        for turn, (request, move) in enumerate(moves, start=1)
        if turn in faults or (agreed if move.message is None else _reads(move.message))
    }


def _reads(message: str) -> bool:
    """Whether the check reads a number of items or a value of the speaker's in a message."""
    return bool(stated_counts(message) or stated_values(message))


CHECKS = {"hallucination": check_hallucination}
