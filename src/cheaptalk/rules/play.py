"""Functions that play a match with scripted or asynchronous players, or replay a recorded match."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from cheaptalk.rules.actions import Action, explain
from cheaptalk.rules.chat import ChatLine, ChatTurn, talker
from cheaptalk.rules.deciders import bare, decider, is_player, player_name
from cheaptalk.rules.errors import CheaptalkError, describe, shown, suggest
from cheaptalk.rules.game import Game, Instance
from cheaptalk.rules.registry import GameLike, game_from, strategies, strategy_named
from cheaptalk.rules.steps import Ask
from cheaptalk.rules.table import Decide, DecisionRequest, IllegalAction, Table


class StrategyError(CheaptalkError):
    """A scripted strategy raised an error or returned an illegal action."""

    @classmethod
    def illegal(cls, request: DecisionRequest, player: Any, reason: str) -> "StrategyError":
        where = f"in request {request.number}, by {player_name(player)}"
        return cls(f'"{request.actor}" answered illegally {where}: {reason}')

    @classmethod
    def failed(cls, request: DecisionRequest, player: Any, error: Exception) -> "StrategyError":
        where = f"in request {request.number}, by {player_name(player)}"
        return cls(f'"{request.actor}" failed {where}: {describe(error)}')


class ReplayMismatch(CheaptalkError):
    """Recorded answers do not fit the rules that replay them."""


def play(game: GameLike, instance: Instance, seed: str, players: Mapping[str, Any]) -> Table:
    """Play a match between scripted players to its end.

    >>> game = ct.games.Bargaining(money=100)
    >>> players = {"alice": "boulware", "bob": "conceder"}
    >>> table = ct.play(game, game.draw_instance(ct.Chance("1")), "1", players)
    >>> table.outcome
    Division(stage=12, alice_gain=50.0, bob_gain=50.0)

    Args:
        players: the players by seat or by role: strategies, their names, entries of strategies such
            as in a study, functions, objects or classes; see :func:`.decider`.

    Raises:
        StrategyError: a strategy failed or answered illegally.
        CheaptalkError: a seat has no player, a player is not callable, or a name in ``players``
            is not a seat or role.
        RulesError: the game's code fails or breaks the contract of :class:`Game`.
    """
    game = game_from(game)
    table = Table(game, instance, seed)
    check_seats(game, players)
    by_seat = {seat: _player(game, players, seat) for seat in game.seats}
    deciders = {actor.name: by_seat[actor.seat] for actor in table.seats}
    while table.pending:
        if table.chat is None:
            for actor in table.pending:
                take_turn(table, actor, deciders[actor])
        else:
            take_turns_with_chat(table, deciders)
    return table


def take_turns_with_chat(table: Table, deciders: Mapping[str, Decide]) -> None:
    """Let scripted players chat, then answer the current request.

    If the chat is open during the whole match, each player may send a line with its answer.
    """
    assert table.chat is not None
    when, request = table.chat.settings.when, table.requests
    if when == "between" or (when == "before" and request == 0):
        turns: dict[str, list[int]] = {actor: [] for actor in deciders if actor in table.chat.heard}
        while (actor := table.chat.next_actor(turns, request, turns)) is not None:
            turns[actor].append(len(table.chat.lines))
            turn = table.chat_turn(actor, sum(map(len, turns.values())))
            if line := line_of(turn, deciders[actor]):
                say_if_possible(table, actor, line)
    pending, lines = list(table.pending), dict[str, str | None]()
    if when == "during":
        lines = {a: line_of(table.chat_turn(a, request), deciders[a]) for a in pending}
    actions = {actor: ask_strategy(table.request(actor), deciders[actor]) for actor in pending}
    for actor, line in lines.items():
        if line:
            say_if_possible(table, actor, line, pending)
    for actor, action in actions.items():
        answer_legally(table, actor, deciders[actor], action)


def line_of(turn: ChatTurn, player: Any) -> str | None:
    """Return the line that a scripted player sends, or None.

    The player may have a method ``talk`` that returns a text or None.

    Raises:
        StrategyError: the method fails or returns another type.
    """
    talk = talker(player) or talker(bare(player))
    if talk is None or turn.left <= 0:
        return None
    try:
        line = talk(turn)
    except Exception as error:
        raise StrategyError(
            f'"{turn.actor}" failed to chat, by {player_name(player)}: {describe(error)}'
        ) from error
    if line is not None and not isinstance(line, str):
        raise StrategyError(
            f"talk() of {player_name(player)} returns {shown(line)}; return a text, or None"
        )
    return line


def say_if_possible(
    table: Table, actor: str, text: str, after: Iterable[str] = ()
) -> ChatLine | None:
    """Send a line, and return it; return None if it exceeds the limits or the chat has ended."""
    try:
        return table.say(actor, text, after)
    except IllegalAction:
        return None


def take_turn(table: Table, actor: str, decide: Decide) -> None:
    """Answer an actor's request with a strategy; raise StrategyError if it fails or is illegal."""
    answer_legally(table, actor, decide, ask_strategy(table.request(actor), decide))


