"""What goes with a question to a model: the form of the answer, and how it is written."""

from functools import cache
from typing import NamedTuple

from cheaptalk.models import AnswerForm, AskedRoute, ModelName
from cheaptalk.rules import Action, Ask, Asked, Game, strategies
from cheaptalk.styles import Codec, JsonCodec


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
