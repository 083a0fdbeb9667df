"""Refinement: several candidates for an answer, then a choice among them.

These are the two stages of the refined agents of the chip trading study (section 5.2): one call
produces several candidates, a second one chooses. The study does not publish its prompts; these are
our own.
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
    """Return whether an answer is more than a choice from a short list, such as accept or
    decline."""
    fields = action.model_json_schema().get("properties", {}).values()
    return any("enum" not in field and field.get("type") != "boolean" for field in fields)


def listing(ask: Ask, refine: Refine, examples: Sequence[Action | None]) -> Question:
    """Return the question for all candidates of an answer in one call; each must be legal.

    Args:
        examples: legal answers, for a scripted model.
    """
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
    return Question(Ask(ask.actor, answer_type, ask.event, objection), how, codec, example)


def choosing(ask: Ask, candidates: Sequence[Action]) -> Question:
    """Return the question which candidate is the answer."""
    answer_type = _choice(len(candidates))
    codec = CODECS["json"]
    return Question(
        Ask(ask.actor, answer_type, ask.event), CHOOSE.format(form=codec.form(answer_type)), codec
    )


def distinct(candidates: Iterable[Action]) -> list[Action]:
    """Return candidates without duplicates, in order."""
    unique: list[Action] = []
    for candidate in candidates:
        if candidate not in unique:
            unique.append(candidate)
    return unique


def numbered(candidates: Sequence[Action], codec: Codec) -> str:
    """Return numbered candidates, one per line."""
    lines = (
        f"{number}. {codec.write(candidate)}"
        for number, candidate in enumerate(candidates, start=1)
    )
    return "\n".join(lines)


@cache
def _candidates(action: type[Action], count: int) -> type[Candidates]:
    items: Any = tuple[action, ...]  # type: ignore[valid-type]  # the type is a value here
    field = Field(min_length=count, max_length=count)
    return create_model("Candidates", __base__=Candidates, candidates=(items, field))


@cache
def _choice(count: int) -> type[Choice]:
    return create_model("Choice", __base__=Choice, choice=(Whole, Field(ge=1, le=count)))
