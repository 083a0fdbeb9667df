"""Model strings: ``provider/NAME``, ``provider/NAME@URL``, or the name of a packaged model."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from cheaptalk.models.local.files import PACKAGED, missing_files, packaged_like
from cheaptalk.models.prices import package_prices
from cheaptalk.models.providers import (
    PROVIDERS,
    SCHEME,
    Protocol,
    Provider,
    advice,
    is_key,
    origin,
    secret_problem,
    unknown_provider,
    url_problem,
)
from cheaptalk.renamed import RENAMED_PROVIDERS
from cheaptalk.rules import UnknownName, WrongValue, unknown

OWN_KEY = "set a server's key in the environment variable of its entry in providers.yaml"
VERSION = re.compile(r"v?\d[\w-]*|[\da-f]{7,40}|default|latest|stable|preview")
"""Version suffixes after an at sign, as in ``claude-sonnet-4@20250514``."""
AGENT = re.compile(r"\w[\w.-]*", re.ASCII)
"""Valid names of remote agents, which appear in URLs."""


class ModelName(NamedTuple):
    """A parsed model string.

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
        """Parse a model string.

        Raises:
            WrongValue: the text lacks a provider, a model or a required URL.
            UnknownName: the provider is unknown.
        """
        text = canonical(text)
        entry = PROVIDERS.get(text.partition("/")[0])
        return _parsed(text, entry.protocol if entry else None, entry.address if entry else "")

    @property
    def entry(self) -> Provider:
        return PROVIDERS[self.provider]

    @property
    def short(self) -> str:
        """The model string without its URL."""
        return f"{self.provider}/{self.model}"

    @property
    def protocol(self) -> Protocol:
        return self.entry.protocol

    @property
    def at_home(self) -> bool:
        """Whether the URL has the provider's own scheme, host and port."""
        return origin(self.url) == origin(self.entry.address)

    def endpoint(self, path: str) -> str:
        """Append a path to the model's URL, keeping its query string.

        >>> ModelName("vllm", "tiny", "http://gpu/v1?version=2").endpoint("messages")
        'http://gpu/v1/messages?version=2'
        """
        base, mark, query = self.url.partition("?")
        return f"{base.rstrip('/')}/{path}{mark}{query}"

    @property
    def key(self) -> str | None:
        """The provider's key from the environment, sent only to the provider's own host."""
        return self.entry.secret_for(self.url)

    @property
    def key_header(self) -> dict[str, str]:
        """The HTTP header with the key; empty if there is no key."""
        return self.entry.key_header(self.key)


def canonical(text: str) -> str:
    """Return a model string with its provider, which the name of a packaged model lacks.

    >>> canonical("smollm2"), canonical("openai/gpt-4o")
    ('hf/smollm2', 'openai/gpt-4o')
    """
    return f"hf/{text}" if text in PACKAGED else text


@lru_cache(maxsize=1024)
def _parsed(text: str, protocol: Protocol | None, usual: str) -> ModelName:
    """Parse a model string, given the protocol and default URL of its provider."""
    refuse_secrets(text)
    provider, slash, rest = text.partition("/")
    if not slash or not rest:
        cure = hint(text) or (
            f"write provider/NAME or provider/NAME@URL, with a provider of {', '.join(PROVIDERS)}"
        )
        raise WrongValue(f'"{text}" is not a model string: {cure}')
    if rest != rest.strip():
        raise WrongValue(f'"{text}" has a space at the start or end of the name: remove it')
    if protocol is None:
        raise _no_provider(provider, rest)
    if protocol == "remote" and not AGENT.fullmatch(rest):
        raise WrongValue(
            f'"{text}": a remote agent has no URL, and its name can contain letters, digits, dots, '
            "dashes and underscores: write remote/NAME"
        )
    if protocol in ("in process", "remote"):
        return ModelName(provider, rest, "")
    match = re.fullmatch(rf"(.+?)@({SCHEME}[^/\s].*)", rest)
    if match:
        name, url = match[1], re.sub(SCHEME, lambda scheme: scheme[0].lower(), match[2], count=1)
    else:
        name, url = rest, usual
        _check_at_sign(provider, rest, usual)
    if protocol == "script" and (match or name not in SCRIPTS):
        raise unknown("scripted model", rest, list(SCRIPTS))
    if protocol != "script" and not url:
        raise WrongValue(
            f'"{text}": add the URL of the server: {provider}/{name}@http://HOST:PORT/PATH'
        )
    if match and (problem := url_problem(url)):
        raise WrongValue(f"{provider}/{name}: {problem}")
    return ModelName(provider, name, url.rstrip("/"))


def _check_at_sign(provider: str, name: str, usual: str) -> None:
    """Raise ValueError if an at sign in a model's name isn't followed by a version."""
    model, separator, tail = name.partition("@")
    if not (model and separator) or VERSION.fullmatch(tail):  # some names begin with an at sign
        return
    host = re.sub(r"^(https?:/*|\w+://)", "", tail, flags=re.IGNORECASE)
    refuse_secrets(f"{provider}/{model}@http://{host}")
    if "." not in host and is_key(host):
        raise _secret(f"{provider}/{model}", "remove the key")
    begun, colon, _ = model.partition(":")
    prefix = f"{begun}{colon and ':...'}"  # a password may follow
    example = f"{provider}/{prefix}@{tail}@{usual or 'http://HOST:PORT/PATH'}"
    raise WrongValue(
        f"{provider}/{prefix}: a URL starts with http:// or https://: write {provider}/{prefix}@http://"
        f'{host or "HOST:PORT/PATH"}, or {example} if "@{tail}" is part of the name'
    )


