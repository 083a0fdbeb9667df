"""Which settings a model takes, and what they are called on the wire: the whole of it as a table.

Models that share a provider and take the same settings are a family. The rows follow the
providers' own documentation as of November 2026; what a provider drops without a word counts as not
taken.
"""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

from cheaptalk.models.calls import Reasoning, Route
from cheaptalk.models.names import ModelName

BUDGETS = {"minimal": 1_024, "low": 4_096, "medium": 8_192, "high": 16_384}
"""Tokens of reasoning that a level stands for where a provider wants their number."""
LEAST_BUDGET = 1_024
"""Tokens of reasoning below which Anthropic refuses a budget."""
ANSWER_TOKENS = 4_096
"""Tokens that Anthropic's models may answer with, beside their reasoning, unless a study says."""
LOCAL_TOKENS = 1_024
"""Likewise for a model in this process."""


def _level(level: Reasoning) -> dict[str, Any]:
    return {"reasoning": level}


def _effort(level: Reasoning) -> dict[str, Any]:
    return {"reasoning_effort": level}


def _switch(level: Reasoning) -> dict[str, Any]:
    return {"chat_template_kwargs": {"enable_thinking": level != "none"}}


def _budget(level: Reasoning) -> dict[str, Any]:
    if level == "none":
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "enabled", "budget_tokens": tokens_of(level)}}


def _adaptive(level: Reasoning) -> dict[str, Any]:
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": level}}


def _gemini(level: Reasoning) -> dict[str, Any]:
    if isinstance(level, str):
        return {"reasoning_effort": level}
    return {"extra_body": {"google": {"thinking_config": {"thinking_budget": level}}}}


def _openrouter(level: Reasoning) -> dict[str, Any]:
    return {"reasoning": {"effort": level} if isinstance(level, str) else {"max_tokens": level}}


def tokens_of(level: Reasoning) -> int:
    """The tokens of reasoning that a level stands for.

    >>> tokens_of("low"), tokens_of(2_000), tokens_of("none")
    (4096, 2000, 0)
    """
    return BUDGETS.get(level, 0) if isinstance(level, str) else level


class Family(NamedTuple):
    """Models that take the same settings.

    Attributes:
        provider: whose they are.
        pattern: what their names look like, as in file names.
        settings: the settings they take, with their names on the wire.
        reasoning: how a level of reasoning is put; None for models that have no such setting.
        levels: the levels they know.
        budget: whether a number of tokens is taken for a level.
        either: whether ``temperature`` and ``top_p`` are refused while they reason.
        hottest: the highest temperature.
        routes: how an answer of a given form can be asked for, strictest first.
        answer_tokens: tokens of the longest answer, beside those of reasoning, where a study does
            not say; 0 where the server decides.
        always: what is sent with every call.
    """

    provider: str
    pattern: str
    settings: Mapping[str, str]
    reasoning: Callable[[Reasoning], dict[str, Any]] | None = None
    levels: tuple[str, ...] = ()
    budget: bool = False
    either: bool = False
    hottest: float = 2
    routes: tuple[Route, ...] = ("schema", "tool", "text")
    answer_tokens: int = 0
    always: Mapping[str, Any] = {}


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


SAMPLING = _same("temperature", "top_p")
LOCAL = SAMPLING | _same("max_tokens", "seed", "stop")
CHAT = LOCAL | _same("stream")
OPENAI = CHAT | {"max_tokens": "max_completion_tokens"}
OPENAI_REASONING = {"max_tokens": "max_completion_tokens"} | _same("seed", "stream")
GEMINI = SAMPLING | _same("max_tokens", "stop", "stream")
MESSAGES = {"max_tokens": "max_tokens", "stop": "stop_sequences"}
TOOL: tuple[Route, ...] = ("tool", "text")
TEXT: tuple[Route, ...] = ("text",)
EXACT = {"provider": {"require_parameters": True}}
"""OpenRouter drops what a model does not take, unless it is told not to."""
THREE = ("low", "medium", "high")
SWITCH = ("none", "high")
"""Levels of a model whose reasoning is on or off: a level between them would be a pretence."""

