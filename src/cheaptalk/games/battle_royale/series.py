"""Battle royale by round, in each of which one player acts: whom it shoots at, and who is left."""

from collections.abc import Iterator

from cheaptalk.games.battle_royale.measures import at_strongest, begun
from cheaptalk.games.rounds import player_number
from cheaptalk.rules import COUNT, SHARE, Point, Result, Series


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


def living(result: Result) -> Iterator[Point]:
    """The players who live when the round is over."""
    for number, (shot, before) in enumerate(begun(result), 1):
        yield Point(number, None, float(len(before) - shot.hit))


SERIES = (
    Series("target", target, unit="number of the player", bounds=COUNT),
    Series("hit", hit, unit="share of shots", bounds=SHARE),
    Series("strongest", strongest, unit="share of rounds", bounds=SHARE),
    Series("living", living, unit="players", bounds=COUNT),
)
