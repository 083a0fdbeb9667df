"""What a model would be sent, before anybody pays for it."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from cheaptalk.models import ChatMessage, ModelCall, Reply
from cheaptalk.models.scripted import legal
from cheaptalk.players.language_model.seat import ModelSeat
from cheaptalk.players.protocol import Call, think
from cheaptalk.rules import Decide, Game, Table, decided

STAND_IN = "script/legal"
"""Who answers in the model's place."""


class Preview(NamedTuple):
    """What a model would be sent when it is asked something.

    Attributes:
        seat: the seat that is asked.
        calls: the calls for one answer, in order: a summary, candidates and a choice have their
            own. What the model said before, in this turn too, is made up.
    """

    seat: str
    calls: tuple[ModelCall, ...]


def preview(
    spec: ModelSeat, game: Game, place: str, others: Mapping[str, Decide], seed: str, turn: int = 1
) -> Preview | None:
    """What a model would be sent at its so manieth question of a sample match.

    Its own earlier answers are those of a scripted model. The words are exactly those of a match
    of a study in which the same had happened.

    Args:
        place: where the model sits.
        others: strategies in all other places, by place.
        seed: of the deal and of all chance.
        turn: which question to this place, from 1.

    Returns:
        None where the match ended before.

    Raises:
        StrategyError: a strategy failed.
    """
    table = Table(game, game.dealt(seed), seed)
    places = {seat.name: seat.place for seat in game.seats}
    player = spec.model_copy(update={"model": STAND_IN}).player(game)
    turns = 0
    while table.pending:
        for seat in table.pending:
            asked = table.asked(seat)
            if places[seat] != place:
                table.answer(seat, decided(asked, others[places[seat]]))
                continue
            turns += 1
            calls: list[ModelCall] = []
            answer = think(player.answer(asked), partial(_answered, calls))
            if turns == turn:
                return Preview(seat, tuple(_as_sent(call, spec) for call in calls))
            if answer.action is None:
                table.forfeit(seat)
            else:
                table.answer(seat, answer.action)
    return None


def messages(table: Table, seat: str, player: ModelSeat | None = None) -> tuple[ChatMessage, ...]:
    """What a model would be sent for this seat's open question: all that the seat knows, as a chat.

    Its own earlier answers, whoever gave them, stand there in canonical form.

    Args:
        player: the model's settings, such as its style, persona or history; by default none are
            set. One that sums up its history is first sent what asks for the summary.

    Raises:
        ValueError: the seat has no open question.
        CheaptalkError: the settings do not go with the game.
    """
    spec = player or ModelSeat(model=STAND_IN)
    call = next(spec.player(table.game).answer(table.asked(seat)))
    assert isinstance(call, ModelCall)
    return call.messages


def _answered(calls: list[ModelCall], call: Call) -> Reply:
    """A made-up reply to a call, which is noted."""
    assert isinstance(call, ModelCall)
    calls.append(call)
    return Reply(text=legal(call))


def _as_sent(call: ModelCall, spec: ModelSeat) -> ModelCall:
    """The call as it goes to the model itself."""
    form = call.form and call.form.model_copy(update={"example": None})
    return call.model_copy(update={"model": spec.model, "form": form})
