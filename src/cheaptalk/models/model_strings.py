"""Model strings: ``provider/NAME`` or ``provider/NAME@URL``."""

import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from cheaptalk.models.prices import own_prices, read_prices
from cheaptalk.rules import UnknownName, unknown
from cheaptalk.rules.registry import Registry, instances, several

Protocol = Literal["chat", "messages", "agent", "in process", "script"]
"""How a provider is spoken to: in OpenAI's chat format, in Anthropic's messages format, as an
agent over HTTP, as a model loaded into this process, or as a script that only acts the model."""


class Provider(NamedTuple):
    """Where a provider is and which environment variable holds its key.

    Attributes:
        url: where it listens; empty where the model string has to say, or where nothing listens.
        key: the environment variable of the key; empty where there is none.
        needs_key: false for what people run themselves: a key is sent there only if it is set.
        protocol: how it is spoken to.
    """

    url: str
    key: str
    needs_key: bool = True
    protocol: Protocol = "chat"

    @property
    def secret(self) -> str | None:
        """The key, from the environment; None where none is set."""
        return (self.key and os.environ.get(self.key, "").strip()) or None

    @property
    def garbled(self) -> str | None:
        """That the key cannot be sent as it stands, and what to do; None where it can."""
        if self.secret is None or self.secret.isprintable():
            return None
        return f"{self.key} holds a line break or the like inside: set it again, in one line"


OURS = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": Provider("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", protocol="messages"),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "together": Provider("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "vllm": Provider("http://localhost:8000/v1", "VLLM_API_KEY", needs_key=False),
    "ollama": Provider("http://localhost:11434/v1", "OLLAMA_API_KEY", needs_key=False),
    "openai-compatible": Provider("", "OPENAI_COMPATIBLE_API_KEY", needs_key=False),
    "agent": Provider("", "AGENT_API_KEY", needs_key=False, protocol="agent"),
    "hf": Provider("", "", needs_key=False, protocol="in process"),
    "script": Provider("", "", needs_key=False, protocol="script"),
}
PROVIDERS: Registry[Provider] = Registry(
    "provider", "cheaptalk.providers", instances(Provider), several
)
"""Whoever can be asked, by the first part of a model string."""
MAKERS = ("openai", "anthropic", "gemini")
"""Providers whose models' names begin alike."""
IN_PROCESS_NEEDS = ("torch", "transformers")
"""The packages that a model in this process needs: the extra ``lm``."""


class ModelName(NamedTuple):
    """A model string taken apart.

    >>> ModelName.parse("vllm/qwen2@http://localhost:9000/v1")
    ModelName(provider='vllm', model='qwen2', url='http://localhost:9000/v1')
    >>> ModelName.parse("openai/gpt-4o").url
    'https://api.openai.com/v1'
    """

    provider: str
    model: str
    url: str

    @classmethod
    def parse(cls, text: str) -> "ModelName":
        """Read a model string.

        Raises:
            ValueError: it does not name a provider and a model, or not where to find it.
            UnknownName: nothing is known of the provider.
        """
        return _parsed(text)

    @property
    def short(self) -> str:
        """The model without its address."""
        return f"{self.provider}/{self.model}"

    @property
    def protocol(self) -> Protocol:
        """How the model is spoken to."""
        return PROVIDERS[self.provider].protocol

    @property
    def key(self) -> str | None:
        """The key, from the environment; None where none is set."""
        return PROVIDERS[self.provider].secret


@lru_cache(maxsize=1024)
def _parsed(text: str) -> ModelName:
    provider, slash, rest = text.partition("/")
    if not slash or not rest:
        cure = hint(text) or (
            f"write provider/NAME or provider/NAME@URL, with a provider of {', '.join(PROVIDERS)}"
        )
        raise ValueError(f'"{text}" is no model string: {cure}')
    if rest != rest.strip():
        raise ValueError(f'"{text}" begins or ends its name with a blank: leave it out')
    if provider not in PROVIDERS:
        raise _no_provider(provider, rest)
    known = PROVIDERS[provider]
    if known.protocol == "in process":
        return ModelName(provider, rest, "")
    found = re.fullmatch(r"(.+?)@(https?://[^/\s].*)", rest)
    tail = rest.rpartition("@")[2]
    if not found and "@" in rest and re.search(r"[:/.]|^localhost$", tail):
        raise ValueError(f'"{text}": a URL begins with http:// or https://, not "{tail}"')
    name, url = found.groups() if found else (rest, known.url)
    if known.protocol == "script":
        if found or name not in SCRIPTS:
            raise unknown("scripted model", rest, list(SCRIPTS))
    elif not url:
        raise ValueError(f'"{text}": say where it listens: {provider}/{name}@http://HOST:PORT/PATH')
    parsed = ModelName(provider, name, url.rstrip("/"))
    _check_url(parsed, known.key)
    return parsed


