"""Preview the calls to a model before paying for them."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from cheaptalk.models import ChatMessage, ModelCall, Reply
from cheaptalk.models.scripted import legal
from cheaptalk.players.language_model.player import LanguageModel
from cheaptalk.players.language_model.seat import ModelSeat
from cheaptalk.players.protocol import Call, think
from cheaptalk.rules import Decide, Table, ask_strategy
from cheaptalk.rules.play import say_if_possible
from cheaptalk.rules.registry import GameLike, game_from

MOCK_MODEL = "script/legal"
"""The scripted model that answers in place of the previewed model."""


class Preview(NamedTuple):
    """The calls for one answer of a model.

    Attributes:
        actor: the actor that receives the request.
        calls: the calls for one answer, in order, including summaries, candidates and choices, and
            before them the call for a line of chat, if there is a chat before the decision. A
            scripted model provides all earlier responses.
    """

    actor: str
    calls: tuple[ModelCall, ...]


def preview(
    spec: ModelSeat,
    game: GameLike,
    seat: str,
    others: Mapping[str, Decide],
    seed: str,
    turn: int = 1,
) -> Preview | None:
    """Return the calls for a model's ``turn``-th answer in a sample match.

    A scripted model gives the earlier answers. The prompts equal those of a study's match with the
    same events.

    Args:
        others: strategies for all other seats, by seat.
        seed: the seed of the instance and of all random draws.
        turn: the number of the request to the model's seat, from 1.

    Returns:
        The calls, or None if the match ends before this turn.

    Raises:
        StrategyError: a strategy failed.
    """
    game = game_from(game)
    table = Table(game, game.instance_of(seed), seed)
    seats = {actor.name: actor.seat for actor in game.actors}
    player = spec.model_copy(update={"model": MOCK_MODEL}).player(game)
    turns = 0
    while table.pending:
        chats = {
            actor: _chat_call(player, table, actor)
            for actor in table.pending
            if seats[actor] == seat
        }
        for actor in table.pending:
            request = table.request(actor)
            if seats[actor] != seat:
                table.answer(actor, ask_strategy(request, others[seats[actor]]))
                continue
            turns += 1
            calls = chats[actor]
            answer = think(player.answer(request), partial(_answered, calls))
            if turns == turn:
                return Preview(actor, tuple(_as_sent(call, spec) for call in calls))
            if answer.action is None:
                table.forfeit(actor)
            else:
                table.answer(actor, answer.action)
    return None


def _chat_call(player: LanguageModel, table: Table, actor: str) -> list[ModelCall]:
    """Let a model chat once before a decision, if it can; return its call."""
    log, calls = table.chat, list[ModelCall]()
    when = log and log.settings.when
    if when == "between" or (when == "before" and table.requests == 0):
        turn = table.chat_turn(actor, 0)
        if turn.left > 0:
            line = think(player.talk(turn), partial(_answered, calls))
            if line:
                say_if_possible(table, actor, line)
    return calls


def messages(table: Table, actor: str, player: ModelSeat | None = None) -> tuple[ChatMessage, ...]:
    """Return the chat messages for an actor's open request: everything that the actor knows.

    Earlier answers of the actor appear in canonical form.

    Args:
        player: the model's settings, such as prompt style, persona or history; by default none. If
            the history is a summary, the first messages ask for the summary.

    Raises:
        ValueError: the actor has no open request.
        CheaptalkError: the settings are incompatible with the game.
    """
    spec = player or ModelSeat(model=MOCK_MODEL)
    call = next(spec.player(table.game).answer(table.request(actor)))
    assert isinstance(call, ModelCall)
    return call.messages


def _answered(calls: list[ModelCall], call: Call) -> Reply:
    assert isinstance(call, ModelCall)
    calls.append(call)
    return Reply(text=legal(call))


def _as_sent(call: ModelCall, spec: ModelSeat) -> ModelCall:
    form = call.form and call.form.model_copy(update={"example": None})
    return call.model_copy(update={"model": spec.model, "form": form})
