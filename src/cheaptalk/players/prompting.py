"""What a study adds to a game's words for a model: who it is to be and how it is to think.

The personas and the advice are the treatments of GAMA-Bench (section 4, Table 7) in our words.
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, NamedTuple, TypeAlias

from pydantic import AfterValidator, StringConstraints

from cheaptalk.rules import suggest

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


class Prompt(NamedTuple):
    """What is added to a game's words.

    Attributes:
        persona: who the player is, before all else; a name from :data:`PERSONAS` or a sentence.
        chain_of_thought: how it is to think; a name from :data:`CHAINS_OF_THOUGHT` or a sentence.

    >>> Prompt("selfish").opening("You divide 100 golds.").splitlines()[0]
    'You are an assistant who is greedy and looks only after yourself.'
    >>> Prompt(chain_of_thought="first").question("Your bid?").splitlines()[-1]
    'Think first, then answer.'
    """

    persona: str | None = None
    chain_of_thought: str | None = None

    def opening(self, words: str) -> str:
        """The briefing with the persona before it."""
        return f"{PERSONAS.get(self.persona, self.persona)}\n\n{words}" if self.persona else words

    def question(self, words: str) -> str:
        """A question with the advice after it."""
        if not self.chain_of_thought:
            return words
        return f"{words}\n\n{CHAINS_OF_THOUGHT.get(self.chain_of_thought, self.chain_of_thought)}"


PLAIN = Prompt()
"""The game's words alone."""
