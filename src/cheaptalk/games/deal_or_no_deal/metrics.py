"""Metrics of Deal or No Deal (Liao, Tomlin and Klein 2024, sections 4 and 5, appendix E).

A player's points are the value of its claim to that player, or 0 without an agreement. Vocabulary
and entropy refer to one match; for many matches, compute them from all messages with
:mod:`cheaptalk.games.language`.

Metrics by turn describe the length and the inconsistencies of messages. A turn is a message or a
proposal of one player; turns are numbered from 1. Judges of hallucinations are validated against an
exact check.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from cheaptalk.games.deal_or_no_deal import dialogue, rules
from cheaptalk.games.deal_or_no_deal.contexts import PILE, Context, Triple, bundles, rest, worth
from cheaptalk.games.deal_or_no_deal.talk import read_offer
from cheaptalk.games.language import ngram_entropy, vocabulary, words
from cheaptalk.rules import COUNT, SHARE, Given, Metric, Point, Result, Series
from cheaptalk.rules.assessment import Assessment, Statement, checked

SLACK = 1e-9
"""Tolerance in comparisons of payoffs, in points."""


def points(context: Context, claim: Triple) -> tuple[int, int]:
    """Return both players' points if player 1 gets its claim and player 2 gets the rest."""
    first, second = context.values
    return worth(first, claim), worth(second, rest(context.counts, claim))


def best_joint_score(context: Context) -> int:
    """Return the maximum sum of points, 10 to 19 (mean in the published contexts: 15.008)."""
    return max(sum(points(context, claim)) for claim in bundles(context.counts))


def optimal_claims(context: Context, objective: float = 0.0) -> list[Triple]:
    """Return player 1's part in each division that is Pareto-optimal in the players' payoffs.

    A division is Pareto-optimal if no other division pays both players at least as much and one
    player more. Under the cooperative objective, these are the divisions with the greatest sum of
    points; under the strictly competitive objective, all divisions. Of the 81,767 divisions in the
    published contexts, 23.3 % are optimal in points.

    Args:
        objective: the weight of the partner's points, lambda in [-1, 1].
    """
    claims = list(bundles(context.counts))
    payoff_pairs = [rules.paid(points(context, claim), objective) for claim in claims]
    return [
        claim
        for claim, (first, second) in zip(claims, payoff_pairs, strict=True)
        if not any(
            first_payoff >= first - SLACK
            and second_payoff >= second - SLACK
            and first_payoff + second_payoff > first + second + SLACK
            for first_payoff, second_payoff in set(payoff_pairs)
        )
    ]


def score(result: Result) -> float:
    """The players' mean payoff, (1 + objective) * sum of points / 2; 0 without an agreement."""
    return float(sum(result.game.payoffs(result.outcome).values()) / 2)


def joint_points(result: Result) -> float:
    """The sum of both players' points, from 0 to 19, regardless of the objective."""
    return float(sum(result.outcome.points or (0, 0)))


def efficiency(result: Result) -> float:
    """The sum of both players' points as a share of its maximum in the context, in [0, 1]."""
    return float(joint_points(result) / best_joint_score(result.instance.context))


def agreement(result: Result) -> float:
    """1 if the two claims add up to exactly the pool, else 0."""
    return float(result.outcome.ending == "agreement")


def pareto_optimality(result: Result) -> float:
    """1 if there is an agreement that is Pareto-optimal in payoffs, else 0."""
    outcome: rules.Division = result.outcome
    instance: rules.Opening = result.instance
    best = optimal_claims(instance.context, result.game.objective)
    return float(outcome.ending == "agreement" and outcome.claims[0] in best)


def published_pareto_optimality(result: Result) -> float:
    """Pareto optimality in the released code: 1 if player 2 gets all 10 points (for objective 0).

    The code compares one player's values with the other player's claim. Of the divisions in the
    published contexts, 12.54 % are therefore optimal, instead of 23.3 %.
    """
    outcome: rules.Division = result.outcome
    if result.game.objective != 0:
        return pareto_optimality(result)
    return float(outcome.points is not None and outcome.points[1] == PILE)


def aborted(result: Result) -> float:
    """1 if a player's failure to answer ended the game, else 0."""
    return float(result.outcome.ending == "aborted")


def length(result: Result) -> float:
    """The number of messages and proposals made."""
    return float(result.outcome.turns)


def total_words(result: Result) -> float:
    """The number of words in all messages of the match."""
    return float(sum(len(words(text)) for text in _messages(result)))


def vocabulary_size(result: Result) -> float:
    """The number of different words in the messages of the match."""
    return float(vocabulary(_messages(result)))


def bigram_entropy(result: Result) -> float | None:
    """The entropy of word pairs in the match's messages, in bits; None without pairs."""
    return ngram_entropy(_messages(result), 2)


def impossible_counts(result: Result) -> float:
    """The share of messages that state more items of a kind than exist; 0 without messages."""
    return _share(result, "impossible count")


def false_values(result: Result) -> float:
    """The share of messages that misstate the speaker's values; 0 without messages."""
    return _share(result, "false value")


def broken_agreements(result: Result) -> float:
    """The number of proposals that break the last plainly stated agreement, from 0 to 2."""
    return float(_count(result, "broken agreement"))


def inverted_proposals(result: Result) -> float | None:
    """The share of proposals in which players claim the partner's part of the last offer.

    Proposals count if the two players' parts differ; None without any such proposal. Models learn
    to invert by self-play in strict competition (Liao, Tomlin and Klein 2024, appendix D): two
    players who invert agree only with each other.
    """
    counts, moves = result.instance.context.counts, moves_of(result)
    table = dialogue.standing(counts, moves)
    if table.division is None:
        return None
    inverted = [
        move.action.claim == rest(counts, own_part)
        for move in moves
        if move.message is None
        and (own_part := dialogue.part(table.division, counts, move.player))
        != rest(counts, own_part)
    ]
    return sum(inverted) / len(inverted) if inverted else None


