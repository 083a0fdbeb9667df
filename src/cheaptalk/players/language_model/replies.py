"""Answer formats of requests, reasons for invalid responses, and responses quoted in retries."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from pydantic import Field, create_model

from cheaptalk.models import AnswerForm, AskedRoute, ModelName, Reply
from cheaptalk.players.language_model.treatments import Refine
from cheaptalk.players.protocol import Kind
from cheaptalk.rules import (
    Action,
    Ask,
    DecisionRequest,
    Game,
    Whole,
    alternative,
    counted,
    strategies,
)
from cheaptalk.styles import CODECS, Codec, IllegalMove, JsonCodec, Unparsable
from cheaptalk.styles.json_objects import NoAnswer


class Question(NamedTuple):
    """A request for one action, with answer instructions, and an example for scripted models."""

    ask: Ask
    how: str
    codec: Codec
    example: Action | None = None

    def form(self, answers: AskedRoute) -> AnswerForm:
        """Return the answer format; formats other than JSON are requested only in the prompt."""
        return AnswerForm(
            name=self.ask.action.__name__,
            json_schema=self.ask.schema,
            route=answers if isinstance(self.codec, JsonCodec) else "text",
            example=self.example and self.codec.write(self.example),
        )


def legal_example(
    request: DecisionRequest, game: Game, model: str, number: int = 1
) -> Action | None:
    """For a scripted model, return an answer by the game's random strategy; otherwise None.

    Several examples of an answer have different numbers.
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


def fault(problem: Unparsable, reply: Reply, *, reasons: bool) -> tuple[Kind, str]:
    """Return the kind of an invalid response, and the reason to show to the model.

    Args:
        reasons: whether the model was asked to reason before the answer. Otherwise, a response that
            reaches the token limit without beginning an answer is not truncated but has none.
    """
    if isinstance(problem, IllegalMove) or not reply.truncated:
        kind = Kind.ILLEGAL if isinstance(problem, IllegalMove) else Kind.UNPARSABLE
        return kind, str(problem)
    tokens = reply.usage.output_tokens
    after = f" after {counted(tokens, 'token')}" if tokens else ""
    if isinstance(problem, NoAnswer) and not reasons:
        return Kind.UNPARSABLE, f"{problem}; it was cut off{after}, so begin with the answer"
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


LISTED = (
    "Do not give this answer yet. First write down {count} different candidates for it, the best "
    "that you can think of, as {form}. You choose among them afterwards."
)
"""The prompt for all candidates in one call."""
DRAFT = "Your answer is candidate {number} of {count}: you choose among your candidates afterwards."
"""The prompt for one candidate of several."""
CHOOSE = (
    "These are your candidates. Compare them: what each would bring you, and how likely the others "
    "are to let it come about. Which one is your answer? Answer with {form}: the number of one "
    "candidate."
)
"""The prompt for the choice."""


class Candidates(Action):
    """Several candidates for one answer."""

    candidates: tuple[Action, ...]


class Choice(Action):
    """The chosen candidate, counted from 1."""

    choice: Whole


@cache
def refinable(action: type[Action]) -> bool:
    """Return whether an answer has fields other than choices such as accept or decline."""
    fields = action.model_json_schema().get("properties", {}).values()
    return any("enum" not in field and field.get("type") != "boolean" for field in fields)


def listing(ask: Ask, refine: Refine, examples: Sequence[Action | None]) -> Question:
    """Return the question that asks for all candidates in one call."""
    answer_type = _candidates(ask.action, refine.candidates)

    def objection(listed: Candidates) -> str | None:
        for number, candidate in enumerate(listed.candidates, start=1):
            reason = ask.refuse(candidate)
            if reason is not None:
                return f"candidate {number}: {reason}"
        return None

    codec = CODECS["json"]
    how = LISTED.format(count=refine.candidates, form=codec.form(answer_type))
    example = None if None in examples else answer_type(candidates=examples)
    size = {"minItems": refine.candidates, "maxItems": refine.candidates}
    candidates = {"type": "array", "items": ask.schema, **size}
    alternatives = [alternative(candidates=candidates)]
    request = Ask(ask.actor, answer_type, ask.event, objection, lambda: alternatives)
    return Question(request, how, codec, example)


def choosing(ask: Ask, candidates: Sequence[Action]) -> Question:
    """Return the question that asks the model to choose among its candidates."""
    answer_type, codec = _choice(len(candidates)), CODECS["json"]
    how = CHOOSE.format(form=codec.form(answer_type))
    return Question(Ask(ask.actor, answer_type, ask.event), how, codec)


def distinct(candidates: Iterable[Action]) -> list[Action]:
    """Return candidates without duplicates, in order."""
    unique: list[Action] = []
    for candidate in candidates:
        if candidate not in unique:
            unique.append(candidate)
    return unique


def numbered(candidates: Sequence[Action], codec: Codec) -> str:
    """Return the candidates as a numbered list, one per line."""
    texts = map(codec.write, candidates)
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, start=1))


@cache
def _candidates(action: type[Action], count: int) -> type[Candidates]:
    items: Any = tuple[action, ...]  # type: ignore[valid-type]  # the type is a value here
    field = Field(min_length=count, max_length=count)
    return create_model("Candidates", __base__=Candidates, candidates=(items, field))


@cache
def _choice(count: int) -> type[Choice]:
    return create_model("Choice", __base__=Choice, choice=(Whole, Field(ge=1, le=count)))
