"""Functions that play a match with scripted or asynchronous players, or replay a recorded match."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial

from pydantic import ValidationError

from cheaptalk.rules.actions import Action, explain
from cheaptalk.rules.errors import CheaptalkError, describe, shown
from cheaptalk.rules.game import Instance, suggest
from cheaptalk.rules.registry import GameLike, game_from
from cheaptalk.rules.steps import Ask
from cheaptalk.rules.table import Decide, DecisionRequest, IllegalAction, Table


class StrategyError(CheaptalkError):
    """A scripted strategy raised an error or returned an illegal action."""

    @classmethod
    def illegal(cls, request: DecisionRequest, decide: Decide, reason: str) -> "StrategyError":
        where = f"in request {request.number}, by {_name(decide)}"
        return cls(f'"{request.actor}" answered illegally {where}: {reason}')


class ReplayMismatch(CheaptalkError):
    """Recorded answers do not fit the rules that replay them."""


def play(game: GameLike, instance: Instance, seed: str, players: Mapping[str, Decide]) -> Table:
    """Play a match between scripted players to its end.

    Args:
        players: the players by seat or by role.

    Raises:
        StrategyError: a strategy failed or answered illegally.
        CheaptalkError: a seat has no player, a player is not a function, or a name in ``players``
            is not a seat or role.
        RulesError: the game's code fails or breaks the contract of :class:`Game`.
    """
    return play_on(Table(game_from(game), instance, seed), players)


def play_on(table: Table, players: Mapping[str, Decide]) -> Table:
    """Continue a match with scripted players to its end; see :func:`play`."""
    deciders = _seated(table, players)
    while table.pending:
        for actor in table.pending:
            request = table.request(actor)
            action = decided(request, deciders[actor])
            try:
                table.answer(actor, action)
            except IllegalAction as illegal:
                raise StrategyError.illegal(request, deciders[actor], str(illegal)) from illegal
    return table


def _seated(table: Table, players: Mapping[str, Decide]) -> dict[str, Decide]:
    game, seats = table.game, table.game.seats
    for name in players:
        if name not in seats and name not in game.roles:
            known = list(dict.fromkeys([*seats, *game.roles]))
            raise CheaptalkError(f"{game.name} has no seat or role {suggest(str(name), known)}")
    return {actor.name: _player(players, actor.seat, seats[actor.seat]) for actor in table.seats}


def _player(players: Mapping[str, Decide], seat: str, role: str) -> Decide:
    player = players.get(seat, players.get(role))
    if player is None:
        raise CheaptalkError(
            f'"{seat}" has no player; pass a function for it, such as one of '
            f"ct.get_game(NAME).strategies, as in players={{{shown(seat)}: ...}}"
        )
    if not callable(player):
        raise CheaptalkError(
            f'the player of "{seat}" must be a function, such as one of '
            f"ct.get_game(NAME).strategies, not {shown(player)}"
        )
    return player


def decided(request: DecisionRequest, decide: Decide) -> Action:
    """Return a strategy's action, legal or not; raise a :class:`StrategyError` if it fails."""
    try:
        return decide(request)
    except Exception as error:
        raise StrategyError(
            f'"{request.actor}" failed in request {request.number}, by {_name(decide)}: '
            f"{describe(error)}"
        ) from error


def _name(decide: Decide) -> str:
    """Return a strategy's name, without its settings."""
    function = decide.func if isinstance(decide, partial) else decide
    name = getattr(function, "name", None) or getattr(function, "__name__", None)
    return str(name or type(function).__name__)


async def play_async(
    table: Table,
    answer: Callable[[DecisionRequest], Awaitable[Action | None]],
    watch: Callable[[Table], None] = lambda _: None,
) -> Table:
    """Play a match to its end with players that take time, such as models and people.

    Simultaneous requests are made concurrently.

    Args:
        answer: returns the action, or None if the actor finally failed to answer. If a call raises
            an error, all concurrent requests are completed before the first error is raised.
        watch: called at the beginning and after every answer.
    """

    async def settle(ask: Ask) -> None:
        action = await answer(table.request(ask.actor))
        if action is None:
            table.forfeit(ask.actor)
        else:
            table.answer(ask.actor, action)
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
    game: GameLike,
    instance: Instance,
    seed: str,
    answers: Iterable[tuple[int, str, Mapping[str, object] | None]],
) -> Table:
    """Replay recorded answers, and return the match with its next request open.

    Args:
        answers: request number, actor and the action's fields (None: forfeited), in order.

    Raises:
        ReplayMismatch: the rules do not make a recorded request, or refuse its answer.
    """
    table = Table(game_from(game), instance, seed)
    for request, actor, fields in answers:
        give(table, request, actor, fields)
    return table


def give(table: Table, request: int, actor: str, fields: Mapping[str, object] | None) -> None:
    """Replay one recorded answer; ``fields`` is None if the actor forfeited."""
    if request != table.requests or actor not in table.pending:
        raise ReplayMismatch(
            f'recorded answer {request} of "{actor}" matches no open request: '
            f"request {table.requests} is to {', '.join(table.pending) or 'no actor'}"
        )
    if fields is None:
        table.forfeit(actor)
        return
    try:
        table.answer(actor, table.pending[actor].action.model_validate(fields))
    except ValueError as error:
        reason = explain(error) if isinstance(error, ValidationError) else str(error)
        message = f'recorded answer {request} of "{actor}" is refused: {reason}'
        raise ReplayMismatch(message) from error
