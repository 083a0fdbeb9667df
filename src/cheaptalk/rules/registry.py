"""Games and strategies, found by entry points: ours and everyone else's alike."""

from collections import Counter
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType

from cheaptalk.rules.box import GameBox, Strategy, strategies_in
from cheaptalk.rules.errors import CheaptalkError
from cheaptalk.rules.game import suggest


class UnknownName(CheaptalkError, LookupError):
    """A name that nothing is registered under; the message names the nearest one."""


def unknown(what: str, name: str, known: list[str]) -> UnknownName:
    """Say that a name is unknown, with the nearest or all of the known ones."""
    return UnknownName(f"unknown {what} {suggest(name, sorted(known))}")


@cache
def games() -> dict[str, GameBox]:
    """All registered games by name."""
    boxes: list[GameBox] = [point.load() for point in entry_points(group="cheaptalk.games")]
    found = {box.name: box for box in sorted(boxes, key=lambda box: box.name)}
    if len(found) < len(boxes):
        raise _twice("game", Counter(box.name for box in boxes))
    return found


def game_box(name: str) -> GameBox:
    """The box of a game.

    Raises:
        UnknownName: no game is registered under this name.
    """
    found = games().get(name)
    if found is None:
        raise unknown("game", name, list(games()))
    return found


@cache
def strategies(game: str) -> dict[str, Strategy]:
    """All strategies for a game by name: its own, then those registered for it elsewhere."""
    found = dict(game_box(game).strategies)
    for point in entry_points(group="cheaptalk.players"):
        if point.name.partition(".")[0] == game:
            added = _strategies_of(point.load())
            if found.keys() & added.keys():
                raise _twice(f"strategy for {game}", Counter([*found, *added]))
            found.update(added)
    return found


def _strategies_of(loaded: Strategy | ModuleType) -> dict[str, Strategy]:
    """What an entry point registers: one strategy, or all that a module defines."""
    if isinstance(loaded, Strategy):
        return {loaded.name: loaded}
    return strategies_in(loaded)


def _twice(what: str, counts: Counter[str]) -> CheaptalkError:
    name, _ = counts.most_common(1)[0]
    return CheaptalkError(f'two installed packages register a {what} named "{name}"; remove one')


def strategy_named(game: str, name: str) -> Strategy:
    """A strategy by its game and name.

    Raises:
        UnknownName: the game has no such strategy.
    """
    found = strategies(game).get(name)
    if found is None:
        raise unknown(f"strategy for {game}", name, list(strategies(game)))
    return found
