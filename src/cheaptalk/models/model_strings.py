"""Model strings: ``provider/NAME`` or ``provider/NAME@URL``."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import NamedTuple
from urllib.parse import urlsplit

from cheaptalk.models.prices import own_prices, read_prices
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
from cheaptalk.rules import UnknownName, unknown

OWN_KEY = "a server's key stands in an environment variable that its entry in providers.yaml names"
VERSION = re.compile(r"v?\d[\w-]*|[\da-f]{7,40}|default|latest|stable|preview")
"""What stands behind an at sign in a name: a version, as in ``claude-sonnet-4@20250514``."""
GUEST = re.compile(r"\w[\w.-]*", re.ASCII)
"""What a guest is called: its name stands in a URL."""
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
        entry = PROVIDERS.get(text.partition("/")[0])
        return _parsed(text, entry.protocol if entry else None, entry.address if entry else "")

    @property
    def entry(self) -> Provider:
        """What is known of its provider."""
        return PROVIDERS[self.provider]

    @property
    def short(self) -> str:
        """The model without its address."""
        return f"{self.provider}/{self.model}"

    @property
    def protocol(self) -> Protocol:
        """How the model is spoken to."""
        return self.entry.protocol

    @property
    def at_home(self) -> bool:
        """Whether it is at its provider's own scheme, host and port."""
        return origin(self.url) == origin(self.entry.address)

    def endpoint(self, path: str) -> str:
        """The URL of a path behind its own, before a query if it has one.

        >>> ModelName("vllm", "tiny", "http://gpu/v1?version=2").endpoint("messages")
        'http://gpu/v1/messages?version=2'
        """
        base, mark, query = self.url.partition("?")
        return f"{base.rstrip('/')}/{path}{mark}{query}"

    @property
    def key(self) -> str | None:
        """The key that is sent, from the environment: only to the provider's own host."""
        return self.entry.secret_for(self.url)

    @property
    def key_header(self) -> dict[str, str]:
        """The header that carries the key; none where no key is sent."""
        return self.entry.key_header(self.key)


@lru_cache(maxsize=1024)
def _parsed(text: str, protocol: Protocol | None, usual: str) -> ModelName:
    """A model string taken apart.

    Args:
        protocol: that of its provider; None where nothing is known of it.
        usual: where its provider is.
    """
    refuse_secrets(text)
    provider, slash, rest = text.partition("/")
    if not slash or not rest:
        cure = hint(text) or (
            f"write provider/NAME or provider/NAME@URL, with a provider of {', '.join(PROVIDERS)}"
        )
        raise ValueError(f'"{text}" is no model string: {cure}')
    if rest != rest.strip():
        raise ValueError(f'"{text}" begins or ends its name with a blank: leave it out')
    if protocol is None:
        raise _no_provider(provider, rest)
    if protocol in ("in process", "guest"):
        _check_guest(text, protocol, rest)
        return ModelName(provider, rest, "")
    found = re.fullmatch(rf"(.+?)@({SCHEME}[^/\s].*)", rest)
    if found:
        name, url = found[1], re.sub(SCHEME, lambda scheme: scheme[0].lower(), found[2], count=1)
    else:
        name, url = rest, usual
        _check_at_sign(provider, rest, usual)
    if protocol == "script":
        if found or name not in SCRIPTS:
            raise unknown("scripted model", rest, list(SCRIPTS))
    elif not url:
        raise ValueError(f'"{text}": say where it listens: {provider}/{name}@http://HOST:PORT/PATH')
    if found and (problem := url_problem(url)):
        raise ValueError(f"{provider}/{name}: {problem}")
    return ModelName(provider, name, url.rstrip("/"))


def _check_guest(text: str, protocol: Protocol, name: str) -> None:
    """Refuse a guest's name that none can have.

    Raises:
        ValueError: it is one.
    """
    if protocol == "guest" and not GUEST.fullmatch(name):
        raise ValueError(
            f'"{text}": a guest has no address, and its name is of letters, digits, dots, dashes '
            "and underscores: write guest/NAME"
        )


