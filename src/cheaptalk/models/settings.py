"""Model settings: validated before a run and converted to request fields."""

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from cheaptalk.models.calls import AskedRoute, ModelSettings, Reasoning, Route
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.providers import SAMPLING, Family, ReasoningForm

BUDGETS = {"minimal": 1_024, "low": 4_096, "medium": 8_192, "high": 16_384}
"""Reasoning tokens of each level, for providers that require a number."""
LEAST_BUDGET = 1_024
"""Anthropic's minimum number of reasoning tokens."""


def tokens_of(level: Reasoning) -> int:
    """Return the number of reasoning tokens for a reasoning level.

    >>> tokens_of("low"), tokens_of(2_000), tokens_of("none")
    (4096, 2000, 0)
    """
    return BUDGETS.get(level, 0) if isinstance(level, str) else level


def reasoning_fields(form: ReasoningForm, level: Reasoning) -> dict[str, Any]:
    """Return the request fields of a reasoning level in a format.

    >>> reasoning_fields("openrouter", 2_000), reasoning_fields("switch", "none")
    ({'reasoning': {'max_tokens': 2000}}, {'chat_template_kwargs': {'enable_thinking': False}})
    """
    match form, level:
        case "level", _:
            return {"reasoning": level}
        case "switch", _:
            return {"chat_template_kwargs": {"enable_thinking": level != "none"}}
        case "budget" | "thinking", "none":
            return {"thinking": {"type": "disabled"}}
        case "budget", _:
            return {"thinking": {"type": "enabled", "budget_tokens": tokens_of(level)}}
        case "thinking", _:
            return {"thinking": {"type": "enabled"}, "reasoning_effort": level}
        case "adaptive", _:
            return {"thinking": {"type": "adaptive"}, "output_config": {"effort": level}}
        case "openrouter", _:
            return {"reasoning": {"effort" if isinstance(level, str) else "max_tokens": level}}
        case "gemini", int():
            return {"extra_body": {"google": {"thinking_config": {"thinking_budget": level}}}}
    return {"reasoning_effort": level}


def family(name: ModelName) -> Family:
    """Return the family of a model, which defines its supported settings.

    >>> family(ModelName.parse("openai/o3-mini")).levels
    ('low', 'medium', 'high')
    """
    return next(
        candidate for candidate in name.entry.models if fnmatchcase(name.model, candidate.pattern)
    )


def check_settings(settings: ModelSettings, model: str, answers: AskedRoute = "auto") -> None:
    """Check that a model supports all settings and the answer format.

    Raises:
        ValueError: the model does not support one of them; the message contains the solution.

    >>> check_settings(ModelSettings(seed=7), "anthropic/claude-opus-4-1")
    Traceback (most recent call last):
        ...
    ValueError: anthropic/claude-opus-4-1 does not support seed: remove it
    """
    name = ModelName.parse(model)
    kind = family(name)
    values = settings.model_dump(exclude_none=True, exclude={"reasoning"})
    for setting in values:
        if setting not in kind.settings:
            raise ValueError(f"{name.short} does not support {setting}: remove it")
    if (values.get("temperature") or 0) > kind.hottest:
        raise ValueError(f"{name.short} supports temperatures up to {kind.hottest:g}")
    _check_reasoning(settings, kind, name)
    if answers != "auto" and answers not in routes(settings, name):
        options = " or ".join(routes(settings, name))
        raise ValueError(
            f"{name.short} does not support answers: {answers}; set answers to {options}"
        )


def _check_reasoning(settings: ModelSettings, kind: Family, name: ModelName) -> None:
    """Check the reasoning level, and Anthropic's limits of reasoning tokens."""
    level = settings.reasoning or ("high" if kind.reasons else "none")
    if settings.reasoning is not None:
        if kind.reasoning is None:
            raise ValueError(f"{name.short} has no reasoning setting: remove it")
        if not (level in kind.levels if isinstance(level, str) else kind.budget):
            options = ", ".join(kind.levels) + (", or a number of tokens" if kind.budget else "")
            raise ValueError(f"{name.short} does not support reasoning: {level}; use {options}")
    for setting in SAMPLING if kind.either and level != "none" else ():
        if getattr(settings, setting) is not None:
            raise ValueError(
                f"{name.short} does not support {setting} with reasoning: remove it"
                + (", or set reasoning to none" if "none" in kind.levels else "")
            )
    tokens = tokens_of(settings.reasoning or "none")
    if name.protocol != "messages" or not tokens:
        return
    if tokens < LEAST_BUDGET:
        raise ValueError(f"{name.short} requires at least {LEAST_BUDGET:,} reasoning tokens")
    if kind.budget and settings.max_tokens is not None and settings.max_tokens <= tokens:
        raise ValueError(
            f"{name.short} counts its {tokens:,} reasoning tokens towards max_tokens: "
            f"set it above {tokens:,}"
        )


def routes(settings: ModelSettings, name: ModelName) -> tuple[Route, ...]:
    """Return the answer formats that a model supports with given settings."""
    available = family(name).routes
    # With reasoning, tool calls cannot be forced, and a schema in this process would exclude it.
    excluded = {"messages": "tool", "in process": "schema"}.get(name.protocol)
    if excluded is not None and settings.reasoning not in (None, "none"):
        return tuple(route for route in available if route != excluded)
    return available


def wire(settings: ModelSettings, model: str) -> dict[str, Any]:
    """Return the request fields for settings as a cached mapping that must not be changed.

    >>> wire(ModelSettings(max_tokens=300, reasoning="low"), "openai/o3")
    {'max_completion_tokens': 300, 'reasoning_effort': 'low'}
    """
    name = ModelName.parse(model)
    return _wire(settings, model, family(name))


@lru_cache(maxsize=1024)
def _wire(settings: ModelSettings, model: str, kind: Family) -> dict[str, Any]:
    check_settings(settings, model)
    values = settings.model_dump(exclude_none=True, exclude={"reasoning"}, mode="json")
    sent: dict[str, Any] = {kind.settings[setting]: value for setting, value in values.items()}
    if settings.reasoning is not None and kind.reasoning is not None:
        sent |= reasoning_fields(kind.reasoning, settings.reasoning)
    if settings.stream:
        sent |= dict(kind.streamed)
    if kind.answer_tokens:
        tokens = kind.answer_tokens + tokens_of(settings.reasoning or "none")
        sent.setdefault(kind.settings["max_tokens"], tokens)
    return sent | dict(kind.always)


def most_tokens(settings: ModelSettings, model: str) -> int | None:
    """Return the maximum tokens of an answer, including reasoning; None if unlimited.

    >>> most_tokens(ModelSettings(), "anthropic/claude-opus-4-1")
    4096
    """
    name = family(ModelName.parse(model)).settings.get("max_tokens")
    limit = wire(settings, model).get(name) if name else None
    return limit if isinstance(limit, int) else None


def most_characters(settings: ModelSettings, model: str) -> int:
    """Return the maximum characters of a text that an in-process model writes within a schema.

    A model that does not end its message would otherwise reach its token limit within the answer.
    A third of its tokens suffices, because rare characters take two or three tokens.

    >>> most_characters(ModelSettings(), "smollm2")
    341
    """
    return (most_tokens(settings, model) or 0) // 3