def refuse_secrets(text: str) -> None:
    """Raise ValueError, without repeating the URL, if a model string contains a secret."""
    match = re.search(SCHEME, text)
    problem = match and secret_problem(text[match.start() :])
    if match and problem:
        model = text[: match.start()].rstrip("@") or "a model's URL"
        raise _secret(model, problem)


def _secret(model: str, problem: str) -> ValueError:
    why = "because model strings are stored and displayed"
    return ValueError(f"{model}: {problem}, {why}; {OWN_KEY}")


def short_names(models: Iterable[str]) -> dict[str, str]:
    """Return short, unique names for model strings, for use in tables.

    URLs are omitted or shortened to their hosts if all names remain unique.

    >>> short_names(["openai-compatible/a@http://gpu:81/v1", "vllm/b@http://gpu:82/v1"]).values()
    dict_values(['openai-compatible/a', 'vllm/b@gpu:82'])
    """
    distinct = list(dict.fromkeys(models))
    for bare in (True, False):
        short = [_short(model, bare=bare) for model in distinct]
        if len({*short}) == len(distinct):
            return dict(zip(distinct, short, strict=True))
    return {model: model for model in distinct}


def _short(model: str, *, bare: bool) -> str:
    try:
        name = ModelName.parse(model)
    except (ValueError, UnknownName):  # from another version
        return model
    usual = name.entry.address
    if name.url == usual or (bare and not usual):
        return name.short
    return f"{name.short}@{urlsplit(name.url).netloc}"


def _no_provider(provider: str, model: str) -> ValueError | UnknownName:
    if provider.casefold() in ("http:", "https:"):
        return ValueError(
            f'"{provider}/{model}" is a URL without a model: write '
            f"openai-compatible/NAME@{provider}/{model}, or "
            f"agent/NAME@{provider}/{model} for your own agent"
        )
    if correction := advice(provider, model):
        return UnknownName(f'unknown provider "{provider}": {correction}')
    if new_name := RENAMED_PROVIDERS.get(provider):
        return UnknownName(f'unknown provider "{provider}"; use its new name, "{new_name}"')
    problem = unknown_provider(provider)
    if "did you mean" in str(problem):
        return problem
    cure = _makers_hint(model.casefold()) or "for any other server write openai-compatible/NAME@URL"
    return UnknownName(f"{problem}; {cure}; to add your own, see: cheaptalk model providers")


def hint(text: str) -> str:
    """Return a hint on how to write a text as a model string; empty if there is no hint.

    >>> hint("gpt-4o"), hint("ollama:llama3.2"), hint("linear")
    ('for the model write openai/gpt-4o', 'for the model write ollama/llama3.2', '')
    >>> hint("gpt4o")
    'a model is written with its provider, such as openai/gpt-4o'
    >>> hint("mistral"), hint("google")
    ('for a model write mistral/NAME', 'for a model write gemini/NAME')
    >>> hint("SmolLM")
    'did you mean the model "smollm2"?'
    """
    if packaged := packaged_like(text):
        return f'did you mean the model "{packaged}"?'
    provider, colon, model = text.partition(":")
    if colon and model and provider in PROVIDERS:
        return f"for the model write {provider}/{model}"
    name = text.removesuffix("/")
    correction = f"write {name}/NAME" if name in PROVIDERS else advice(name, "NAME")
    if correction:
        return f"for a model {correction}"
    digits = "/" not in text and any(letter.isdigit() for letter in text)
    suggestion = f"a model is written with its provider, such as ollama/{text}" if digits else ""
    return _makers_hint(text.casefold()) or suggestion


def _makers_hint(name: str) -> str:
    providers = _provider_by_model()
    if name in providers:
        return f"for the model write {providers[name]}/{name}"
    if name.startswith(tuple(model.partition("-")[0] for model in providers)):
        match = get_close_matches(name, providers, n=1, cutoff=0)[0]
        return f"a model is written with its provider, such as {providers[match]}/{match}"
    return ""


@cache
def _provider_by_model() -> dict[str, str]:
    """Return the provider of each model that has a known price."""
    patterns = (pattern for price in package_prices() for pattern in price.models)
    parts = [pattern.partition("/") for pattern in patterns if "*" not in pattern]
    makers = {provider for provider, entry in PROVIDERS.items() if entry.maker}
    return {name: provider for provider, _, name in parts if provider in makers}


SCRIPTS = {
    "legal": "answers every request legally, like the game's random strategy",
    "echo": "repeats the last message, which is not a valid answer",
    "silent": "gives empty answers",
    "refuse": "declines to answer",
    "fail": "always fails: every call is a provider error",
}
"""Scripted models by name, which need no server and cost nothing."""


def missing_requirement(model: str) -> str | None:
    """Return what a model requires before it can be called; None if nothing is missing.

    Raises:
        WrongValue: the text is not a model string.
        UnknownName: the provider is unknown.
    """
    name = ModelName.parse(model)
    if name.at_home and (trouble := name.entry.trouble):
        return trouble
    if name.protocol == "remote":
        return (
            f"{model} is a remote agent, which can only play in studies: use cheaptalk run, or "
            "ct.run(..., remote_agents=...)"
        )
    return missing_files(name.model) if name.protocol == "in process" else None
