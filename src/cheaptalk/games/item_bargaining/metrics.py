"""Metrics of item bargaining (Smithline et al. 2025, sections 3.4 and 6.3, appendices B, I, J).

Payoffs u are discounted, as the paper defines them: u = w * discount ** (round - 1), where w is the
undiscounted value of a bundle or of an outside option b. Some of the paper's tables are
undiscounted, so there are metrics for both.

Per-round metrics describe the bundles that each offer keeps and gives, as shares of the value of
all items to the player. A player has no number in a round without an offer.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from operator import mul
from typing import Any, NamedTuple

from cheaptalk.games.item_bargaining.maxima import Pools, maxima
from cheaptalk.games.item_bargaining.rules import (
    SEATS,
    Bundle,
    ItemBargaining,
    Move,
    Pool,
    Settlement,
    rest,
    worth,
)
from cheaptalk.rules import COUNT, SHARE, Action, Given, Metric, Point, Result, Series
from cheaptalk.rules.assessment import Assessment, Mistakes


class Turn(NamedTuple):
    """A player's turn: its information and its move.

    Attributes:
        player: the index of the player, 0 or 1.
        offered: the bundle offered to the player; None if there was no offer.
        move: the player's answer; None if it was invalid.
    """

    player: int
    offered: Bundle | None
    move: Move | None
    quantities: Bundle
    values: tuple[int, ...]
    outside: int

    @property
    def action(self) -> str | None:
        return self.move.action if self.move else None

    @property
    def given(self) -> Bundle | None:
        """The bundle that the player offers."""
        return self.move.offer if self.move else None

    @property
    def kept(self) -> int | None:
        """The value to the player of the rest of the items after its offer."""
        given = self.given
        return None if given is None else worth(rest(self.quantities, given), self.values)

    @property
    def table(self) -> int | None:
        """The value to the player of the bundle offered to it."""
        return None if self.offered is None else worth(self.offered, self.values)


def turns(result: Result) -> Sequence[Turn]:
    """Return every turn of a match, in order."""
    return result.once(_turns)


def _turns(result: Result) -> Sequence[Turn]:
    pool: Pool = result.instance
    sequence: list[Turn] = []
    for number, (_, _, action) in enumerate(result.given()):
        player, move = number % 2, action if isinstance(action, Move) else None
        offered = sequence[-1].given if sequence else None
        information = pool.quantities, pool.values[player], pool.outside[player]
        sequence.append(Turn(player, offered, move, *information))
    return sequence


def asked_less(turn: Turn) -> bool:
    """M1: a counteroffer that would leave the player less than the offer that it rejects."""
    return turn.kept is not None and turn.table is not None and turn.kept < turn.table


def asked_too_little(turn: Turn) -> bool:
    """M2: an offer that would leave the player less than its outside option."""
    return turn.kept is not None and turn.kept < turn.outside


def offered_extreme(turn: Turn) -> bool:
    """M3: an offer of nothing or of everything, in any round."""
    return turn.given is not None and turn.given in (turn.quantities, (0,) * len(turn.quantities))


def accepted_too_little(turn: Turn) -> bool:
    """M4: acceptance of an offer worth less than the player's outside option."""
    return turn.action == "ACCEPT" and turn.table is not None and turn.table < turn.outside


def walked_from_more(turn: Turn) -> bool:
    """M5: walking away from an offer worth more than the player's outside option."""
    return turn.action == "WALK" and turn.table is not None and turn.table > turn.outside


MISTAKES: tuple[Callable[[Turn], bool], ...] = (
    asked_less,
    asked_too_little,
    offered_extreme,
    accepted_too_little,
    walked_from_more,
)
"""The five mistakes in the paper's appendix B; discounting cancels out because all compared values
are those of one round. An invalid answer is not a mistake."""

STATED = re.compile(
    r"\b(?:holdings?|I(?:'d|'ll| would| will)? (?:receive|get|hold|have|end up with))\b"
    r"[^.\n\[\]]{0,80}\[([\d\s,]+)\]",
    re.IGNORECASE,
)
"""A list of numbers after "holdings", or after "I receive", "I get" or similar words."""


def stated_holdings(reasoning: str, kinds: int) -> list[Bundle]:
    """Return the bundles that a player's reasoning states as its holdings, in order.

    >>> stated_holdings("They offer [0, 1]. My resulting holdings: [6, 1], worth 9.", 2)
    [(6, 1)]
    """
    lists = (tuple(map(int, re.findall(r"\d+", numbers))) for numbers in STATED.findall(reasoning))
    return [bundle for bundle in lists if len(bundle) == kinds]


