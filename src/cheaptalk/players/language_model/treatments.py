"""What a study adds to a game's words for a model, as data.

Who it is to be, how it is to think, what it remembers, and whether it thinks twice. The personas
and the advice are the treatments of GAMA-Bench (section 4, Table 7) in our words.
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
"""Who a model can be told to be."""

CHAINS_OF_THOUGHT: dict[str, str] = {
    "step_by_step": "Think step by step before you answer.",
    "logically": "Think this through logically before you answer.",
    "split": "Split the problem into steps and solve them one by one before you answer.",
    "detective": "Think like a detective, one step after the other, before you answer.",
    "first": "Think first, then answer.",
}
"""How a model can be told to think: chain of thought in five wordings (Kojima et al. 2022)."""


def _sentence(ready: Mapping[str, str], text: str) -> str:
    """Refuse a single word that names no ready sentence: most likely it is misspelt."""
    if text not in ready and " " not in text:
        raise ValueError(f"should be a sentence or a ready one, not {suggest(text, list(ready))}")
    return text


Text: TypeAlias = Annotated[
    str, StringConstraints(min_length=1, max_length=10_000, strip_whitespace=True, strict=True)
]
Persona: TypeAlias = Annotated[Text, AfterValidator(partial(_sentence, PERSONAS))]
"""A name from :data:`PERSONAS`, or a sentence of one's own."""
ChainOfThought: TypeAlias = Annotated[Text, AfterValidator(partial(_sentence, CHAINS_OF_THOUGHT))]
"""A name from :data:`CHAINS_OF_THOUGHT`, or a sentence of one's own."""


class LastTurns(Value):
    """A memory of so many turns, each an answer of the player's with what led to it.

    What happened since the last answer is always told, the briefing too.
    """

    last: Annotated[int, Field(ge=0, strict=True)]


History: TypeAlias = Literal["all", "summary"] | LastTurns
"""What a player remembers of a match: everything, its last turns, or a summary that it writes
itself, in a call of its own before each question but the first."""
PastAnswers: TypeAlias = Literal["canonical", "verbatim"]
"""How a player's past answers are shown to it: the answer alone, or its reply as it was written."""
Reask: TypeAlias = Literal["reason", "afresh"]
"""How an answer that does not count is asked for again: after the reply and what is wrong with it,
or as if nothing had been said."""
Refusals: TypeAlias = Literal["again", "final"]
"""What becomes of a refusal, the model's own or its provider's filter's: the same is asked again as
long as there are tries left, or the question is finally without an answer."""


class Refine(Value):
    """Several candidates for an answer, then a choice among them (chip trading, section 5.2).

    A choice from a short list, such as accept or decline, is asked for at once.

    Attributes:
        candidates: how many; the paper does not say.
        apart: in a call each, rather than all in one.
    """

    candidates: Annotated[int, Field(ge=2, le=20, strict=True)] = 3
    apart: bool = False


class Prompt(NamedTuple):
    """What is added to a game's words.

    Attributes:
        persona: who the player is, before all else; a name from :data:`PERSONAS` or a sentence.
        chain_of_thought: how it is to think; a name from :data:`CHAINS_OF_THOUGHT` or a sentence.
        history: what it remembers.
        past_answers: how its own past answers are shown to it.
        refine: whether it writes down candidates before it answers.
        reask: how an answer that does not count is asked for again.
        refusals: whether a refusal is asked again.

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

    def opening(self, words: str) -> str:
        """The briefing with the persona before it."""
        return f"{PERSONAS.get(self.persona, self.persona)}\n\n{words}" if self.persona else words

    @property
    def advice(self) -> list[str]:
        """What stands after an open question."""
        wanted = self.chain_of_thought
        return [CHAINS_OF_THOUGHT.get(wanted, wanted)] if wanted else []


PLAIN = Prompt()
"""The game's words alone."""
