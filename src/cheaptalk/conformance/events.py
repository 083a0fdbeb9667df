"""The law of events: whatever a game declares happens in some match."""

from collections.abc import Iterator, Sequence

from cheaptalk.conformance.matches import Broken, box_law, finished, new_table, played, variants
from cheaptalk.conformance.settings import edge_settings, played_some
from cheaptalk.conformance.strategies import seatings
from cheaptalk.rules import GameBox, Table

MATCHES = 20
"""Matches for each seed and setting that are played to see an event, at the most."""


@box_law
def check_events(box: GameBox, seeds: Sequence[str]) -> None:
    """Every declared event and action happens in some match.

    Matches are played at random, by every strategy and with forfeits, in every variant and at
    the edges of number parameters, until all have happened.
    """
    missing = {*box.rules.events, *box.rules.actions}
    for match in _matches(box, tuple(seeds)):
        for heard in match.heard.values():
            for event, action in heard:
                missing -= {type(event), type(action)}
        if not missing:
            return
    names = ", ".join(sorted(kind.__name__ for kind in missing))
    raise Broken(
        f"{names} never came in any match by random play, by strategies or with forfeits: leave it "
        "out of events and actions, or let a strategy bring it about"
    )


def _matches(box: GameBox, seeds: tuple[str, ...]) -> Iterator[Table]:
    for number in range(MATCHES):
        for seed in (f"{seed}/{number}" for seed in seeds):
            for game in variants(box).values():
                match = played(box, game, seed)
                yield match
                for strategy, places in seatings(box, game):
                    yield played(box, game, seed, dict.fromkeys(places, strategy))
                for count in range(len(match.given)) if number == 0 else ():
                    yield _forfeited(box, match, count)
                for edge in edge_settings(game).values():
                    yield played_some(box, edge, seed)


def _forfeited(box: GameBox, match: Table, count: int) -> Table:
    """The match again, where the answer after so many is a forfeit."""
    table = new_table(match.game, match.chance.seed)
    for given in match.given[:count]:
        table.answer(given.seat, given.action)
    table.forfeit(match.given[count].seat)
    return finished(box, table)
