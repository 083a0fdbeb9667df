"""Settings of models: checked before a run, mapped for the wire by a table, never dropped."""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from cheaptalk.models.calls import AskedRoute, ModelSettings, Reasoning, Route
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.providers import SAMPLING, Family, ReasoningForm

BUDGETS = {"minimal": 1_024, "low": 4_096, "medium": 8_192, "high": 16_384}
"""Tokens of reasoning that a level stands for where a provider wants their number."""
LEAST_BUDGET = 1_024
"""Tokens of reasoning below which Anthropic refuses a budget."""


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


def _thinking(level: Reasoning) -> dict[str, Any]:
    if level == "none":
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "enabled"}, "reasoning_effort": level}


REASONING: Mapping[ReasoningForm, Callable[[Reasoning], dict[str, Any]]] = {
    "level": _level,
    "effort": _effort,
    "switch": _switch,
    "budget": _budget,
    "adaptive": _adaptive,
    "gemini": _gemini,
    "openrouter": _openrouter,
    "thinking": _thinking,
}
"""What a level of reasoning becomes, by the form in which models take it."""


def family(name: ModelName) -> Family:
    """The family of a model.

    >>> family(ModelName.parse("openai/o3-mini")).levels
    ('low', 'medium', 'high')
    """
    return next(one for one in name.entry.models if fnmatchcase(name.model, one.pattern))


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
    level = settings.reasoning or ("high" if kind.reasons else "none")
    if kind.either and level != "none":
        for setting in SAMPLING:
            if setting in given:
                raise ValueError(
                    f"{name.short} takes no {setting} while it reasons: leave it out"
                    + (", or set reasoning to none" if "none" in kind.levels else "")
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


def wire(settings: ModelSettings, model: str) -> dict[str, Any]:
    """The settings as they go over the wire to this model. Not to be changed: it is kept.

    Raises:
        ValueError: the model does not take them.

    >>> wire(ModelSettings(max_tokens=300, reasoning="low"), "openai/o3")
    {'max_completion_tokens': 300, 'reasoning_effort': 'low'}
    """
    name = ModelName.parse(model)
    return _wire(settings, model, family(name))


@lru_cache(maxsize=1024)
def _wire(settings: ModelSettings, model: str, kind: Family) -> dict[str, Any]:
    check_settings(settings, model)
    given = settings.model_dump(exclude_none=True, exclude={"reasoning"}, mode="json")
    sent: dict[str, Any] = {kind.settings[setting]: value for setting, value in given.items()}
    if settings.reasoning is not None and kind.reasoning is not None:
        sent |= REASONING[kind.reasoning](settings.reasoning)
    if settings.stream:
        sent |= dict(kind.streamed)
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
