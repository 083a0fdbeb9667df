"""The check of events: every declared event occurs in at least one match."""

from collections.abc import Iterator, Sequence

from cheaptalk.conformance.matches import Broken, finished, new_table, played, spec_check, variants
from cheaptalk.conformance.settings import edge_settings, played_some
from cheaptalk.conformance.strategies import seatings
from cheaptalk.rules import GameSpec, Table

MATCHES = 20
"""Maximum matches for each seed and configuration until every event has occurred."""


@spec_check
def check_events(game_spec: GameSpec, seeds: Sequence[str]) -> None:
    """Every declared event and action occurs in at least one match.

    The matches have random play, every strategy or forfeits, in every variant and at the edges of
    numeric parameters. They end when every event and action has occurred.
    """
    missing = {*game_spec.rules.events, *game_spec.rules.actions}
    for match in _matches(game_spec, tuple(seeds)):
        for heard in match.heard.values():
            for event, action in heard:
                missing -= {type(event), type(action)}
        if not missing:
            return
    names = ", ".join(sorted(kind.__name__ for kind in missing))
    raise Broken(
        f"{names} did not occur in any match of random play, strategies or forfeits; remove it "
        "from events and actions, or add a strategy that causes it"
    )


def _matches(game_spec: GameSpec, seeds: tuple[str, ...]) -> Iterator[Table]:
    for number in range(MATCHES):
        for seed in (f"{seed}/{number}" for seed in seeds):
            for game in variants(game_spec).values():
                match = played(game_spec, game, seed)
                yield match
                for strategy, seats in seatings(game_spec, game):
                    yield played(game_spec, game, seed, dict.fromkeys(seats, strategy))
                for count in range(len(match.given)) if number == 0 else ():
                    yield _forfeited(game_spec, match, count)
                for edge in edge_settings(game).values():
                    yield played_some(game_spec, edge, seed)


def _forfeited(game_spec: GameSpec, match: Table, count: int) -> Table:
    """Return a copy of a match in which the actor forfeits instead of giving answer ``count``."""
    table = new_table(match.game, match.chance.seed)
    for given in match.given[:count]:
        table.answer(given.actor, given.action)
    table.forfeit(match.given[count].actor)
    return finished(game_spec, table)
