"""Laws of strategies: they play legally to the end, and nothing but what they see moves them."""

from collections.abc import Iterator

from cheaptalk.conformance.declarations import measured
from cheaptalk.conformance.matches import Broken, State, in_bounds, law, no_error, played, same
from cheaptalk.rules import Game, GameBox, Strategy


@law
def check_strategies(box: GameBox, game: Game, seed: str) -> None:
    """Every strategy plays its roles legally to the end, and payoffs stay in their bounds.

    Each strategy sits in all places of its roles, then in the first of them alone, with random
    play in the others. With the defaults, measures stay in their bounds, too.
    """
    for strategy, places in seatings(box, game):
        if not strategy.meaning:
            raise Broken(f'strategy "{strategy.name}" does not say what it does')
        if not set(strategy.roles) <= set(game.roles):
            raise Broken(f'strategy "{strategy.name}" is for roles that are not declared')
        with no_error(f'playing strategy "{strategy.name}" as {", ".join(places)}'):
            match = played(box, game, seed, dict.fromkeys(places, strategy))
            in_bounds(match)
            if game == box.rules():
                measured(box, match)


@law
def check_memory(box: GameBox, game: Game, seed: str) -> None:
    """A strategy plays a match again as it did, whatever it played in between.

    A random generator of its own, and whatever it keeps from one match to the next, would show.
    """
    for strategy, places in seatings(box, game, alone=False):
        players = dict.fromkeys(places, strategy)
        once, _, again = (played(box, game, one, players) for one in (seed, f"{seed}+", seed))
        same(
            State.of(once), State.of(again),
            f'playing strategy "{strategy.name}" again after another match',
        )  # fmt: skip


def seatings(
    box: GameBox, game: Game, *, alone: bool = True
) -> Iterator[tuple[Strategy, tuple[str, ...]]]:
    """Each strategy in all places of its roles and, if wanted, in the first of them alone."""
    for strategy in box.strategies.values():
        places = tuple(place for place, role in game.places.items() if role in strategy.roles)
        for some in dict.fromkeys((places, places[:1])) if alone else (places,):
            yield strategy, some
