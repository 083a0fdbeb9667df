"""Preview the calls to a model before paying for them."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from cheaptalk.models import ChatMessage, ModelCall, Reply
from cheaptalk.models.scripted import legal
from cheaptalk.players.language_model.seat import ModelSeat
from cheaptalk.players.protocol import Call, think
from cheaptalk.rules import Decide, Game, Table, decided

MOCK_MODEL = "script/legal"
"""The model that answers in the previewed model's place."""


class Preview(NamedTuple):
    """The calls for one answer of a model.

    Attributes:
        actor: the actor that the request is to.
        calls: the calls for one answer, in order; a summary, candidates and a choice have their own
            calls. The model's earlier responses, in this turn too, are made up.
    """

    actor: str
    calls: tuple[ModelCall, ...]


def preview(
    spec: ModelSeat, game: Game, seat: str, others: Mapping[str, Decide], seed: str, turn: int = 1
) -> Preview | None:
    """Return the calls for a model's ``turn``-th answer in a sample match.

    The model's earlier answers are those of a scripted model. The text is identical to that of a
    study's match with the same events.

    Args:
        seat: the model's seat.
        others: strategies for all other seats, by seat.
        seed: the seed of the instance and of all random draws.
        turn: the number of the request to this seat, from 1.

    Returns:
        None if the match ended before.

    Raises:
        StrategyError: a strategy failed.
    """
    table = Table(game, game.instance_of(seed), seed)
    seats = {actor.name: actor.seat for actor in game.actors}
    player = spec.model_copy(update={"model": MOCK_MODEL}).player(game)
    turns = 0
    while table.pending:
        for actor in table.pending:
            request = table.request(actor)
            if seats[actor] != seat:
                table.answer(actor, decided(request, others[seats[actor]]))
                continue
            turns += 1
            calls: list[ModelCall] = []
            answer = think(player.answer(request), partial(_answered, calls))
            if turns == turn:
                return Preview(actor, tuple(_as_sent(call, spec) for call in calls))
            if answer.action is None:
                table.forfeit(actor)
            else:
                table.answer(actor, answer.action)
    return None


def messages(table: Table, actor: str, player: ModelSeat | None = None) -> tuple[ChatMessage, ...]:
    """Return the chat messages for an actor's open request: everything that the actor knows.

    The actor's earlier answers appear in canonical form, whichever player gave them.

    Args:
        player: the model's settings, such as its style, persona or history; by default none are
            set. A model with a summary as its history first gets the prompt for the summary.

    Raises:
        ValueError: the actor has no open request.
        CheaptalkError: the settings are incompatible with the game.
    """
    spec = player or ModelSeat(model=MOCK_MODEL)
    call = next(spec.player(table.game).answer(table.request(actor)))
    assert isinstance(call, ModelCall)
    return call.messages


def _answered(calls: list[ModelCall], call: Call) -> Reply:
    """Record a call and return a made-up response."""
    assert isinstance(call, ModelCall)
    calls.append(call)
    return Reply(text=legal(call))


def _as_sent(call: ModelCall, spec: ModelSeat) -> ModelCall:
    """Return the call as it is sent to the model itself."""
    form = call.form and call.form.model_copy(update={"example": None})
    return call.model_copy(update={"model": spec.model, "form": form})
