"""Measures of item bargaining (section 3.4, section 6.3 and appendices B, I and J of the paper).

Payoffs u are discounted, as the paper defines them, and outside options b as well where they
are what is paid. Some of the paper's tables divide the discount out again, so there are measures
without it. With w the undiscounted worths that were realised: u = w * discount ** (round - 1).

Series by round say what each offer keeps and gives, as its makers come towards each other. A player
acts once a round; a round in which it makes no offer has no number of it. All are shares of what
all items together are worth to the player in question, discounted alike and so not at all.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from cheaptalk.games.item_bargaining.events import Move, Pool, Settlement
from cheaptalk.games.item_bargaining.maxima import Pools, maxima
from cheaptalk.games.item_bargaining.pools import Bundle, rest, worth
from cheaptalk.games.item_bargaining.rules import PLACES
from cheaptalk.rules import COUNT, SHARE, Measure, Point, Result, Series


class Turn(NamedTuple):
    """A question as the one who answered it saw it.

    Attributes:
        player: 0 or 1.
        offered: the bundle that it was offered; None where no offer was on the table.
        move: its answer; None where it was invalid.
        quantities, values, outside: what it knew.
        given: the bundle that this turn offers the other.
        kept: the worth of what this offer would keep.
        table: the worth of what this player was offered.
    """

    player: int
    offered: Bundle | None
    move: Move | None
    quantities: Bundle
    values: tuple[int, ...]
    outside: int
    given: Bundle | None
    kept: int | None
    table: int | None

    @property
    def action(self) -> str | None:
        return self.move.action if self.move else None


def turns(result: Result) -> Sequence[Turn]:
    """Every turn of a match, in order."""
    return result.once(_turns)


def _turns(result: Result) -> Sequence[Turn]:
    deal: Pool = result.deal
    offered: Bundle | None = None
    found = []
    for number, (_, _, action) in enumerate(result.given()):
        player, move = number % 2, action if isinstance(action, Move) else None
        values, given = deal.values[player], move.offer if move else None
        kept = None if given is None else worth(rest(deal.quantities, given), values)
        table = None if offered is None else worth(offered, values)
        found.append(
            Turn(
                player, offered, move, deal.quantities, values, deal.outside[player],
                given, kept, table,
            )
        )  # fmt: skip
        offered = given
    return found


def asked_less(turn: Turn) -> bool:
    """M1: a counteroffer that would leave less than the offer that it turns down."""
    return turn.kept is not None and turn.table is not None and turn.kept < turn.table


def asked_too_little(turn: Turn) -> bool:
    """M2: an offer that would leave less than the outside option."""
    return turn.kept is not None and turn.kept < turn.outside


def offered_extreme(turn: Turn) -> bool:
    """M3: an offer of nothing or of everything, in any round."""
    return turn.given is not None and turn.given in (turn.quantities, (0,) * len(turn.quantities))


def accepted_too_little(turn: Turn) -> bool:
    """M4: accepting an offer that is worth less than the outside option."""
    return turn.action == "ACCEPT" and turn.table is not None and turn.table < turn.outside


def walked_from_more(turn: Turn) -> bool:
    """M5: walking away from an offer that is worth more than the outside option."""
    return turn.action == "WALK" and turn.table is not None and turn.table > turn.outside


MISTAKES: tuple[Callable[[Turn], bool], ...] = (
    asked_less, asked_too_little, offered_extreme, accepted_too_little, walked_from_more,
)  # fmt: skip
"""The five mistakes of the paper's appendix B, which leaves open whether worths are discounted.

