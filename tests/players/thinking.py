"""Players at the guessing game, and their answers to prepared replies."""

from typing import Any

from cheaptalk.models import ModelCall, ModelSettings, Reply
from cheaptalk.players import Answer, Call, LanguageModel, Player
from cheaptalk.players.language_model.treatments import Prompt
from cheaptalk.players.protocol import think as run
from cheaptalk.rules import DecisionRequest, Table
from cheaptalk.styles import style_in
from tests.toys import SPEC, Cards, Guessing, SpokenGuess


def table(left: int = 3, right: int = 2, **parameters: Any) -> Table:
    """Return a table of the guessing game, at which both seats have a request."""
    return Table(Guessing.model_validate(parameters), Cards(left=left, right=right), "seed")


def language_model(
    tries: int = 3, settings: ModelSettings | None = None, **prompt: Any
) -> LanguageModel:
    """Return a model that plays the guessing game."""
    style, settings = style_in(SPEC), settings or ModelSettings()
    return LanguageModel(Guessing(), style, "vllm/tiny", settings, Prompt(**prompt), tries)


def guess(number: int, message: str = "") -> SpokenGuess:
    return SpokenGuess(number=number, message=message)


def think(
    player: Player, request: DecisionRequest, *replies: str | Reply
) -> tuple[list[Call], Answer]:
    """Run a player on a request; return its calls and its answer.

    The player must make exactly one call per reply.
    """
    calls: list[Call] = []
    remaining = [reply if isinstance(reply, Reply) else Reply(text=reply) for reply in replies]

    def reply_to(call: Call) -> Reply:
        calls.append(call)
        return remaining.pop(0)

    answer = run(player.answer(request), reply_to)
    assert not remaining, "some replies were not used"
    return calls, answer


def ask_model(
    player: Player, request: DecisionRequest, *replies: str | Reply
) -> tuple[list[ModelCall], Answer]:
    """Run a model on a request; return its calls and its answer."""
    calls, answer = think(player, request, *replies)
    return [call for call in calls if isinstance(call, ModelCall)], answer


def contents(call: ModelCall) -> list[str]:
    return [message.content for message in call.messages]
