"""Checks of strategies: strategies play legally and depend only on their observations."""

from collections.abc import Iterator

from cheaptalk.conformance.declarations import measured
from cheaptalk.conformance.matches import (
    Broken,
    State,
    configuration_check,
    in_bounds,
    no_error,
    played,
    same,
)
from cheaptalk.rules import Game, GameSpec, Strategy


@configuration_check
def check_strategies(game_spec: GameSpec, game: Game, seed: str) -> None:
    """Every strategy plays its roles legally to the end, and payoffs stay within their bounds.

    Each strategy plays all seats of its roles, then only the first of these seats; all other seats
    play at random. In the default configuration, metrics must stay within their bounds, too.
    """
    for strategy, seats in seatings(game_spec, game):
        if not strategy.meaning:
            raise Broken(f'strategy "{strategy.name}" has no docstring')
        if not set(strategy.roles) <= set(game.roles):
            raise Broken(f'strategy "{strategy.name}" is for roles that are not declared')
        with no_error(f'playing strategy "{strategy.name}" as {", ".join(seats)}'):
            match = played(game_spec, game, seed, dict.fromkeys(seats, strategy))
            in_bounds(match)
            if game == game_spec.rules():
                measured(game_spec, match)


@configuration_check
def check_memory(game_spec: GameSpec, game: Game, seed: str) -> None:
    """A strategy replays a match identically after it has played other matches.

    The check detects strategies that keep state between matches or use their own random generator.
    """
    for strategy, seats in seatings(game_spec, game, single=False):
        players = dict.fromkeys(seats, strategy)
        first, _, second = (
            State.of(played(game_spec, game, match_seed, players))
            for match_seed in (seed, f"{seed}+", seed)
        )
        same(first, second, f'playing strategy "{strategy.name}" again after another match')


def seatings(
    game_spec: GameSpec, game: Game, *, single: bool = True
) -> Iterator[tuple[Strategy, tuple[str, ...]]]:
    """Yield each strategy with all seats that it can fill and, if ``single``, with the first."""
    for strategy in game_spec.strategies.values():
        seats = tuple(seat for seat, role in game.seats.items() if role in strategy.roles)
        for filled in dict.fromkeys((seats, seats[:1])) if single else (seats,):
            yield strategy, filled