All comparisons are between worths that come in the same round, and so need no discounting. An
invalid answer is no choice and counts as no mistake.
"""

STATED = re.compile(
    r"\b(?:holdings?|I(?:'d|'ll| would| will)? (?:receive|get|hold|have|end up with))\b"
    r"[^.\n\[\]]{0,80}\[([\d\s,]+)\]",
    re.IGNORECASE,
)
"""A list of numbers that a sentence calls holdings, or says that one receives, gets or has."""


def stated_holdings(reasoning: str, kinds: int) -> list[Bundle]:
    """The bundles that somebody's reasoning says it would hold, in order.

    >>> stated_holdings("They offer [0, 1]. My resulting holdings: [6, 1], worth 9.", 2)
    [(6, 1)]
    """
    lists = (tuple(map(int, re.findall(r"\d+", found))) for found in STATED.findall(reasoning))
    return [bundle for bundle in lists if len(bundle) == kinds]


def false_holdings(turn: Turn) -> bool | None:
    """Whether all that the reasoning behind an acceptance says it would hold is not what it gets.

    None where the turn accepts nothing, or its reasoning states no holdings as a list of as many
    numbers as there are kinds.
    """
    if turn.move is None or turn.action != "ACCEPT":
        return None
    stated = stated_holdings(turn.move.reasoning, len(turn.quantities))
    return turn.offered not in stated if stated else None


def payoffs(result: Result) -> tuple[float, float]:
    """Both players' discounted payoffs."""
    return result.once(_payoffs)


def _payoffs(result: Result) -> tuple[float, float]:
    first, second = result.game.payoffs(result.outcome).values()
    return first, second


def utilitarian_welfare(result: Result) -> float:
    """The sum of both payoffs, u_1 + u_2."""
    return sum(payoffs(result))


def utilitarian_welfare_undiscounted(result: Result) -> float:
    """The sum of what both realised, w_1 + w_2, in whatever round."""
    return float(sum(result.outcome.worth))


def nash_welfare(result: Result) -> float:
    """The geometric mean of both payoffs, the square root of u_1 * u_2."""
    return math.sqrt(math.prod(payoffs(result)))


def nash_welfare_undiscounted(result: Result) -> float:
    """The geometric mean of what both realised, the square root of w_1 * w_2."""
    return math.sqrt(math.prod(result.outcome.worth))


def advantage(gains: tuple[float, float], outside: tuple[float, float]) -> float:
    """The geometric mean of what both get above these amounts, counted as 0 where it is less."""
    above = (max(0.0, gain - least) for gain, least in zip(gains, outside, strict=True))
    return math.sqrt(math.prod(above))


def nash_welfare_plus(result: Result) -> float:
    """Nash welfare of advantages: the square root of max(0, u_1 - b_1) * max(0, u_2 - b_2).

    The outside option is not discounted here, so it is what it would have been in round 1.
    """
    return advantage(payoffs(result), result.deal.outside)


def nash_welfare_plus_discounted(result: Result) -> float:
    """Nash welfare of advantages with outside options discounted too (the authors' code)."""
    kept: float = result.game.discount ** (result.outcome.round - 1)
    return kept * nash_welfare_plus_undiscounted(result)


def nash_welfare_plus_undiscounted(result: Result) -> float:
    """Nash welfare of advantages with w - b, nothing discounted (the authors' notebooks)."""
    return advantage(result.outcome.worth, result.deal.outside)


def best(result: Result) -> dict[str, float]:
    """The maxima of a match's deal."""
    return result.once(_best)


def _best(result: Result) -> dict[str, float]:
    return best_of(result.deal)


@lru_cache(maxsize=1024)
def best_of(deal: Pool) -> dict[str, float]:
    """The maxima of one deal; see :class:`~cheaptalk.games.item_bargaining.maxima.Maxima`."""
    found = maxima(Pools.of([deal]))
    return {name: float(numbers[0]) for name, numbers in vars(found).items()}


def share_of(welfare: float, best: float) -> float | None:
    """A welfare as a share of the greatest possible; None where that is 0."""
    return welfare / best if best > 0 else None


def utilitarian_of_maximum(result: Result) -> float | None:
    """Utilitarian welfare over the greatest of this deal, the outside options included, in [0, 1].

    The paper divides means by means of maxima instead:
    :func:`~cheaptalk.games.item_bargaining.maxima.ratio_of_means`.
    """
    return share_of(utilitarian_welfare(result), best(result)["utilitarian"])


def utilitarian_of_allocated(result: Result) -> float | None:
    """Utilitarian welfare over the greatest of this deal by allocations alone; can exceed 1."""
    return share_of(utilitarian_welfare(result), best(result)["utilitarian_allocated"])


def nash_of_maximum(result: Result) -> float | None:
    """Nash welfare over the greatest of this deal, the outside options included, in [0, 1]."""
    return share_of(nash_welfare(result), best(result)["nash"])