def false_holdings(turn: Turn) -> bool | None:
    """Return whether every statement of holdings in the reasoning for an acceptance is wrong.

    None for other moves, or if the reasoning states no holdings as a list of one number per kind.
    """
    if turn.move is None or turn.action != "ACCEPT":
        return None
    stated = stated_holdings(turn.move.reasoning, len(turn.quantities))
    return turn.offered not in stated if stated else None


def payoffs(result: Result) -> tuple[float, float]:
    """Return both players' discounted payoffs."""
    first, second = result.game.payoffs(result.outcome).values()
    return first, second


def utilitarian_welfare(result: Result) -> float:
    """The sum of both payoffs, u_1 + u_2."""
    return sum(payoffs(result))


def utilitarian_welfare_undiscounted(result: Result) -> float:
    """The sum of both undiscounted values, w_1 + w_2."""
    return float(sum(result.outcome.worth))


def nash_welfare(result: Result) -> float:
    """The geometric mean of both payoffs, the square root of u_1 * u_2."""
    return math.sqrt(math.prod(payoffs(result)))


def nash_welfare_undiscounted(result: Result) -> float:
    """The geometric mean of both undiscounted values, the square root of w_1 * w_2."""
    return math.sqrt(math.prod(result.outcome.worth))


def advantage(gains: tuple[float, float], outside: tuple[float, float]) -> float:
    """Return the geometric mean of both surpluses over the outside options, with losses as 0."""
    above = (max(0.0, gain - threshold) for gain, threshold in zip(gains, outside, strict=True))
    return math.sqrt(math.prod(above))


def nash_welfare_plus(result: Result) -> float:
    """Nash welfare of advantages: the square root of max(0, u_1 - b_1) * max(0, u_2 - b_2)."""
    return advantage(payoffs(result), result.instance.outside)


def nash_welfare_plus_discounted(result: Result) -> float:
    """Nash welfare of advantages with discounted outside options, as in the authors' code."""
    factor: float = result.game.discount ** (result.outcome.round - 1)
    return factor * nash_welfare_plus_undiscounted(result)


def nash_welfare_plus_undiscounted(result: Result) -> float:
    """Nash welfare of advantages without any discounting, as in the authors' notebooks."""
    return advantage(result.outcome.worth, result.instance.outside)


@lru_cache(maxsize=1024)
def best_of(instance: Pool) -> dict[str, float]:
    """Return the maximum welfare in an instance, by criterion; see :class:`.Maxima`."""
    return {name: float(numbers[0]) for name, numbers in vars(maxima(Pools.of([instance]))).items()}


def share_of(welfare: float, best: float) -> float | None:
    """Return welfare as a share of its maximum; None if the maximum is 0."""
    return welfare / best if best > 0 else None


def utilitarian_of_maximum(result: Result) -> float | None:
    """Utilitarian welfare as a share of its maximum over allocations and outside options, 0 to 1.

    The paper divides the mean by the mean maximum instead:
    :func:`~cheaptalk.games.item_bargaining.maxima.ratio_of_means`.
    """
    return share_of(utilitarian_welfare(result), best_of(result.instance)["utilitarian"])


def utilitarian_of_allocated(result: Result) -> float | None:
    """Utilitarian welfare as a share of its maximum over allocations only, which it can exceed."""
    return share_of(utilitarian_welfare(result), best_of(result.instance)["utilitarian_allocated"])


def nash_of_maximum(result: Result) -> float | None:
    """Nash welfare as a share of its maximum over allocations and outside options, in [0, 1]."""
    return share_of(nash_welfare(result), best_of(result.instance)["nash"])


def nash_of_allocated(result: Result) -> float | None:
    """Nash welfare as a share of its maximum over allocations only, which it can exceed."""
    return share_of(nash_welfare(result), best_of(result.instance)["nash_allocated"])


def nash_plus_of_maximum(result: Result) -> float | None:
    """Nash welfare of advantages as a share of its maximum in the instance, in [0, 1].

    None if no allocation gives both players more than their outside options.
    """
    return share_of(nash_welfare_plus(result), best_of(result.instance)["nash_plus"])


def opposition(result: Result) -> float:
    """The level of conflict in the instance, 0 to 2 ** 0.5 (Smithline et al. 2025, appendix J)."""
    return best_of(result.instance)["opposition"]


def envy_free_up_to_one(bundle: Bundle, rival_bundle: Bundle, values: tuple[int, ...]) -> bool:
    """Return whether a bundle is envy-free up to one item of the rival's bundle.

    v * a_rival - v * a_own <= the maximum v_k over the kinds k in the rival's bundle.

    >>> envy_free_up_to_one((0, 0, 1), (7, 4, 0), (5, 50, 5))
    False
    """
    rival_values = [value for value, count in zip(values, rival_bundle, strict=True) if count]
    return worth(rival_bundle, values) - worth(bundle, values) <= max(rival_values, default=0)


