"""Measures of battle royale (GAMA-Bench section 3.3 and appendix E).

With N players and k rounds, in each of which one player acts. Series by round say whom it shoots
at, and who is left.
"""

from collections.abc import Iterator
from math import inf

from cheaptalk.games.battle_royale.rules import Battle, BattleRoyale, Fired
from cheaptalk.games.places import player_number
from cheaptalk.rules import COUNT, PERCENT, SHARE, Measure, Point, Result, Series


def score(result: Result) -> float:
    """The score of GAMA-Bench: 100 / (N * k) * sum of I_ij (S7, as its formula is printed).

    I_ij is 1 if player i, whose turn it is in round j, shoots at the best shot among the other
    living players, else 0; so a miss on purpose never counts. As only one player acts in a round,
    the formula cannot exceed 100 / N. The published numbers divide by k alone.
    """
    game: BattleRoyale = result.game
    return published_score(result) / len(game.hit_rates)


def published_score(result: Result) -> float:
    """As the published code has it, 0 to 100: the share of rounds, 100 / k * sum of I_ij."""
    right = [at_strongest(result.game, shot, living) for shot, living in begun(result)]
    return 100 * sum(right) / len(right)


def at_strongest(game: BattleRoyale, shot: Fired, living: set[str]) -> bool:
    """Whether a shot is at the best shot among the others of those who live (I_ij)."""
    rates = dict(zip(game.places, game.hit_rates, strict=True))
    best = max(rates[seat] for seat in living if seat != shot.shooter)
    return shot.target in living - {shot.shooter} and rates[shot.target] == best


def begun(result: Result) -> Iterator[tuple[Fired, set[str]]]:
    """Every round with those who lived when it began."""
    living = set(result.game.places)
    outcome: Battle = result.outcome
    for shot in outcome.shots:
        yield shot, set(living)
        if shot.hit and shot.target is not None:
            living.remove(shot.target)


def rounds(result: Result) -> float:
    """The rounds played (k)."""
    return float(len(result.outcome.shots))


def survivors(result: Result) -> float:
    """The players left at the end; 1 where there is a winner."""
    return float(len(result.outcome.living))


def misses_on_purpose(result: Result) -> float:
    """The share of rounds in which the player missed on purpose, in [0, 1]."""
    outcome: Battle = result.outcome
    return sum(shot.target is None for shot in outcome.shots) / len(outcome.shots)


def _rounds(game: BattleRoyale) -> tuple[float, float]:
    return 1.0, float(game.horizon.rounds) if game.horizon else inf


def _survivors(game: BattleRoyale) -> tuple[float, float]:
    return 1.0, float(len(game.hit_rates))


MEASURES = (
    Measure("score", score, published_score, unit="0 to 100", bounds=PERCENT),
    Measure("rounds", rounds, unit="rounds", bounds=COUNT, limits=_rounds),
    Measure("survivors", survivors, unit="players", bounds=COUNT, limits=_survivors),
    Measure("misses_on_purpose", misses_on_purpose, unit="share of rounds", bounds=SHARE),
)


def target(result: Result) -> Iterator[Point]:
    """The number of the player shot at, from 1; none where the shooter misses on purpose."""
    for number, shot in enumerate(result.outcome.shots, 1):
        at = None if shot.target is None else float(player_number(shot.target))
        yield Point(number, shot.shooter, at)


def hit(result: Result) -> Iterator[Point]:
    """1 if the shot hits, else 0; none where the shooter misses on purpose."""
    for number, shot in enumerate(result.outcome.shots, 1):
        yield Point(number, shot.shooter, None if shot.target is None else float(shot.hit))


def strongest(result: Result) -> Iterator[Point]:
    """1 if the shot is at the best shot among the others who live, else 0 (I_ij of the score)."""
    for number, (shot, living) in enumerate(begun(result), 1):
        yield Point(number, shot.shooter, float(at_strongest(result.game, shot, living)))


def living_by_round(result: Result) -> Iterator[Point]:
    """The players who live when the round is over."""
    for number, (shot, before) in enumerate(begun(result), 1):
        yield Point(number, None, float(len(before) - shot.hit))


SERIES = (
    Series("target", target, unit="number of the player", bounds=COUNT),
    Series("hit", hit, unit="share of shots", bounds=SHARE),
    Series("strongest", strongest, unit="share of rounds", bounds=SHARE),
    Series("living", living_by_round, unit="players", bounds=COUNT),
)