def answer_legally(table: Table, actor: str, decide: Decide, action: object) -> None:
    """Answer an actor's request; raise StrategyError if the strategy's action is illegal."""
    try:
        table.answer(actor, action)
    except IllegalAction as illegal:
        raise StrategyError.illegal(table.request(actor), decide, str(illegal)) from illegal


def check_seats(game: Game, players: Iterable[str]) -> None:
    """Raise a CheaptalkError if a name is neither a seat nor a role of a game."""
    seats = game.seats
    for name in players:
        if name not in seats and name not in game.roles:
            known = list(dict.fromkeys([*seats, *game.roles]))
            raise CheaptalkError(f"{game.name} has no seat or role {suggest(str(name), known)}")


def _player(game: Game, players: Mapping[str, Any], seat: str) -> Decide:
    role = game.seats[seat]
    player = players.get(seat, players.get(role))
    if isinstance(player, str):
        player = {"strategy": player}
    if isinstance(player, Mapping) and isinstance(player.get("strategy"), str):
        strategy = strategy_named(game, player["strategy"])
        if role not in strategy.roles:
            able = [name for name, other in strategies(game).items() if role in other.roles]
            raise CheaptalkError(f"{strategy.name} can't play {role}; use one of {', '.join(able)}")
        settings = {key: value for key, value in player.items() if key != "strategy"}
        return decider(strategy.with_settings(**settings))
    if player is None:
        raise CheaptalkError(
            f'"{seat}" has no player; pass a strategy\'s name or a function, as in '
            f"players={{{shown(seat)}: ...}}"
        )
    if not is_player(player):
        raise CheaptalkError(
            f'the player of "{seat}" must be a strategy\'s name or a function, not {shown(player)}'
        )
    return decider(player)


def ask_strategy(request: DecisionRequest, decide: Decide) -> Action:
    """Return a strategy's action, legal or not; raise a :class:`StrategyError` if it fails."""
    try:
        action: Any = decide(request)
    except Exception as error:
        raise StrategyError.failed(request, decide, error) from error
    return read_fields(request, decide, action) if isinstance(action, dict) else action


def read_fields(request: DecisionRequest, player: Any, fields: dict[str, Any]) -> Action:
    """Return the action that a player gave by its fields; raise StrategyError if it is invalid."""
    try:
        return request.ask.action.model_validate(fields)
    except ValidationError as error:
        raise StrategyError.illegal(request, player, explain(error)) from None


async def play_async(
    table: Table,
    answer: Callable[[DecisionRequest], Awaitable[Action | None]],
    watch: Callable[[Table], None] = lambda _: None,
    prepare: Callable[[Table], Awaitable[None]] | None = None,
) -> Table:
    """Play a match to its end with players that take time, such as models and people.

    Simultaneous requests are made concurrently.

    Args:
        answer: returns the action, or None if the actor finally failed to answer. If a call raises
            an error, all concurrent requests are completed before the first error is raised.
        watch: called at the beginning and after every answer.
        prepare: awaited before the requests of each step are made, such as for a chat.
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
        if prepare is not None:
            await prepare(table)
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
    chat: Sequence[ChatLine] = (),
) -> Table:
    """Replay recorded answers, and return the match with its next request open.

    >>> game = ct.games.Bargaining(money=100, messages=False)
    >>> instance = game.draw_instance(ct.Chance("1"))
    >>> ct.replay(game, instance, "1", [(0, "alice", {"alice_gain": 60, "bob_gain": 40})])
    <Table: bargaining, 1 answer, asks bob>

    Args:
        answers: request number, actor and the action's fields (None: forfeited), in order.
        chat: the lines of chat, in order.

    Raises:
        ReplayMismatch: the rules do not make a recorded request, or refuse an answer or a line.
    """
    table = Table(game_from(game), instance, seed)
    for request, actor, fields in answers:
        replay_chat(table, chat, request)
        replay_answer(table, request, actor, fields)
    replay_chat(table, chat, table.requests)
    return table


def replay_chat(table: Table, lines: Sequence[ChatLine], request: int) -> None:
    """Repeat the recorded lines up to a request that are not yet in the chat."""
    try:
        table.repeat_chat(lines, request)
    except IllegalAction as refusal:
        raise ReplayMismatch(f"a recorded line of chat is refused: {refusal}") from refusal


def replay_answer(
    table: Table, request: int, actor: str, fields: Mapping[str, object] | None
) -> None:
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