def ef1(result: Result) -> float | None:
    """1 if an agreement is envy-free up to one item, else 0; None if there is no agreement."""
    outcome: Settlement = result.outcome
    if outcome.bundles is None:
        return None
    pairs = zip((outcome.bundles, outcome.bundles[::-1]), result.instance.values, strict=True)
    return float(all(envy_free_up_to_one(*bundles, values) for bundles, values in pairs))


def agreement(result: Result) -> float:
    """1 if an offer was accepted, else 0."""
    return float(result.outcome.ended == "accept")


def invalid_walk(result: Result) -> float:
    """1 if the match ended because of an invalid answer, which counts as walking away, else 0."""
    return float(result.outcome.ended == "invalid")


def rounds_played(result: Result) -> float:
    """The round in which the match ended."""
    return float(result.outcome.round)


def mistakes(result: Result) -> float:
    """The total number of mistakes M1 to M5 by both players (Smithline et al. 2025, appendix B)."""
    return float(sum(mistake(turn) for turn in turns(result) for mistake in MISTAKES))


def own_mistakes(result: Result, player: int) -> float:
    """The number of the player's mistakes M1 to M5 (Smithline et al. 2025, appendix B)."""
    return float(sum(mistake(turn) for turn in turns_of(result, player) for mistake in MISTAKES))


def turns_of(result: Result, player: int) -> Iterator[Turn]:
    """Return the turns of one player."""
    return (turn for turn in turns(result) if turn.player == player)


def utility_given(result: Result, player: int) -> float | None:
    """The mean value, to the player, of the bundles that it offers; None without offers."""
    worths = given_away(result, player)
    return sum(worths) / len(worths) if worths else None


def concession(result: Result, player: int) -> float | None:
    """How much more the last offer gives away than the first; None without two offers.

    Bundles are valued at the player's own values.
    """
    worths = given_away(result, player)
    return float(worths[-1] - worths[0]) if len(worths) > 1 else None


def given_away(result: Result, player: int) -> list[int]:
    """Return the value to a player of each bundle that it offers to its rival."""
    return [
        worth(turn.given, turn.values)
        for turn in turns_of(result, player)
        if turn.given is not None
    ]


def bad_acceptance_by_turn(result: Result, player: int) -> float | None:
    """The share of received offers that the player accepts despite a better outside option.

    None without offers (appendix I).
    """
    received = [turn for turn in turns_of(result, player) if turn.offered is not None]
    return sum(map(accepted_too_little, received)) / len(received) if received else None


def bad_acceptance(result: Result, player: int) -> float:
    """1 if the player ever accepted less than its outside option, else 0 (appendix I)."""
    return float(any(map(accepted_too_little, turns_of(result, player))))


def bad_offer_accepted(result: Result, player: int) -> float | None:
    """The share of offers worth less than the outside option that the player accepts.

    None without such offers. In the paper's table 12, the strategy soft accepts 100 %.
    """
    low = [
        turn
        for turn in turns_of(result, player)
        if turn.table is not None and turn.table < turn.outside
    ]
    return sum(map(accepted_too_little, low)) / len(low) if low else None


def false_holdings_stated(result: Result, player: int) -> float | None:
    """1 if all holdings that the player states when it accepts are wrong, else 0.

    None without an acceptance, or if no holdings are stated (hallucination, section 6.4).
    """
    verdicts = [false_holdings(turn) for turn in turns_of(result, player)]
    return next((float(verdict) for verdict in verdicts if verdict is not None), None)


def counted(mistake: Callable[[Turn], bool]) -> Callable[[Result], float]:
    """Return a metric that counts how often both players make one kind of mistake."""

    def count(result: Result) -> float:
        return float(sum(map(mistake, turns(result))))

    count.__doc__ = f"{mistake.__doc__} Count per match, both players together."
    return count


def per_player(
    metric: Callable[[Result, int], float | None], unit: str, bounds: tuple[float, float] = COUNT
) -> Iterator[Metric]:
    """Yield a copy of a metric for each of the two players."""
    for player, seat in enumerate(SEATS):

        def measured(result: Result, player: int = player) -> float | None:
            return metric(result, player)

        meaning = metric.__doc__ or ""
        measured.__doc__ = f"Player {player + 1}: {meaning[:1].lower()}{meaning[1:]}"
        yield Metric(f"{metric.__name__}_{seat}", measured, unit=unit, bounds=bounds)