def _check_at_sign(provider: str, name: str, usual: str) -> None:
    """Refuse a name with an address behind an at sign that is no URL.

    Raises:
        ValueError: it has one; what may be a secret is not repeated.
    """
    model, at, tail = name.partition("@")
    if not (model and at) or VERSION.fullmatch(tail):  # some names begin with an at sign
        return
    host = re.sub(r"^(https?:/*|\w+://)", "", tail, flags=re.IGNORECASE)
    refuse_secrets(f"{provider}/{model}@http://{host}")
    if "." not in host and is_key(host):
        raise _secret(f"{provider}/{model}", "leave the key out")
    begun, colon, _ = model.partition(":")
    shown = f"{begun}{colon and ':...'}"  # behind it may stand a password
    whole = f"{provider}/{shown}@{tail}@{usual or 'http://HOST:PORT/PATH'}"
    raise ValueError(
        f"{provider}/{shown}: a URL begins with http:// or https://: write {provider}/{shown}@http://"
        f'{host or "HOST:PORT/PATH"}, or {whole} if "@{tail}" is part of the name'
    )


def refuse_secrets(text: str) -> None:
    """Refuse a text with a URL that holds a secret, before anything repeats it.

    Raises:
        ValueError: it does; the message does not repeat the URL.
    """
    found = re.search(SCHEME, text)
    problem = found and secret_problem(text[found.start() :])
    if found and problem:
        model = text[: found.start()].rstrip("@") or "a model's URL"
        raise _secret(model, problem)


def _secret(model: str, problem: str) -> ValueError:
    return ValueError(f"{model}: {problem}, for a model string is stored and shown; {OWN_KEY}")


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
    usual = name.entry.address
    if name.url == usual or (bare and not usual):
        return name.short
    return f"{name.short}@{urlsplit(name.url).netloc}"


def _no_provider(written: str, rest: str) -> ValueError | UnknownName:
    """What to say of a provider that nothing is known of: it may be a URL, or a maker's name."""
    if written.casefold() in ("http:", "https:"):
        return ValueError(
            f'"{written}/{rest}" is a URL alone: write openai-compatible/NAME@{written}/{rest}, or '
            f"agent/NAME@{written}/{rest} for an agent of your own"
        )
    if known := advice(written, rest):
        return UnknownName(f'unknown provider "{written}": {known}')
    found = unknown_provider(written)
    if "did you mean" in str(found):
        return found
    cure = _makers_hint(rest.casefold()) or "for any other server write openai-compatible/NAME@URL"
    return UnknownName(f"{found}; {cure}")


def hint(text: str) -> str:
    """How to write what looks like a model without its provider; empty where nothing does.

    >>> hint("gpt-4o"), hint("ollama:llama3.2"), hint("linear")
    ('for the model write openai/gpt-4o', 'for the model write ollama/llama3.2', '')
    >>> hint("gpt4o")
    'a model is written with its provider, such as openai/gpt-4o'
    >>> hint("mistral"), hint("google")
    ('for a model write mistral/NAME', 'for a model write gemini/NAME')
    """
    provider, colon, rest = text.partition(":")
    if colon and rest and provider in PROVIDERS:
        return f"for the model write {provider}/{rest}"
    alone = text.removesuffix("/")
    if written := f"write {alone}/NAME" if alone in PROVIDERS else advice(alone, "NAME"):
        return f"for a model {written}"
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
    return {name: provider for provider, _, name in parts if is_maker(provider)}


def is_maker(provider: str) -> bool:
    """Whether a provider serves the models that it makes itself."""
    return provider in PROVIDERS and PROVIDERS[provider].maker


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
    if name.at_home and (trouble := name.entry.trouble):
        return trouble
    if name.protocol == "guest":
        return (
            f"{model} comes by itself, and only to studies: play it with cheaptalk run, or with "
            "ct.run(..., guests=...)"
        )
    if name.protocol == "in process" and not all(map(find_spec, IN_PROCESS_NEEDS)):
        return 'a model in this process needs: pip install "cheaptalk[lm]"'
    return None