def nash_of_allocated(result: Result) -> float | None:
    """Nash welfare over the greatest of this deal by allocations alone; can exceed 1."""
    return share_of(nash_welfare(result), best(result)["nash_allocated"])


def nash_plus_of_maximum(result: Result) -> float | None:
    """Nash welfare of advantages over the greatest of this deal, in [0, 1].

    None where no allocation gives both more than their outside options.
    """
    return share_of(nash_welfare_plus(result), best(result)["nash_plus"])


def opposition(result: Result) -> float:
    """The deal's opposition level: how far from giving both all; 0 is no conflict (appendix J)."""
    return best(result)["opposition"]


def envy_free_up_to_one(own: Bundle, other: Bundle, values: tuple[int, ...]) -> bool:
    """Whether a player would not envy the other if one item were taken from the other.

    v * a_other - v * a_own <= the greatest v_k of the kinds k of which the other has an item.

    >>> envy_free_up_to_one((0, 0, 1), (7, 4, 0), (5, 50, 5))
    False
    """
    dearest = max((value for value, count in zip(values, other, strict=True) if count), default=0)
    return worth(other, values) - worth(own, values) <= dearest


def ef1(result: Result) -> float | None:
    """1 if the agreement is envy-free up to one item for both, else 0; None without agreement."""
    outcome: Settlement = result.outcome
    if outcome.bundles is None:
        return None
    (first, second), (values, others) = outcome.bundles, result.deal.values
    fair = envy_free_up_to_one(first, second, values) and envy_free_up_to_one(second, first, others)
    return float(fair)


def agreement(result: Result) -> float:
    """1 if an offer was accepted, else 0."""
    return float(result.outcome.ended == "accept")


def invalid_walk(result: Result) -> float:
    """1 if the match ended by an invalid answer, which counts as walking away, else 0."""
    return float(result.outcome.ended == "invalid")


def rounds(result: Result) -> float:
    """The round in which the match ended."""
    return float(result.outcome.round)


def mistakes(result: Result) -> float:
    """How often both players together make one of the mistakes M1 to M5 (appendix B)."""
    return float(sum(found(turn) for turn in turns(result) for found in MISTAKES))


def own_mistakes(result: Result, player: int) -> float:
    """How often it makes one of the mistakes M1 to M5 (appendix B)."""
    return float(sum(found(turn) for turn in own(result, player) for found in MISTAKES))


def own(result: Result, player: int) -> Iterator[Turn]:
    """The turns of one player."""
    return (turn for turn in turns(result) if turn.player == player)


def utility_given(result: Result, player: int) -> float | None:
    """The mean worth, to the player itself, of what its offers give away; None without offers."""
    worths = given_away(result, player)
    return sum(worths) / len(worths) if worths else None


def concession(result: Result, player: int) -> float | None:
    """By how much more its last offer gives away than its first, to itself; None without two."""
    worths = given_away(result, player)
    return float(worths[-1] - worths[0]) if len(worths) > 1 else None


def given_away(result: Result, player: int) -> list[int]:
    """What each offer of a player gives away, in that player's values."""
    return [
        worth(turn.given, turn.values) for turn in own(result, player) if turn.given is not None
    ]


def bad_acceptance_by_turn(result: Result, player: int) -> float | None:
    """The share of turns with an offer on which it accepts less than its outside option.

    None where it was never offered anything (appendix I).
    """
    found = [accepted_too_little(turn) for turn in own(result, player) if turn.offered is not None]
    return sum(found) / len(found) if found else None


def bad_acceptance(result: Result, player: int) -> float:
    """1 if it accepted less than its outside option, else 0 (appendix I, by game)."""
    return float(any(map(accepted_too_little, own(result, player))))


def bad_offer_accepted(result: Result, player: int) -> float | None:
    """The share of offers worth less than its outside option that it accepts.

    None where it had none. In the paper's table 12 soft, which accepts all, has 100 %.
    """
    low = [turn for turn in own(result, player)
           if turn.table is not None and turn.table < turn.outside]  # fmt: skip
    return sum(map(accepted_too_little, low)) / len(low) if low else None


def false_holdings_stated(result: Result, player: int) -> float | None:
    """1 if it accepted and its reasoning stated only other holdings than it then got, else 0.

    None where it did not accept, or stated no holdings (section 6.4's hallucination).
    """
    found = [false_holdings(turn) for turn in own(result, player)]
    return next((float(one) for one in found if one is not None), None)


