"""Model strings: ``provider/NAME`` or ``provider/NAME@URL``."""

import re
from typing import NamedTuple

from cheaptalk.rules import unknown


class Provider(NamedTuple):
    """Where a provider's chat endpoint is and which environment variable holds its key.

    ``needs_key`` is false for servers that people run themselves.
    """

    url: str
    key: str
    needs_key: bool = True


PROVIDERS = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "together": Provider("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "vllm": Provider("http://localhost:8000/v1", "VLLM_API_KEY", needs_key=False),
    "ollama": Provider("http://localhost:11434/v1", "OLLAMA_API_KEY", needs_key=False),
}
"""Providers that speak the OpenAI chat format."""


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
            ValueError: it does not name a provider and a model.
            UnknownName: nothing is known of the provider.
        """
        provider, slash, rest = text.partition("/")
        if not slash or not rest:
            raise ValueError(
                f'"{text}" is no model string: write provider/NAME or provider/NAME@URL, '
                f"with a provider of {', '.join(PROVIDERS)}"
            )
        if provider not in PROVIDERS:
            raise unknown("provider", provider, list(PROVIDERS))
        found = re.fullmatch(r"(.+?)@(https?://.+)", rest)
        tail = rest.rpartition("@")[2]
        if not found and "@" in rest and re.search(r"[:/.]|^localhost$", tail):
            raise ValueError(f'"{text}": a URL begins with http:// or https://, not "{tail}"')
        name, url = found.groups() if found else (rest, PROVIDERS[provider].url)
        return cls(provider, name, url.rstrip("/"))
