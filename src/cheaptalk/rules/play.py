"""Playing a table to its end: at once for scripted seats, asynchronously for the rest, or again
from recorded answers.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial

from pydantic import ValidationError

from cheaptalk.rules.actions import Action, explain
from cheaptalk.rules.errors import CheaptalkError, describe, shown
from cheaptalk.rules.game import Deal, Game, suggest
from cheaptalk.rules.steps import Ask
from cheaptalk.rules.table import Asked, IllegalAction, Table

Decide = Callable[[Asked], Action]
"""A scripted strategy with its settings: from what the seat sees to what it does."""


class StrategyError(CheaptalkError):
    """A scripted strategy raised an error or gave an illegal action: a fault of its code."""

    @classmethod
    def illegal(cls, asked: Asked, decide: Decide, reason: str) -> "StrategyError":
        """The rules refuse what the strategy did."""
        return cls(
            f'"{asked.seat}" answered illegally in request {asked.request}, by {_name(decide)}: '
            f"{reason}"
        )


class ReplayMismatch(CheaptalkError):
    """Recorded answers do not fit the rules that are asked to replay them."""


def play(game: Game, deal: Deal, seed: str, players: Mapping[str, Decide]) -> Table:
    """Play a match between scripted players, given by place or by role, to its end.

    Raises:
        StrategyError: a strategy failed or answered illegally.
        CheaptalkError: a place has no player, or what is no function; or a player has no place.
        RulesError: the game's own code is wrong.
    """
    return play_on(Table(game, deal, seed), players)


def play_on(table: Table, players: Mapping[str, Decide]) -> Table:
    """Let scripted players, given by place or by role, play a table on to its end.

    Raises:
        StrategyError: a strategy failed or answered illegally.
        CheaptalkError: a place has no player, or what is no function; or a player has no place.
        RulesError: the game's own code is wrong.
    """
    seated = _seated(table, players)
    while table.pending:
        for seat in table.pending:
            asked = table.asked(seat)
            action = decided(asked, seated[seat])
            try:
                table.answer(seat, action)
            except IllegalAction as illegal:
                raise StrategyError.illegal(asked, seated[seat], str(illegal)) from illegal
    return table


def _seated(table: Table, players: Mapping[str, Decide]) -> dict[str, Decide]:
    """Who plays each seat; players of places and roles that are not there are refused."""
    game = table.game
    places = game.places
    for name in players:
        if name not in places and name not in game.roles:
            known = list(dict.fromkeys([*places, *game.roles]))
            raise CheaptalkError(f"{game.name} has no place or role {suggest(str(name), known)}")
    return {seat.name: _player(players, seat.place, places[seat.place]) for seat in table.seats}


def _player(players: Mapping[str, Decide], place: str, role: str) -> Decide:
    found = players.get(place, players.get(role))
    if found is None:
        raise CheaptalkError(
            f'nobody plays "{place}": give a function for it, such as one of '
            f"ct.game_box(NAME).strategies, as in players={{{shown(place)}: ...}}"
        )
    if not callable(found):
        raise CheaptalkError(
            f'"{place}" is played by a function, such as one of ct.game_box(NAME).strategies, '
            f"not by {shown(found)}"
        )
    return found


def decided(asked: Asked, decide: Decide) -> Action:
    """What a strategy does; whether it is legal is for the table to say.

    Raises:
        StrategyError: it failed.
    """
    try:
        return decide(asked)
    except Exception as error:
        raise StrategyError(
            f'"{asked.seat}" failed in request {asked.request}, by {_name(decide)}: '
            f"{describe(error)}"
        ) from error


def _name(decide: Decide) -> str:
    """What a strategy is called, whatever its settings."""
    function = decide.func if isinstance(decide, partial) else decide
    name = getattr(function, "name", None) or getattr(function, "__name__", None)
    return str(name or type(function).__name__)


async def play_async(
    table: Table,
    answer: Callable[[Asked], Awaitable[Action | None]],
    watch: Callable[[Table], None] = lambda _: None,
) -> Table:
    """Play a table to its end with answers that take time, asking all open seats at once.

    Args:
        answer: returns None where the seat finally failed to answer. When it raises, the other
            seats asked at the same time are still heard out before the first error is passed on.
        watch: called at the beginning, whenever an answer is given, and at the end.
    """

    async def settle(ask: Ask) -> None:
        action = await answer(table.asked(ask.seat))
        if action is None:
            table.forfeit(ask.seat)
        else:
            table.answer(ask.seat, action)
        watch(table)

    watch(table)
    while not table.over:
        results = await asyncio.gather(
            *(settle(ask) for ask in table.pending.values()), return_exceptions=True
        )
        for result in results:
            if isinstance(result, BaseException):
                raise result
    return table


def replay(
    game: Game, deal: Deal, seed: str, given: Iterable[tuple[int, str, Mapping[str, object] | None]]
) -> Table:
    """Set up a table and give it recorded answers; it then asks exactly the next question.

    Args:
        given: request number, seat and the action's fields (None: forfeited), in the order of
            recording.

    Raises:
        ReplayMismatch: an answer is to a question that these rules do not ask, or one that they
            refuse. Its message says which and why.
    """
    table = Table(game, deal, seed)
    for request, seat, fields in given:
        give(table, request, seat, fields)
    return table


def give(table: Table, request: int, seat: str, fields: Mapping[str, object] | None) -> None:
    """Give a table one recorded answer (None: the seat forfeited).

    Raises:
        ReplayMismatch: it does not fit the open questions.
    """
    if request != table.requests or seat not in table.pending:
        raise ReplayMismatch(
            f'recorded answer {request} of seat "{seat}" has no question: '
            f"at request {table.requests} the rules ask {', '.join(table.pending) or 'nobody'}"
        )
    if fields is None:
        table.forfeit(seat)
        return
    try:
        table.answer(seat, table.pending[seat].action.model_validate(fields))
    except ValueError as error:
        reason = explain(error) if isinstance(error, ValidationError) else str(error)
        raise ReplayMismatch(
            f'recorded answer {request} of seat "{seat}" is refused: {reason}'
        ) from error
