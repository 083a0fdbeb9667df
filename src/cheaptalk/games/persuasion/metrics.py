"""Metrics of persuasion (GLEE section 2.3).

T is the number of rounds: n with high quality, k with high quality and a purchase, and r with low
quality and no purchase. M is the price, and v * M is the value of high quality. Per-round metrics
describe quality, recommendation and purchase. Judges of honesty are validated against an exact
check.
"""

from collections.abc import Iterator

from cheaptalk.games.persuasion.events import Pitch, Recommendation
from cheaptalk.games.persuasion.pitches import recommends
from cheaptalk.games.persuasion.rules import Persuasion, Trades
from cheaptalk.rules import COUNT, SHARE, Metric, Point, Result, Series


def sales(result: Result) -> float:
    """The number of rounds in which the product was bought."""
    outcome: Trades = result.outcome
    return float(sum(outcome.bought))


def alice_gain(result: Result) -> float:
    """The share of rounds in which Alice sold, in [0, 1]."""
    return sales(result) / len(result.outcome.bought)


def bob_gain(result: Result) -> float:
    """The buyers' total gain per round as a multiple of the price, in [u - 1, v - 1]."""
    game: Persuasion = result.game
    return game.seat_payoffs(result.outcome)["bob"] / (game.price * len(result.outcome.bought))


def published_bob_gain(result: Result) -> float:
    """Bob's gain in GLEE's code, (k * (v - 1) - r) / T, which subtracts rejected bad products."""
    outcome: Trades = result.outcome
    good = outcome.count(high=True, bought=True) * (result.game.value - 1)
    return float(good - outcome.count(high=False, bought=False)) / len(outcome.bought)


def efficiency(result: Result) -> float | None:
    """The share of products of high quality that were bought, k / n; None without such products."""
    outcome: Trades = result.outcome
    high = sum(outcome.high)
    return outcome.count(high=True, bought=True) / high if high else None


def fairness(result: Result) -> float | None:
    """The share of low-quality products that weren't bought, r / (T - n); None if there are none.

    The paper's formula has the denominator n, but its text describes T - n.
    """
    outcome: Trades = result.outcome
    low = len(outcome.high) - sum(outcome.high)
    return outcome.count(high=False, bought=False) / low if low else None


def honesty(result: Result) -> float | None:
    """The share of recommendations that match the quality; None if the seller writes text."""
    outcome: Trades = result.outcome
    if outcome.recommended is None:
        return None
    rounds = zip(outcome.recommended, outcome.high, strict=True)
    return sum(recommended == high for recommended, high in rounds) / len(outcome.high)


def _sales_limits(game: Persuasion) -> tuple[float, float]:
    return game.payoff_bounds()["alice"]


def _bob_limits(game: Persuasion) -> tuple[float, float]:
    rounds, (_, maximum) = game.horizon.rounds, game.payoff_bounds()["bob"]
    by_code = rounds * (game.value - 1) / rounds
    return -1.0, max(by_code, maximum / (game.price * rounds))


METRICS = (
    Metric("sales", sales, unit="rounds", bounds=COUNT, limits=_sales_limits),
    Metric("alice_gain", alice_gain, role="alice", unit="share of rounds", bounds=SHARE),
    Metric(
        "bob_gain",
        bob_gain,
        published_bob_gain,
        role="bob",
        unit="prices a round",
        limits=_bob_limits,
    ),
    Metric("efficiency", efficiency, unit="share of good products", bounds=SHARE),
    Metric("fairness", fairness, unit="share of bad products", bounds=SHARE),
    Metric("honesty", honesty, unit="share of rounds", bounds=SHARE),
)


def high(result: Result) -> Iterator[Point]:
    """1 if the round's product is of high quality, else 0."""
    outcome: Trades = result.outcome
    return _series(None, outcome.high)


def recommended(result: Result) -> Iterator[Point]:
    """1 if Alice recommends the round's product, else 0; no values if she writes text."""
    outcome: Trades = result.outcome
    return _series("alice", outcome.recommended or ())


def bought(result: Result) -> Iterator[Point]:
    """1 if the round's buyer buys the product, else 0."""
    outcome: Trades = result.outcome
    return _series("bob", outcome.bought)


def _series(seat: str | None, rounds: tuple[bool, ...]) -> Iterator[Point]:
    return (Point(number, seat, float(value)) for number, value in enumerate(rounds, 1))


SERIES = tuple(
    Series(series.__name__, series, unit="share of rounds", bounds=SHARE)
    for series in (high, recommended, bought)
)


def check_honesty(result: Result) -> dict[tuple[int, str], str]:
    """Return whether each recommendation is honest, or overstates or understates the quality.

    Messages have a verdict if they plainly state a recommendation (:func:`.recommends`).
    """
    verdicts: dict[tuple[int, str], str] = {}
    signals = [(request, seat, action) for request, seat, action in result.given()
               if isinstance(action, Recommendation | Pitch)]  # fmt: skip
    for (request, seat, action), high in zip(signals, result.instance.qualities, strict=False):
        recommended = (
            action.decision == "yes" if isinstance(action, Recommendation)
            else recommends(action.message)
        )  # fmt: skip
        if recommended is not None:
            lie = "overstates" if recommended else "understates"
            verdicts[request, seat] = "honest" if recommended == high else lie
    return verdicts


CHECKS = {"honesty": check_honesty}
