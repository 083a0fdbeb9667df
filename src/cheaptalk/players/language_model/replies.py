"""Replies: the form in which a model is asked for one, what is wrong with one that is no answer,
and how it is shown to its author.
"""

from functools import cache
from typing import NamedTuple

from cheaptalk.models import AnswerForm, AskedRoute, ModelName, Reply
from cheaptalk.players.protocol import Kind
from cheaptalk.rules import Action, Ask, Asked, Game, counted, strategies
from cheaptalk.styles import Codec, Illegal, JsonCodec, Unreadable


class Question(NamedTuple):
    """A question for one action.

    Attributes:
        ask: what is asked, and what is a legal answer.
        how: how it is to be answered.
        codec: how the answer is written.
        example: a legal answer, for a scripted model.
    """

    ask: Ask
    how: str
    codec: Codec
    example: Action | None = None

    def form(self, answers: AskedRoute) -> AnswerForm:
        """The form of the answer; one that is no JSON can be asked for in words alone."""
        form = _form(self.ask.action, answers if isinstance(self.codec, JsonCodec) else "text")
        if self.example is None:
            return form
        return form.model_copy(update={"example": self.codec.write(self.example)})


@cache
def _form(action: type[Action], route: AskedRoute) -> AnswerForm:
    schema = action.model_json_schema()
    return AnswerForm(name=action.__name__, json_schema=schema, route=route)


def legal_example(asked: Asked, game: Game, model: str, number: int = 1) -> Action | None:
    """What a scripted model is to answer: as the game's own random strategy does.

    Args:
        number: of the example, where there are several of one answer.
    """
    if ModelName.parse(model).protocol != "script":
        return None
    player = strategies(game.name).get("random")
    if player is None:
        return None
    luck = asked.chance if number == 1 else asked.chance.apart("candidate", number)
    return player(asked._replace(chance=luck))


ECHO = 8_000
"""Characters of a reply that are repeated to the model when it is asked again: twice a message's
limit, so that every answer that could count is repeated whole."""


def fault(problem: Unreadable, reply: Reply) -> tuple[Kind, str]:
    """Why no answer could be read in a reply, for its author to be told.

    Before the reason stands the kind of answer that it makes if no better one follows.
    """
    if isinstance(problem, Illegal) or not reply.truncated:
        kind = Kind.ILLEGAL if isinstance(problem, Illegal) else Kind.UNPARSABLE
        return kind, str(problem)
    tokens = reply.usage.output_tokens
    after = f" after {counted(tokens, 'token')}" if tokens else ""
    return Kind.TRUNCATED, f"the reply was cut off{after}; answer more briefly"


def echoed(text: str) -> str:
    """A reply as it is repeated to its author: never empty, and not endless.

    >>> echoed(" ")
    '(an empty reply)'
    """
    if not text.strip():
        return "(an empty reply)"
    if len(text) > ECHO:
        text = f"{text[: ECHO // 2]}\n[...]\n{text[-ECHO // 2 :]}"
    return text
