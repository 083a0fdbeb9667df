"""The answer format of a request, what is wrong with an invalid response, and how it is echoed."""

from functools import cache
from typing import NamedTuple

from cheaptalk.models import AnswerForm, AskedRoute, ModelName, Reply
from cheaptalk.players.protocol import Kind
from cheaptalk.rules import Action, Ask, DecisionRequest, Game, counted, strategies
from cheaptalk.styles import Codec, Illegal, JsonCodec, Unreadable


class Question(NamedTuple):
    """A question for one action.

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
        """Return the answer format; formats other than JSON can only be requested in the prompt."""
        form = _form(self.ask.action, answers if isinstance(self.codec, JsonCodec) else "text")
        if self.example is None:
            return form
        return form.model_copy(update={"example": self.codec.write(self.example)})


@cache
def _form(action: type[Action], route: AskedRoute) -> AnswerForm:
    schema = action.model_json_schema()
    return AnswerForm(name=action.__name__, json_schema=schema, route=route)


def legal_example(
    request: DecisionRequest, game: Game, model: str, number: int = 1
) -> Action | None:
    """Return a scripted model's answer, which is that of the game's random strategy.

    Args:
        number: the number of the example, if one answer needs several.
    """
    if ModelName.parse(model).protocol != "script":
        return None
    player = strategies(game.name).get("random")
    if player is None:
        return None
    chance = request.chance if number == 1 else request.chance.apart("candidate", number)
    return player(request._replace(chance=chance))


ECHO = 8_000
"""Maximum characters of a response that are repeated to the model in a retry: twice the limit of a
message, so that every answer that could be valid is repeated completely."""


def fault(problem: Unreadable, reply: Reply) -> tuple[Kind, str]:
    """Return the answer's kind, if no better one follows, and the reason shown to the model."""
    if isinstance(problem, Illegal) or not reply.truncated:
        kind = Kind.ILLEGAL if isinstance(problem, Illegal) else Kind.UNPARSABLE
        return kind, str(problem)
    tokens = reply.usage.output_tokens
    after = f" after {counted(tokens, 'token')}" if tokens else ""
    return Kind.TRUNCATED, f"the reply was cut off{after}; answer more briefly"


def echoed(text: str) -> str:
    """Return a response as it is repeated to the model: never empty, and truncated if it is long.

    >>> echoed(" ")
    '(an empty reply)'
    """
    if not text.strip():
        return "(an empty reply)"
    if len(text) > ECHO:
        text = f"{text[: ECHO // 2]}\n[...]\n{text[-ECHO // 2 :]}"
    return text