FAMILIES = (
    Family("openai", "gpt-[5-9]*chat*", OPENAI),
    Family("openai", "gpt-5.[1-9]*", OPENAI_REASONING | SAMPLING, _effort, ("none", *THREE),
           either=True),
    Family("openai", "gpt-5*", OPENAI_REASONING, _effort, ("minimal", *THREE)),
    Family("openai", "gpt-[6-9]*", OPENAI_REASONING, _effort, ("none", *THREE)),
    Family("openai", "o[1-9]*", OPENAI_REASONING, _effort, THREE),
    Family("openai", "gpt-3.5*", OPENAI, routes=TOOL),
    Family("openai", "gpt-4", OPENAI, routes=TOOL),
    Family("openai", "gpt-4-*", OPENAI, routes=TOOL),
    Family("openai", "gpt-4o-2024-05-13", OPENAI, routes=TOOL),
    Family("openai", "*", OPENAI),
    Family("anthropic", "claude-3-7*", MESSAGES | SAMPLING, _budget, ("none", *BUDGETS),
           budget=True, either=True, hottest=1, routes=TOOL, answer_tokens=ANSWER_TOKENS),
    Family("anthropic", "claude-[23]*", MESSAGES | SAMPLING, hottest=1, routes=TOOL,
           answer_tokens=ANSWER_TOKENS),
    Family("anthropic", "claude-*-4-[0-6]*", MESSAGES | SAMPLING, _budget, ("none", *BUDGETS),
           budget=True, either=True, hottest=1, routes=TOOL, answer_tokens=ANSWER_TOKENS),
    Family("anthropic", "*", MESSAGES, _adaptive, THREE, routes=TOOL,
           answer_tokens=ANSWER_TOKENS),
    Family("gemini", "gemini-2.5-pro*", GEMINI, _gemini,
           tuple(BUDGETS), budget=True),
    Family("gemini", "gemini-2.5*", GEMINI, _gemini,
           ("none", *BUDGETS), budget=True),
    Family("gemini", "gemini-[3-9]*", GEMINI, _gemini,
           tuple(BUDGETS)),
    Family("gemini", "*", GEMINI),
    Family("openrouter", "anthropic/claude-*4.[7-9]*", _same("max_tokens", "stop", "stream"),
           always=EXACT),
    Family("openrouter", "*", CHAT, _openrouter, ("none", *BUDGETS), budget=True, always=EXACT),
    Family("together", "openai/gpt-oss*", CHAT, _effort, THREE),
    Family("together", "*", CHAT),
    Family("vllm", "*gpt-oss*", CHAT, _effort, THREE),
    Family("vllm", "*", CHAT, _switch, SWITCH),
    Family("ollama", "*gpt-oss*", CHAT, _effort, THREE, routes=("schema", "text")),
    Family("ollama", "*", CHAT, _effort, SWITCH, routes=("schema", "text")),
    Family("openai-compatible", "*", CHAT),
    Family("hf", "*", LOCAL, _switch, SWITCH, routes=TEXT, answer_tokens=LOCAL_TOKENS),
    Family("agent", "*", {}, routes=("schema", "text")),
    Family("script", "*", CHAT, _level, ("none", *BUDGETS), budget=True),
)  # fmt: skip
"""All families; of those that fit a model, the first is its own."""


@lru_cache(maxsize=1024)
def family(name: ModelName) -> Family:
    """The family of a model.

    >>> family(ModelName.parse("openai/o3-mini")).levels
    ('low', 'medium', 'high')
    """
    return next(
        one
        for one in FAMILIES
        if one.provider == name.provider and fnmatchcase(name.model, one.pattern)
    )
