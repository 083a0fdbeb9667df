"""How many tokens a call takes: guessed before any has come back, then read off those that have."""

import math
from dataclasses import dataclass

from cheaptalk.models import ModelCall, ModelSettings, Usage

REASONING = {
    "none": (0, 0),
    "minimal": (0, 500),
    "low": (50, 2_000),
    "medium": (100, 8_000),
    "high": (300, 20_000),
}
"""Tokens that a model may spend on reasoning before one answer, few and many, by its setting.

Providers promise no numbers; a budget of tokens is the most that it names."""
FEWEST_CHARACTERS = 3.0
"""Characters of a token, at the least: English has about four, JSON and numbers fewer."""
USUAL_ANSWER = 400
"""Tokens of an answer before any has come back, reasoning aside."""


def reasoning_of(settings: ModelSettings, *, unset: str = "none") -> tuple[int, int]:
    """Tokens that one answer may spend on reasoning: few and many.

    Args:
        unset: the level that the model takes by itself.

    >>> reasoning_of(ModelSettings(reasoning="low")), reasoning_of(ModelSettings(reasoning=4096))
    ((50, 2000), (0, 4096))
    """
    chosen = settings.reasoning or unset
    return (0, chosen) if isinstance(chosen, int) else REASONING[chosen]


def characters(call: ModelCall) -> int:
    """Characters that a call sends: its messages, and the schema of its answer."""
    formal = call.form is not None and call.form.route != "text"
    schema = len(str(call.form.json_schema)) if call.form and formal else 0
    return schema + sum(len(message.content) for message in call.messages)


@dataclass
class Sizes:
    """What calls to one model have taken so far.

    Attributes:
        density: tokens of a character of the question: a guess at first, then the most that came
            back.
        answer: tokens of the longest answer; None before any has come back.
    """

    density: float = 1 / FEWEST_CHARACTERS
    answer: int | None = None

    def expected(self, call: ModelCall) -> Usage:
        """What a call is going to take, at the most, as far as one can tell."""
        most = call.settings.max_tokens
        if self.answer is None:
            answer = most or USUAL_ANSWER + reasoning_of(call.settings)[1]
        else:
            answer = max(most or 0, self.answer)
        asked = math.ceil(characters(call) * self.density)
        return Usage(input_tokens=asked, output_tokens=answer)

    def note(self, call: ModelCall, usage: Usage) -> None:
        """Learn from a call that came back."""
        if usage.input_tokens:
            density = usage.input_tokens / max(characters(call), 1)
            self.density = density if self.answer is None else max(density, self.density)
            self.answer = max(self.answer or 0, usage.output_tokens)
