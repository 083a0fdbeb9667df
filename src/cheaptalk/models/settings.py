"""Settings of models: checked before a run, mapped for the wire by a table, never dropped."""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

from cheaptalk.models.calls import AskedRoute, ModelSettings, Reasoning, Route
from cheaptalk.models.model_strings import ModelName

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


def check_settings(settings: ModelSettings, model: str, answers: AskedRoute = "auto") -> None:
    """Refuse settings that a model would not take or would not heed.

    Args:
        settings: what is asked of the model.
        model: the model string.
        answers: how answers are asked for.

    Raises:
        ValueError: the model does not take one of them; the message names it and the cure.

    >>> check_settings(ModelSettings(seed=7), "anthropic/claude-opus-4-1")
    Traceback (most recent call last):
        ...
    ValueError: anthropic/claude-opus-4-1 takes no seed: leave it out
    """
    name = ModelName.parse(model)
    kind = family(name)
    given = settings.model_dump(exclude_none=True, exclude={"reasoning"})
    for setting in given:
        if setting not in kind.settings:
            raise ValueError(f"{name.short} takes no {setting}: leave it out")
    if (given.get("temperature") or 0) > kind.hottest:
        raise ValueError(f"{name.short} takes a temperature of at most {kind.hottest:g}")
    if settings.reasoning is not None:
        _check_reasoning(settings.reasoning, kind, name)
    if kind.either and settings.reasoning not in (None, "none"):
        for setting in SAMPLING:
            if setting in given:
                raise ValueError(
                    f"{name.short} takes no {setting} while it reasons: leave out one of them"
                )
    _check_tokens(settings, kind, name)
    if answers != "auto" and answers not in routes(settings, name):
        ways = " or ".join(routes(settings, name))
        raise ValueError(f'{name.short} cannot be asked by "{answers}": set answers to {ways}')


def _check_reasoning(level: Reasoning, kind: Family, name: ModelName) -> None:
    if kind.reasoning is None:
        raise ValueError(f"{name.short} has no setting of its reasoning: leave it out")
    fits = level in kind.levels if isinstance(level, str) else kind.budget
    if not fits:
        known = ", ".join(kind.levels) + (", or a number of tokens" if kind.budget else "")
        raise ValueError(f"{name.short} knows no reasoning of {level}: it takes {known}")


def _check_tokens(settings: ModelSettings, kind: Family, name: ModelName) -> None:
    """Anthropic counts reasoning among ``max_tokens``, and wants a least number of it."""
    tokens = tokens_of(settings.reasoning or "none")
    if name.protocol != "messages" or not tokens:
        return
    if tokens < LEAST_BUDGET:
        raise ValueError(f"{name.short} reasons with {LEAST_BUDGET:,} tokens at least")
    if kind.budget and settings.max_tokens is not None and settings.max_tokens <= tokens:
        raise ValueError(
            f"{name.short} counts its {tokens:,} tokens of reasoning among max_tokens: "
            f"set that above {tokens:,}"
        )


def routes(settings: ModelSettings, name: ModelName) -> tuple[Route, ...]:
    """How a model with these settings can be asked for an answer of a given form."""
    ways = family(name).routes
    if name.protocol == "messages" and settings.reasoning not in (None, "none"):
        return tuple(way for way in ways if way != "tool")  # no tool can be demanded of it then
    return ways


@lru_cache(maxsize=1024)
def wire(settings: ModelSettings, model: str) -> dict[str, Any]:
    """The settings as they go over the wire to this model. Not to be changed: it is kept.

    Raises:
        ValueError: the model does not take them.

    >>> wire(ModelSettings(max_tokens=300, reasoning="low"), "openai/o3")
    {'max_completion_tokens': 300, 'reasoning_effort': 'low'}
    """
    check_settings(settings, model)
    name = ModelName.parse(model)
    kind = family(name)
    given = settings.model_dump(exclude_none=True, exclude={"reasoning"}, mode="json")
    sent: dict[str, Any] = {kind.settings[setting]: value for setting, value in given.items()}
    if settings.reasoning is not None and kind.reasoning is not None:
        sent |= kind.reasoning(settings.reasoning)
    if settings.stream and name.protocol == "chat":
        sent["stream_options"] = {"include_usage": True}  # or the tokens go untold
    if kind.answer_tokens:
        tokens = kind.answer_tokens + tokens_of(settings.reasoning or "none")
        sent.setdefault(kind.settings["max_tokens"], tokens)
    return sent | dict(kind.always)


def most_tokens(settings: ModelSettings, model: str) -> int | None:
    """Tokens that an answer of this model may have at the most, reasoning included; None where
    nothing says so.

    >>> most_tokens(ModelSettings(), "anthropic/claude-opus-4-1")
    4096
    """
    name = family(ModelName.parse(model)).settings.get("max_tokens")
    found = wire(settings, model).get(name) if name else None
    return found if isinstance(found, int) else None