def metrics_of(unit: str, *functions: Any, bounds: tuple[float, float] = COUNT) -> Iterator[Metric]:
    """Return one metric for each function, with the function's name."""
    return (Metric(function.__name__, function, unit=unit, bounds=bounds) for function in functions)


OF_MAXIMUM = "share of the instance's maximum"
METRICS = (
    *metrics_of("share of matches", agreement, bounds=SHARE),
    *metrics_of("points", utilitarian_welfare, nash_welfare),
    Metric("nash_welfare_plus", nash_welfare_plus, nash_welfare_plus_discounted, "points", COUNT),
    *metrics_of("share of agreements", ef1, bounds=SHARE),
    Metric(
        "utilitarian_of_maximum",
        utilitarian_of_maximum,
        utilitarian_of_allocated,
        OF_MAXIMUM,
        COUNT,
    ),
    *metrics_of(OF_MAXIMUM, utilitarian_of_allocated),
    *metrics_of(OF_MAXIMUM, nash_of_maximum, bounds=SHARE),
    *metrics_of(OF_MAXIMUM, nash_of_allocated),
    *metrics_of(OF_MAXIMUM, nash_plus_of_maximum, bounds=SHARE),
    *metrics_of("rounds_played", rounds_played),
    *metrics_of(
        "points",
        utilitarian_welfare_undiscounted,
        nash_welfare_undiscounted,
        nash_welfare_plus_discounted,
        nash_welfare_plus_undiscounted,
    ),
    *metrics_of("distance", opposition),
    *metrics_of("share of matches", invalid_walk, bounds=SHARE),
    *metrics_of("times a match", mistakes),
    *(
        Metric(mistake.__name__, counted(mistake), unit="times a match", bounds=COUNT)
        for mistake in MISTAKES
    ),
    *per_player(own_mistakes, "times a match"),
    *per_player(bad_acceptance, "share of matches", SHARE),
    *per_player(bad_acceptance_by_turn, "share of turns", SHARE),
    *per_player(bad_offer_accepted, "share of low offers", SHARE),
    *per_player(utility_given, "points"),
    *per_player(concession, "points", (-math.inf, math.inf)),
    *per_player(false_holdings_stated, "share of acceptances", SHARE),
)


def turns_by_round(result: Result) -> Iterator[tuple[int, str, Turn, int]]:
    """Yield (round, seat, turn, value of all items to the player) for every turn."""
    seats = tuple(SEATS)
    for number, turn in enumerate(turns(result)):
        yield number // 2 + 1, seats[turn.player], turn, worth(turn.quantities, turn.values)


def demand(result: Result) -> Iterator[Point]:
    """The share of the total value that a player's offer would keep for the player, in [0, 1].

    The mean by round is the player's concession curve.
    """
    for number, seat, turn, total in turns_by_round(result):
        if turn.kept is not None:
            yield Point(number, seat, share_of(turn.kept, total))


def offered(result: Result) -> Iterator[Point]:
    """The offer's value to the other player, as a share of all items' value, in [0, 1]."""
    for number, seat, turn, _ in turns_by_round(result):
        if turn.given is not None:
            values = result.instance.values[1 - turn.player]
            total = worth(turn.quantities, values)
            yield Point(number, seat, share_of(worth(turn.given, values), total))


SERIES = tuple(
    Series(series.__name__, series, unit="share of the maximum", bounds=SHARE)
    for series in (demand, offered)
)


INDEX = {seat: index for index, seat in enumerate(SEATS)}


class ItemBargainingAssessment(Assessment):
    """The assessment of item bargaining."""

    def attainable(self, game: ItemBargaining, instance: Pool, seat: str) -> float:
        """Return the value of all items."""
        return float(sum(map(mul, instance.quantities, instance.values[INDEX[seat]])))

    def offered(self, result: Result, seat: str, answer: Given) -> float | None:
        bundle = answer.action.offer if isinstance(answer.action, Move) else None
        if bundle is None:
            return None
        pool: Pool = result.instance
        own = rest(pool.quantities, bundle) if answer.actor == seat else bundle
        return float(worth(own, pool.values[INDEX[seat]]))

    def accepts(self, action: Action | None) -> bool:
        """Return whether an action accepts the offer; all others reject it."""
        return isinstance(action, Move) and action.action == "ACCEPT"

    def mistakes(self, result: Result, seat: str) -> Mistakes:
        """Return the number of mistakes M2 and M4 (losses), and of M1, M3 and M5."""
        index = INDEX[seat]
        losses = sum(
            asked_too_little(turn) or accepted_too_little(turn) for turn in turns_of(result, index)
        )
        return Mistakes(losses, int(own_mistakes(result, index)) - losses)