def counted(found: Callable[[Turn], bool]) -> Callable[[Result], float]:
    """How often both players together make one of the mistakes."""

    def count(result: Result) -> float:
        return float(sum(map(found, turns(result))))

    count.__doc__ = f"{found.__doc__} Times a match, both players together."
    return count


def per_player(
    of: Callable[[Result, int], float | None], unit: str, bounds: tuple[float, float] = COUNT
) -> Iterator[Measure]:
    """A measure for each of the two places."""
    for player, place in enumerate(PLACES):

        def measured(result: Result, player: int = player) -> float | None:
            return of(result, player)

        meaning = of.__doc__ or ""
        measured.__doc__ = f"Player {player + 1}: {meaning[:1].lower()}{meaning[1:]}"
        yield Measure(f"{of.__name__}_{place}", measured, unit=unit, bounds=bounds)


def each(unit: str, *functions: Any, bounds: tuple[float, float] = COUNT) -> Iterator[Measure]:
    """Measures named after their functions."""
    return (
        Measure(function.__name__, function, unit=unit, bounds=bounds) for function in functions
    )


MEASURES = (
    *each("share of matches", agreement, bounds=SHARE),
    *each("points", utilitarian_welfare, nash_welfare),
    Measure(
        "nash_welfare_plus", nash_welfare_plus, nash_welfare_plus_discounted, unit="points",
        bounds=COUNT,
    ),
    *each("share of agreements", ef1, bounds=SHARE),
    Measure(
        "utilitarian_of_maximum", utilitarian_of_maximum, utilitarian_of_allocated,
        unit="share of the deal's maximum", bounds=COUNT,
    ),
    *each("share of the deal's maximum", utilitarian_of_allocated),
    *each("share of the deal's maximum", nash_of_maximum, bounds=SHARE),
    *each("share of the deal's maximum", nash_of_allocated),
    *each("share of the deal's maximum", nash_plus_of_maximum, bounds=SHARE),
    *each("rounds", rounds),
    *each(
        "points", utilitarian_welfare_undiscounted, nash_welfare_undiscounted,
        nash_welfare_plus_discounted, nash_welfare_plus_undiscounted,
    ),
    *each("distance", opposition),
    *each("share of matches", invalid_walk, bounds=SHARE),
    *each("times a match", mistakes),
    *(
        Measure(found.__name__, counted(found), unit="times a match", bounds=COUNT)
        for found in MISTAKES
    ),
    *per_player(own_mistakes, "times a match"),
    *per_player(bad_acceptance, "share of matches", SHARE),
    *per_player(bad_acceptance_by_turn, "share of turns", SHARE),
    *per_player(bad_offer_accepted, "share of low offers", SHARE),
    *per_player(utility_given, "points"),
    *per_player(concession, "points", (-math.inf, math.inf)),
    *per_player(false_holdings_stated, "share of acceptances", SHARE),
)  # fmt: skip


def turns_by_round(result: Result) -> Iterator[tuple[int, str, Turn, int]]:
    """Every turn with its round, its place, and what all items are worth to its player."""
    places = tuple(PLACES)
    for number, turn in enumerate(turns(result)):
        yield number // 2 + 1, places[turn.player], turn, worth(turn.quantities, turn.values)


def demand(result: Result) -> Iterator[Point]:
    """What a player's offer would keep, as a share of what all items are worth to it, in [0, 1].

    Its mean by round is the player's concession curve.
    """
    for number, place, turn, total in turns_by_round(result):
        if turn.kept is not None:
            yield Point(number, place, share_of(turn.kept, total))


def offered(result: Result) -> Iterator[Point]:
    """What a player's offer would give the other, as a share of all items' worth to the other.

    In [0, 1].
    """
    for number, place, turn, _ in turns_by_round(result):
        if turn.given is not None:
            values = result.deal.values[1 - turn.player]
            total = worth(turn.quantities, values)
            yield Point(number, place, share_of(worth(turn.given, values), total))


SERIES = tuple(
    Series(one.__name__, one, unit="share of the maximum", bounds=SHARE)
    for one in (demand, offered)
)
