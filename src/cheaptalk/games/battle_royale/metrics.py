"""Metrics of battle royale (GAMA-Bench section 3.3 and appendix E).

N is the number of players and k is the number of rounds, with one shot in each round. Per-round
metrics describe the targets and the living players.
"""

from collections.abc import Iterator
from math import inf

from cheaptalk.games.battle_royale.rules import Battle, BattleRoyale, Fired
from cheaptalk.games.seat_names import player_number
from cheaptalk.rules import COUNT, PERCENT, SHARE, Metric, Point, Result, Series


def score(result: Result) -> float:
    """A score for shooting at the most accurate opponent, by the formula in GAMA-Bench (S7).

    100 / (N * k) * sum of I_ij, where I_ij is 1 if player i, who acts in round j, shoots at the
    best shot among the other living players, else 0 (also for a deliberate miss). The score is at
    most 100 / N, as only one player acts in a round. The published numbers are divided by k only.
    """
    return published_score(result) / len(result.game.hit_rates)


def published_score(result: Result) -> float:
    """The percentage of rounds with a shot at the most accurate opponent (GAMA-Bench's code)."""
    correct = [targets_strongest(result.game, shot, living) for shot, living in begun(result)]
    return 100 * sum(correct) / len(correct)


def targets_strongest(game: BattleRoyale, shot: Fired, living: set[str]) -> bool:
    """Return whether a player shoots at the most accurate of the other living players."""
    rates = dict(zip(game.seats, game.hit_rates, strict=True))
    best = max(rates[seat] for seat in living if seat != shot.shooter)
    return shot.target in living - {shot.shooter} and rates[shot.target] == best


def begun(result: Result) -> Iterator[tuple[Fired, set[str]]]:
    """Yield every shot with the players who were alive before it."""
    living = set(result.game.seats)
    outcome: Battle = result.outcome
    for shot in outcome.shots:
        yield shot, set(living)
        if shot.hit and shot.target is not None:
            living.remove(shot.target)


def rounds_played(result: Result) -> float:
    """The number of rounds played."""
    return float(len(result.outcome.shots))


def survivors(result: Result) -> float:
    """The number of players left at the end; 1 if there is a winner."""
    return float(len(result.outcome.living))


def misses_on_purpose(result: Result) -> float:
    """The share of rounds in which the player missed on purpose, in [0, 1]."""
    outcome: Battle = result.outcome
    return sum(shot.target is None for shot in outcome.shots) / len(outcome.shots)


def _rounds(game: BattleRoyale) -> tuple[float, float]:
    return 1.0, float(game.horizon.rounds) if game.horizon else inf


def _survivors(game: BattleRoyale) -> tuple[float, float]:
    return 1.0, float(len(game.hit_rates))


METRICS = (
    Metric("score", score, published_score, unit="0 to 100", bounds=PERCENT),
    Metric("rounds_played", rounds_played, unit="rounds", bounds=COUNT, limits=_rounds),
    Metric("survivors", survivors, unit="players", bounds=COUNT, limits=_survivors),
    Metric("misses_on_purpose", misses_on_purpose, unit="share of rounds", bounds=SHARE),
)


def target(result: Result) -> Iterator[Point]:
    """The number of the targeted player, from 1; no value for a deliberate miss."""
    for number, shot in enumerate(result.outcome.shots, 1):
        number_shot = None if shot.target is None else float(player_number(shot.target))
        yield Point(number, shot.shooter, number_shot)


def hit(result: Result) -> Iterator[Point]:
    """1 if the shot hits, else 0; no value for a deliberate miss."""
    for number, shot in enumerate(result.outcome.shots, 1):
        yield Point(number, shot.shooter, None if shot.target is None else float(shot.hit))


def strongest(result: Result) -> Iterator[Point]:
    """1 if the target is the most accurate of the other living players, else 0."""
    for number, (shot, living) in enumerate(begun(result), 1):
        yield Point(number, shot.shooter, float(targets_strongest(result.game, shot, living)))


def survivors_by_round(result: Result) -> Iterator[Point]:
    """The number of living players after the round."""
    for number, (shot, living) in enumerate(begun(result), 1):
        yield Point(number, None, float(len(living) - shot.hit))


SERIES = (
    Series("target", target, unit="number of the player", bounds=COUNT),
    Series("hit", hit, unit="share of shots", bounds=SHARE),
    Series("strongest", strongest, unit="share of rounds", bounds=SHARE),
    Series("survivors", survivors_by_round, unit="players", bounds=COUNT),
)