def short_names(models: Iterable[str]) -> dict[str, str]:
    """Model strings by shorter names for a table, of which no two are alike.

    A URL is left out where a model string of this provider always has one, or shrinks to its host;
    where that is not enough to tell all models apart, none loses more than all can.

    >>> short_names(["openai-compatible/a@http://gpu:81/v1", "vllm/b@http://gpu:82/v1"]).values()
    dict_values(['openai-compatible/a', 'vllm/b@gpu:82'])
    """
    whole = list(dict.fromkeys(models))
    for bare in (True, False):
        short = [_short(model, bare=bare) for model in whole]
        if len({*short}) == len(whole):
            return dict(zip(whole, short, strict=True))
    return {model: model for model in whole}


def _short(model: str, *, bare: bool) -> str:
    try:
        name = ModelName.parse(model)
    except (ValueError, UnknownName):  # of another version
        return model
    usual = PROVIDERS[name.provider].url
    if name.url == usual or (bare and not usual):
        return name.short
    return f"{name.short}@{urlsplit(name.url).netloc}"


def _no_provider(written: str, rest: str) -> ValueError | UnknownName:
    """What to say of a provider that nothing is known of: it may be a URL, or a maker's name."""
    if written in ("http:", "https:"):
        return ValueError(
            f'"{written}/{rest}" is a URL alone: write openai-compatible/NAME@{written}/{rest}'
        )
    found = unknown("provider", written, list(PROVIDERS))
    cure = _makers_hint(rest.casefold())
    return UnknownName(f"{found}; {cure}") if cure and "did you mean" not in str(found) else found


def _check_url(name: ModelName, key: str) -> None:
    if re.search(r"//[^/?#]*@", name.url):
        raise ValueError(
            f"{name.short}: leave user and password out of its URL, for a model string is stored "
            f"and shown; a key belongs in the environment variable {key}"
        )
    try:
        _ = urlsplit(name.url).port
    except ValueError:
        raise ValueError(f'"{name.url}": its port is no number from 0 to 65535') from None


def hint(text: str) -> str:
    """How to write what looks like a model without its provider; empty where nothing does.

    >>> hint("gpt-4o"), hint("ollama:llama3.2"), hint("linear")
    ('for the model write openai/gpt-4o', 'for the model write ollama/llama3.2', '')
    >>> hint("gpt4o")
    'a model is written with its provider, such as openai/gpt-4o'
    """
    provider, colon, rest = text.partition(":")
    if colon and rest and provider in PROVIDERS:
        return f"for the model write {provider}/{rest}"
    digits = "/" not in text and any(letter.isdigit() for letter in text)
    other = f"a model is written with its provider, such as ollama/{text}" if digits else ""
    return _makers_hint(text.casefold()) or other


def _makers_hint(name: str) -> str:
    known = _known()
    if name in known:
        return f"for the model write {known[name]}/{name}"
    if name.startswith(tuple(one.partition("-")[0] for one in known)):
        near = get_close_matches(name, known, n=1, cutoff=0)[0]
        return f"a model is written with its provider, such as {known[near]}/{near}"
    return ""


@cache
def _known() -> dict[str, str]:
    """The providers of models whose price is known, by the models' names."""
    patterns = (one for price in read_prices(own_prices()) for one in price.models)
    parts = [one.partition("/") for one in patterns if "*" not in one]
    return {name: provider for provider, _, name in parts if provider in MAKERS}


SCRIPTS = {
    "legal": "answers every question legally, as the game's random strategy would",
    "echo": "repeats the last message, which is no answer",
    "silent": "answers with nothing",
    "refuse": "declines to answer",
    "fail": "never works: every call is an error of the provider",
}
"""Models that only act as if, by name: they cost nothing and need no server."""


def missing(model: str) -> str | None:
    """What must be done before a model can be asked: a sentence, or None where nothing is missing.

    Raises:
        ValueError: it is no model string.
        UnknownName: nothing is known of the provider.
    """
    name = ModelName.parse(model)
    provider = PROVIDERS[name.provider]
    if provider.needs_key and not name.key:
        return f"set the environment variable {provider.key}"
    if provider.garbled:
        return provider.garbled
    if name.protocol == "in process" and not all(map(find_spec, IN_PROCESS_NEEDS)):
        return 'a model in this process needs: pip install "cheaptalk[lm]"'
    return None
