"""Prompt treatments of models: persona, advice on how to think, history and refinement.

The personas and the advice are the treatments of GAMA-Bench (section 4, Table 7), reworded.
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints

from cheaptalk.rules import Value, suggest

PERSONAS: dict[str, str] = {
    "cooperative": "You are an assistant who cooperates and works well with others.",
    "selfish": "You are an assistant who is greedy and looks only after yourself.",
    "mathematician": "You are a mathematician who knows game theory well.",
}
"""Predefined personas."""

CHAINS_OF_THOUGHT: dict[str, str] = {
    "step_by_step": "Think step by step before you answer.",
    "logically": "Think this through logically before you answer.",
    "split": "Split the problem into steps and solve them one by one before you answer.",
    "detective": "Think like a detective, one step after the other, before you answer.",
    "first": "Think first, then answer.",
}
"""Predefined advice on how to think: chain of thought in five wordings (Kojima et al. 2022)."""


def _sentence(predefined: Mapping[str, str], text: str) -> str:
    """Reject a single word that isn't a predefined name, because it is probably misspelt."""
    if text not in predefined and " " not in text:
        raise ValueError(
            f"should be a sentence or a predefined name, not {suggest(text, list(predefined))}"
        )
    return text


Text: TypeAlias = Annotated[
    str, StringConstraints(min_length=1, max_length=10_000, strip_whitespace=True, strict=True)
]
Persona: TypeAlias = Annotated[Text, AfterValidator(partial(_sentence, PERSONAS))]
"""A name from :data:`PERSONAS`, or a custom sentence."""
ChainOfThought: TypeAlias = Annotated[Text, AfterValidator(partial(_sentence, CHAINS_OF_THOUGHT))]
"""A name from :data:`CHAINS_OF_THOUGHT`, or a custom sentence."""


class LastTurns(Value):
    """A memory of the last turns: answers with the events that preceded them.

    The model also sees the briefing and the events since the last answer.
    """

    last: Annotated[int, Field(ge=0, strict=True)]


History: TypeAlias = Literal["all", "summary"] | LastTurns
"""A player's memory of a match: everything, the last turns, or the player's own summary, which is
requested before each answer except the first."""
PastAnswers: TypeAlias = Literal["canonical", "verbatim"]
"""How a player sees its past answers: only the answer, or the complete response."""
Reask: TypeAlias = Literal["reason", "quoted", "afresh"]
"""Whether a retry includes the reason why the last response is invalid, all invalid responses with
their reasons, or only the request."""
Refusals: TypeAlias = Literal["again", "final"]
"""Whether a request is repeated after a refusal by the model or the provider's filter."""


class Refine(Value):
    """Refinement: the model lists candidates, then chooses one (chip trading paper, section 5.2).

    Decisions such as accept or decline are requested directly.

    Attributes:
        candidates: the number of candidates, which the paper does not report.
        apart: whether each candidate has a separate call.
    """

    candidates: Annotated[int, Field(ge=2, le=20, strict=True)] = 3
    apart: bool = False


class Prompt(NamedTuple):
    """Settings that add to or change the prompt of a game.

    Attributes:
        persona: text before the briefing; a name from :data:`PERSONAS` or a sentence.
        chain_of_thought: how to think; a name from :data:`CHAINS_OF_THOUGHT` or a sentence.
        history, past_answers, reask, refusals: see the types of the same name.
        refine: settings of candidates, or None to request answers directly.

    >>> Prompt("selfish").opening("You divide 100 golds.").splitlines()[0]
    'You are an assistant who is greedy and looks only after yourself.'
    >>> Prompt(chain_of_thought="first").advice
    ['Think first, then answer.']
    """

    persona: str | None = None
    chain_of_thought: str | None = None
    history: History = "all"
    past_answers: PastAnswers = "canonical"
    refine: Refine | None = None
    reask: Reask = "reason"
    refusals: Refusals = "again"

    def opening(self, briefing: str) -> str:
        """Return the briefing, preceded by the persona."""
        if not self.persona:
            return briefing
        return f"{PERSONAS.get(self.persona, self.persona)}\n\n{briefing}"

    @property
    def advice(self) -> list[str]:
        """Texts that the prompt adds after an open request."""
        name = self.chain_of_thought
        return [CHAINS_OF_THOUGHT.get(name, name)] if name else []


PLAIN = Prompt()
"""The game's prompt without additions."""