def inconsistency(result: Result) -> float | None:
    """The share of turns in which an exact check finds an inconsistency; None without turns.

    The share is a lower bound of a judge's rate (the paper's figure 2, right).
    """
    moves = moves_of(result)
    return len(faulty_turns(result, moves)) / len(moves) if moves else None


def faulty_turns(result: Result, moves: Sequence[dialogue.Move]) -> set[int]:
    """Return the turns (numbered from 1) in which an exact check finds an inconsistency."""
    return {fault.turn for fault in dialogue.inconsistencies(result.instance.context, moves)}


def moves_of(result: Result) -> list[dialogue.Move]:
    """Return the messages and proposals of a match in order, one per turn."""
    answers = result.moves(rules.MessageOrProposal, rules.Proposal)
    return [dialogue.Move(actor, action) for _, actor, action in answers]


def _messages(result: Result) -> list[str]:
    return [move.message for move in moves_of(result) if move.message is not None]


def _count(result: Result, fault: dialogue.Fault) -> int:
    faults = dialogue.inconsistencies(result.instance.context, moves_of(result))
    return sum(inconsistency.fault == fault for inconsistency in faults)


def _share(result: Result, fault: dialogue.Fault) -> float:
    return _count(result, fault) / max(1, len(_messages(result)))


def _score_limits(game: rules.DealOrNoDeal) -> tuple[float, float]:
    return 0.0, (1 + game.objective) * (2 * PILE - 1) / 2


METRICS = (
    Metric("score", score, unit="points", limits=_score_limits),
    Metric("agreement", agreement, unit="share of matches", bounds=SHARE),
    Metric(
        "pareto_optimality",
        pareto_optimality,
        published_pareto_optimality,
        "share of matches",
        SHARE,
    ),
    Metric("joint_points", joint_points, unit="points", bounds=(0.0, 2 * PILE - 1.0)),
    Metric("efficiency", efficiency, unit="share of the best sum", bounds=SHARE),
    Metric("aborted", aborted, unit="share of matches", bounds=SHARE),
    Metric(
        "length", length, unit="turns", bounds=COUNT, limits=lambda game: (0.0, float(game.turns))
    ),
    Metric("total_words", total_words, unit="words", bounds=COUNT),
    Metric("vocabulary", vocabulary_size, unit="words", bounds=COUNT),
    Metric("bigram_entropy", bigram_entropy, unit="bits", bounds=COUNT),
    Metric("inconsistency", inconsistency, unit="share of turns", bounds=SHARE),
    Metric("impossible_counts", impossible_counts, unit="share of messages", bounds=SHARE),
    Metric("false_values", false_values, unit="share of messages", bounds=SHARE),
    Metric("broken_agreements", broken_agreements, unit="proposals", bounds=COUNT),
    Metric("inverted_proposals", inverted_proposals, unit="share of proposals", bounds=SHARE),
)


def words_by_turn(result: Result) -> Iterator[Point]:
    """The number of words in the turn's message; no value in a turn with a proposal."""
    for number, move in enumerate(moves_of(result), 1):
        count = None if move.message is None else float(len(words(move.message)))
        yield Point(number, move.player, count)


def inconsistent_by_turn(result: Result) -> Iterator[Point]:
    """1 if an exact check finds an inconsistency in the turn, else 0."""
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
    """Classify each checkable message or proposal by its first inconsistency, or as "consistent".

    Turns are included if the exact check can read them: if they state a number of items or a value
    of the speaker, or contain a claim after a plain agreement.
    """
    context, moves = result.instance.context, moves_of(result)
    requests = [request for request, *_ in result.moves(rules.MessageOrProposal, rules.Proposal)]
    faults: dict[int, str] = {}
    for turn, _, fault in dialogue.inconsistencies(context, moves):
        faults.setdefault(turn, fault)
    agreed = dialogue.standing(context.counts, moves).agreed
    return {
        (request, move.player): faults.get(turn, CONSISTENT)
        for turn, (request, move) in enumerate(zip(requests, moves, strict=True), start=1)
        if turn in faults
        or (
            agreed
            if (text := move.message) is None
            else dialogue.stated_counts(text) or dialogue.stated_values(text)
        )
    }


CHECKS = {"hallucination": check_hallucination}


class DealOrNoDealAssessment(Assessment):
    """The assessment of Deal or No Deal."""

    def offered(self, result: Result, seat: str, answer: Given) -> float | None:
        """Return the points of the claim in a seat's proposal, or in any player's message."""
        context, action, own = result.instance.context, answer.action, answer.actor == seat
        claim = None
        if isinstance(action, rules.MessageOrProposal) and action.message is not None:
            claim = read_offer(action.message, context.counts)
        elif own and isinstance(action, rules.Proposal | rules.MessageOrProposal):
            claim = (action.books or 0, action.hats or 0, action.balls or 0)
        if claim is None:
            return None
        bundle = claim if own else rest(context.counts, claim)
        return float(worth(context.values[rules.PLAYERS.index(seat)], bundle))

    def statements(self, result: Result) -> list[Statement]:
        return checked(check_hallucination(result), true="consistent")

    def meanings(self, result: Result) -> dict[tuple[int, str], Any]:
        """Return each message's claim, and whether each message or proposal is consistent."""
        true = super().meanings(result)
        return true | {
            (request, actor): [
                read_offer(action.message, result.instance.context.counts),
                true.get((request, actor)),
            ]
            for request, actor, action in result.moves(rules.MessageOrProposal)
            if action.message
        }
