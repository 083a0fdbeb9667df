"""Thinking twice: several candidates for an answer, then a choice among them.

The two stages of the refined agents of the chip trading study (section 5.2): one call writes down
several candidates, a second one chooses. Its prompts are not published; these are our words.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from pydantic import Field, create_model

from cheaptalk.players.language_model.replies import Question
from cheaptalk.players.language_model.treatments import Refine
from cheaptalk.rules import Action, Ask, Whole
from cheaptalk.styles import CODECS, Codec

LISTED = (
    "Do not give this answer yet. First write down {count} different candidates for it, the best "
    "that you can think of, as {form}. You choose among them afterwards."
)
"""What asks for all candidates in one call."""
DRAFT = "Your answer is candidate {number} of {count}: you choose among your candidates afterwards."
"""What asks for one candidate of several."""
CHOOSE = (
    "These are your candidates. Compare them: what each would bring you, and how likely the others "
    "are to let it come about. Which one is your answer? Answer with {form}: the number of one "
    "candidate."
)
"""What asks for the choice."""


class Candidates(Action):
    """Several candidates for one answer."""

    candidates: tuple[Action, ...]


class Choice(Action):
    """Which candidate is the answer, counted from 1."""

    choice: Whole


@cache
def refinable(action: type[Action]) -> bool:
    """Whether an answer is more than a choice from a short list, such as accept or decline."""
    fields = action.model_json_schema().get("properties", {}).values()
    return any("enum" not in one and one.get("type") != "boolean" for one in fields)


def listing(ask: Ask, refine: Refine, examples: Sequence[Action | None]) -> Question:
    """The question for all candidates of an answer at once; each of them has to be legal.

    Args:
        examples: legal ones, for a scripted model.
    """
    wanted = _candidates(ask.action, refine.candidates)

    def objection(listed: Candidates) -> str | None:
        for number, one in enumerate(listed.candidates, start=1):
            reason = ask.refuse(one)
            if reason is not None:
                return f"candidate {number}: {reason}"
        return None

    codec = CODECS["json"]
    how = LISTED.format(count=refine.candidates, form=codec.form(wanted))
    example = None if None in examples else wanted(candidates=examples)
    return Question(Ask(ask.seat, wanted, ask.event, objection), how, codec, example)


def choosing(ask: Ask, candidates: Sequence[Action]) -> Question:
    """The question which candidate is the answer."""
    wanted = _choice(len(candidates))
    codec = CODECS["json"]
    return Question(Ask(ask.seat, wanted, ask.event), CHOOSE.format(form=codec.form(wanted)), codec)


def distinct(candidates: Iterable[Action]) -> list[Action]:
    """Candidates without those that stand there before."""
    found: list[Action] = []
    for one in candidates:
        if one not in found:
            found.append(one)
    return found


def numbered(candidates: Sequence[Action], codec: Codec) -> str:
    """Candidates with their numbers, a line each."""
    lines = (f"{place}. {codec.write(one)}" for place, one in enumerate(candidates, start=1))
    return "\n".join(lines)


@cache
def _candidates(action: type[Action], count: int) -> type[Candidates]:
    several: Any = tuple[action, ...]  # type: ignore[valid-type]  # the type is a value here
    field = Field(min_length=count, max_length=count)
    return create_model("Candidates", __base__=Candidates, candidates=(several, field))


@cache
def _choice(count: int) -> type[Choice]:
    return create_model("Choice", __base__=Choice, choice=(Whole, Field(ge=1, le=count)))
