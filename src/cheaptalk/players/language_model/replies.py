"""Answer formats of requests, reasons for invalid responses, and responses quoted in retries."""

from functools import cache
from typing import NamedTuple

from cheaptalk.models import AnswerForm, AskedRoute, ModelName, Reply
from cheaptalk.players.protocol import Kind
from cheaptalk.rules import Action, Ask, DecisionRequest, Game, counted, strategies
from cheaptalk.styles import Codec, IllegalMove, JsonCodec, Unparsable


class Question(NamedTuple):
    """A request for one action.

    Attributes:
        ask: the request, which defines a legal answer.
        how: the answer instructions.
        codec: the answer format.
        example: a legal answer, for a scripted model.
    """

    ask: Ask
    how: str
    codec: Codec
    example: Action | None = None

    def form(self, answers: AskedRoute) -> AnswerForm:
        """Return the answer format; formats other than JSON are requested only in the prompt."""
        form = _form(self.ask.action, answers if isinstance(self.codec, JsonCodec) else "text")
        if self.example is None:
            return form
        return form.model_copy(update={"example": self.codec.write(self.example)})


@cache
def _form(action: type[Action], route: AskedRoute) -> AnswerForm:
    return AnswerForm(name=action.__name__, json_schema=action.model_json_schema(), route=route)


def legal_example(
    request: DecisionRequest, game: Game, model: str, number: int = 1
) -> Action | None:
    """For a scripted model, return an answer by the game's random strategy; otherwise None.

    Args:
        number: the number of the example, if an answer needs several examples.
    """
    if ModelName.parse(model).protocol != "script":
        return None
    player = strategies(game.name).get("random")
    if player is None:
        return None
    chance = request.chance if number == 1 else request.chance.apart("candidate", number)
    return player(request._replace(chance=chance))


ECHO = 8_000
"""Maximum characters of a response that a retry quotes: twice the length limit of a message."""


def fault(problem: Unparsable, reply: Reply) -> tuple[Kind, str]:
    """Return the kind of an invalid response, and the reason to show to the model."""
    if isinstance(problem, IllegalMove) or not reply.truncated:
        kind = Kind.ILLEGAL if isinstance(problem, IllegalMove) else Kind.UNPARSABLE
        return kind, str(problem)
    tokens = reply.usage.output_tokens
    after = f" after {counted(tokens, 'token')}" if tokens else ""
    return Kind.TRUNCATED, f"the reply was cut off{after}; answer more briefly"


def echoed(text: str) -> str:
    """Return a response as quoted in a retry: never empty, and cut to :data:`ECHO` characters.

    >>> echoed(" ")
    '(an empty reply)'
    """
    if not text.strip():
        return "(an empty reply)"
    if len(text) > ECHO:
        text = f"{text[: ECHO // 2]}\n[...]\n{text[-ECHO // 2 :]}"
    return text
