"""Providers: where models are, whose key is sent there, how they are spoken to, what they take.

An entry says all that is known of a provider. Ours are in :mod:`cheaptalk.models.catalogue`, others
come with packages, from a user's file, or from ``ct.register``.
"""

import os
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)
from pydantic.dataclasses import dataclass

from cheaptalk.models.calls import ModelSettings, Route
from cheaptalk.rules import CheaptalkError, UnknownName, suggest, unknown
from cheaptalk.rules.errors import first_problem
from cheaptalk.rules.registry import Registry, instances, several
from cheaptalk.whole_files import configured_file
from cheaptalk.yaml_files import read_yaml

Protocol: TypeAlias = Literal["chat", "messages", "agent", "guest", "in process", "script"]
"""How a provider is spoken to: in OpenAI's chat format, in Anthropic's messages format, as an
agent over HTTP, as an agent that comes by itself, as a model loaded into this process, or as a
script that only acts the model."""
BatchProtocol: TypeAlias = Literal["openai", "anthropic"]
"""Whose batch endpoint a provider's is like."""
ReasoningForm: TypeAlias = Literal[
    "level", "effort", "switch", "budget", "adaptive", "gemini", "openrouter", "thinking"
]
"""How a level of reasoning is put; see :data:`~cheaptalk.models.settings.REASONING`."""
Level: TypeAlias = Literal["none", "minimal", "low", "medium", "high"]

VARIABLE = "CHEAPTALK_PROVIDERS"
"""The environment variable that names a user's file of providers."""
FILE = "cheaptalk/providers.yaml"
"""The file that is read where the variable names none, in ``XDG_CONFIG_HOME`` or ``~/.config``. It
is never one beside a study: who writes it says where keys go."""
HEADERS: Mapping[Protocol, str] = {"messages": "x-api-key"}
"""The headers that carry a key, by protocol; all others carry it as a bearer token."""
BEARER = "Authorization"
IN_URL = re.compile(r"\$\{([A-Z][A-Z0-9_]*)\}")
"""What stands in an entry's URL for the value of an environment variable."""
SECRET_NAME = re.compile(
    r"(?:^|[-_.]|api|access|client|id)"
    r"(?:keys?|tokens?|secrets?|auth|authorization|passw(?:or)?d|passwd|pwd|sig|signature|credentials?"
    r"|code)$",
    re.IGNORECASE,
)
"""What a part of a URL's query is called that holds a key."""
KEY = re.compile(
    r"(?:sk|rk|gsk|csk|hf|ghp|github_pat|r8|tgp)[-_][\w-]{8,}|(?:xai|nvapi|pplx|glpat)-[\w-]{8,}"
    r"|(?:AIza|ABSK|eyJ)[\w-]{16,}.*|bedrock-api-key-.+"
)
"""What a key looks like that tells whose it is by its beginning."""
RUN = re.compile(r"[a-zA-Z\d]{32,}")
"""A run of letters and digits as long as keys are; names have dashes between their words."""
HASH = re.compile(r"[\da-f]{32}", re.IGNORECASE)
"""What gateways call an account by, in the open."""
SCHEME = r"(?i:https?)://"
"""How a URL begins that a model can be asked at."""


class ProviderError(CheaptalkError, ValueError):
    """A file of providers that cannot be used: one line that names file, entry, field and cure."""


def same(*names: str) -> dict[str, str]:
    """Settings that are called on the wire as here."""
    return {name: name for name in names}


SAMPLING = same("temperature", "top_p")
LOCAL = SAMPLING | same("max_tokens", "seed", "stop")
CHAT = LOCAL | same("stream")
"""Settings that most servers of the chat format take."""
COUNTED = {"stream_options": {"include_usage": True}}
"""What has a server in the chat format count the tokens of a stream."""


def _setting_names(written: Any) -> Any:
    """Settings as a mapping to their names on the wire; a list of them stands for those names."""
    found = same(*written) if isinstance(written, (list, tuple)) else written
    for name in found if isinstance(found, Mapping) else ():
        if name == "reasoning" or name not in ModelSettings.model_fields:
            known = [one for one in ModelSettings.model_fields if one != "reasoning"]
            raise ValueError(f"no setting {suggest(str(name), known)}")
    return found


def _words_last(routes: tuple[Route, ...]) -> tuple[Route, ...]:
    if routes[-1] != "text":
        raise ValueError("every model can be asked in words: let text stand last")
    return routes


@dataclass(frozen=True, eq=False, config=ConfigDict(extra="forbid"))
class Family:
    """Models that take the same settings.

    Attributes:
        pattern: what their names look like, as in file names.
        settings: the settings they take, with their names on the wire.
        reasoning: how a level of reasoning is put; None for models that have no such setting.
        levels: the levels they know.
        budget: whether a number of tokens is taken for a level.
        either: whether ``temperature`` and ``top_p`` are refused while they reason.
        reasons: whether they reason unless they are told not to.
        hottest: the highest temperature.
        routes: how an answer of a given form can be asked for, strictest first.
        answer_tokens: tokens of the longest answer, beside those of reasoning, where a study does
            not say; 0 where the server decides.
        streamed: what is sent beside ``stream``, so that tokens are counted.
        always: what is sent with every call.
    """

    pattern: str = "*"
    settings: Annotated[Mapping[str, str], BeforeValidator(_setting_names)] = Field(
        default_factory=lambda: CHAT
    )
    reasoning: ReasoningForm | None = None
    levels: tuple[Level, ...] = ()
    budget: bool = False
    either: bool = False
    reasons: bool = False
    hottest: float = 2
    routes: Annotated[tuple[Route, ...], Field(min_length=1), AfterValidator(_words_last)] = (
        "schema", "tool", "text",
    )  # fmt: skip
    answer_tokens: Annotated[int, Field(ge=0)] = 0
    streamed: Mapping[str, Any] = Field(default_factory=lambda: COUNTED)
    always: Mapping[str, Any] = Field(default_factory=dict)


def _is_url(url: str) -> str:
    problem = url_problem(url)
    if problem:
        raise ValueError(problem)
    if url and not re.match(rf"{SCHEME}[^/\s]|\$\{{", url):
        raise ValueError("a URL begins with http:// or https://, or with ${VARIABLE}")
    if "$" in IN_URL.sub("", url):
        raise ValueError("write an environment variable as ${NAME}, in capitals")
    return url.rstrip("/")


def _is_variable(key: str) -> str:
    if key and not re.fullmatch("[A-Z][A-Z0-9_]*", key):
        raise ValueError(
            "write the name of an environment variable, such as LAB_API_KEY, not a key"
        )
    return key


def _has_rest(families: tuple[Family, ...]) -> tuple[Family, ...]:
    if families[-1].pattern != "*":
        raise ValueError('let one with the pattern "*" stand last, for all other models')
    return families


@dataclass(frozen=True, eq=False, config=ConfigDict(extra="forbid"))
class Provider:
    """All that is known of a provider.

    Attributes:
        url: where it listens; ``${NAME}`` stands for an environment variable. Empty where the model
            string has to say, or where nothing listens.
        key: the environment variable of the key; empty where there is none. The key is sent to the
            scheme, host and port of ``url``, and nowhere else.
        needs_key: false where a key is sent only if it is set.
        protocol: how it is spoken to.
        batch: whose batch endpoint its own is like; None where it has none.
        header: the header that carries the key, bare; None where it goes as its protocol has it.
        models: what its models take; of those whose pattern fits, the first counts.
        maker: whether it serves the models that it makes itself.
        aliases: what else people call it, for advice to them.
        advice: what is to be known of its model strings, for the same.
    """

    url: Annotated[str, AfterValidator(_is_url)] = ""
    key: Annotated[str, AfterValidator(_is_variable)] = ""
    needs_key: bool = True
    protocol: Protocol = "chat"
    batch: BatchProtocol | None = None
    header: str | None = None
    models: Annotated[
        tuple[Family, ...], Field(min_length=1), AfterValidator(_has_rest)
    ] = (Family(),)  # fmt: skip
    maker: bool = False
    aliases: tuple[str, ...] = ()
    advice: str = ""

    @property
    def address(self) -> str:
        """Its URL; a variable that is not set stands as it is."""
        if "$" not in self.url:
            return self.url
        return IN_URL.sub(lambda found: _value(found[1]) or found[0], self.url)

    @property
    def secret(self) -> str | None:
        """The key, from the environment; None where none is set."""
        return (self.key and os.environ.get(self.key, "").strip()) or None

    def secret_for(self, url: str) -> str | None:
        """The key for a URL; None where none is set, or the URL is none of this provider's."""
        ours = origin(url) == origin(self.address) and not in_the_open(url)
        return self.secret if ours else None

    def key_header(self, secret: str | None) -> dict[str, str]:
        """The header that carries a key."""
        if not secret:
            return {}
        name = self.header or HEADERS.get(self.protocol, BEARER)
        return {name: f"Bearer {secret}" if name.title() == BEARER else secret}

    @property
    def variables(self) -> list[str]:
        """The environment variables that fill in its URL."""
        return IN_URL.findall(self.url)

    @property
    def unset(self) -> list[str]:
        """The environment variables that have to be set before it can be asked."""
        names = [name for name in self.variables if not _value(name)]
        return names + ([self.key] if self.needs_key and self.key and not self.secret else [])

    @property
    def trouble(self) -> str | None:
        """What must be done before it can be asked; None where nothing is to do."""
        if self.unset:
            several = "s" if len(self.unset) > 1 else ""
            return f"set the environment variable{several} {' and '.join(self.unset)}"
        variables = " and ".join(self.variables)
        if variables and (problem := _filled_problem(self.address)):
            return f"{variables}: {problem}"
        if self.secret and not self.secret.isprintable():
            return f"{self.key} holds a line break or the like inside: set it again, in one line"
        if self.secret and in_the_open(self.address):
            return f"{self.key} would be sent over plain http: let its entry's URL begin with https"
        return None


def _value(name: str) -> str:
    """The value of an environment variable, as it stands in a URL."""
    return os.environ.get(name, "").strip().rstrip("/")


def _filled_problem(url: str) -> str | None:
    """What is wrong with a URL whose variables are filled in."""
    if not re.fullmatch(rf"{SCHEME}[^/\s]\S*", url):
        return "the URL that it makes does not begin with http:// or https://, or has a blank in it"
    return url_problem(url)


def secret_problem(url: str) -> str | None:
    """Which secret stands in a URL, in words that do not repeat it; None where none does.

    >>> secret_problem("https://gpu/v1?api_key=1"), secret_problem("https://gpu/sk-123456789/v1")
    ('leave "api_key" out of the URL', 'leave the key in its path out of the URL')
    """
    if re.search(r"//[^/?#\s]*@", url):
        return "leave user and password out of the URL"
    query = "&".join(re.split("[?#]", url)[1:])
    for name, value in parse_qsl(query, keep_blank_values=True):
        if SECRET_NAME.search(name) or is_key(value):
            return f'leave "{name}" out of the URL'
    path = re.split(r"[?#\s]", url.partition("//")[2])[0]
    if any(map(is_key, re.split("[/,'\"}]", unquote(path))[1:])):
        return "leave the key in its path out of the URL"
    return None


def is_key(text: str) -> bool:
    """Whether a part of a URL's path, or the like, looks like a key.

    >>> is_key("sk-123456789"), is_key("gpt-4o-mini-2024-07-18-in-the-north-of-europe")
    (True, False)
    """
    return KEY.fullmatch(text) is not None or any(map(_is_random, RUN.findall(text)))


def _is_random(run: str) -> bool:
    """Whether a run of letters and digits changes between them as no words do."""
    parts = re.findall(r"[a-z]+|[A-Z]+|\d+", run)
    numbers = sum(part.isdigit() for part in parts)
    if HASH.fullmatch(run) or not numbers:
        return False
    return numbers > 2 or len(parts) > 0.4 * len(run)


def url_problem(url: str) -> str | None:
    """What is wrong with a URL, in words that do not repeat it; None where nothing is."""
    problem = secret_problem(url)
    if problem:
        return problem
    try:
        _ = urlsplit(IN_URL.sub("x", url)).port
    except ValueError:
        return "its port is no number from 0 to 65535"
    return None


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of a URL: what may be sent one key.

    >>> origin("https://API.example/v1") == origin("https://api.example:443/v2")
    True
    """
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
        return parts.scheme, parts.hostname or url, port
    except ValueError:
        return "", url, None


def in_the_open(url: str) -> bool:
    """Whether what is sent to a URL can be read on the way: by plain http to another machine.

    >>> in_the_open("http://gpu/v1"), in_the_open("http://127.0.0.1/v1"), in_the_open("https://gpu")
    (True, False, False)
    """
    scheme, host, _ = origin(url)
    if scheme != "http" or host == "localhost":
        return False
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return True


def users_file() -> Path | None:
    """A user's own file of providers; None where there is none, or the variable is empty."""
    return configured_file(os.environ.get(VARIABLE), FILE)


def users_providers(known: Mapping[str, Provider]) -> dict[str, Provider]:
    """The providers of a user's own file, by name.

    Args:
        known: those that packages register.

    Raises:
        ProviderError: the file cannot be read, or an entry is none.
    """
    path = users_file()
    return {} if path is None else read_providers(path, known)


def read_providers(path: Path, known: Mapping[str, Provider]) -> dict[str, Provider]:
    """The providers of a file, by name.

    An entry may be ``like`` one that is known or stands before it: it is spoken to as that one is,
    and its models take the same. Its URL and key are always its own.

    Raises:
        ProviderError: the file cannot be read, or an entry is none.
    """
    try:
        data = read_yaml(path)
    except ValueError as error:
        raise ProviderError(str(error)) from None
    if not isinstance(data, Mapping):
        raise ProviderError(
            f"{path}: a file of providers is a mapping, NAME: {{url: ..., key: ...}}"
        )
    found: dict[str, Provider] = {}
    for name, entry in data.items():
        try:
            found[name] = _entry(name, entry, {**known, **found})
        except ValidationError as error:
            raise ProviderError(f"{path}: {name}: {first_problem(error)}") from None
        except ValueError as error:
            raise ProviderError(f"{path}: {name}: {error}") from None
    return found


FIELDS = ("url", "key", "needs_key", "protocol", "batch", "header", "models", "like")
"""What an entry of a user's file may say."""
LIKE = ("protocol", "batch", "header", "models")
"""What an entry has from the one that it is like."""
ADAPTER = TypeAdapter(Provider)


def _entry(name: Any, entry: Any, known: Mapping[str, Provider]) -> Provider:
    """A provider as it is written in a file."""
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError("a provider's name is made of letters, digits, dots, dashes, underscores")
    if name in known:
        raise ValueError("there is a provider of this name already; take another")
    if not isinstance(entry, Mapping):
        raise ValueError("an entry is a mapping: {url: https://HOST/v1, key: VARIABLE}")
    for field in entry:
        if field not in FIELDS:
            raise ValueError(f"no field {suggest(str(field), FIELDS)}")
    given = dict(entry)
    like = given.pop("like", None)
    base: dict[str, Any] = {}
    if like is not None:
        if like not in known:
            raise ValueError(f"like: no provider {suggest(str(like), sorted(known))}")
        base = {field: getattr(known[like], field) for field in LIKE}
    if not given.get("url"):
        raise ValueError("url: is missing; write where it listens, such as https://HOST/v1")
    given.setdefault("needs_key", "key" in given)
    return ADAPTER.validate_python(base | given)


def written(entry: Provider) -> dict[str, Any]:
    """An entry as it would stand in a file; what is not said is as by default."""
    data: dict[str, Any] = ADAPTER.dump_python(entry, mode="json", exclude_defaults=True)
    if "models" in data:
        data["models"] = [{"pattern": "*"} | one for one in data["models"]]
    return {name: data[name] for name in FIELDS if name in data}


PROVIDERS: Registry[Provider] = Registry(
    "provider", "cheaptalk.providers", instances(Provider), several, users_providers
)
"""Whoever can be asked, by the first part of a model string."""


def unknown_provider(written: str) -> UnknownName:
    """Say that a provider is unknown, with the nearest one by any of its names, or with all.

    >>> print(unknown_provider("gogle"))
    unknown provider "gogle" (did you mean "gemini", also called "google"?)
    """
    aliases = {alias: name for name, entry in PROVIDERS.items() for alias in entry.aliases}
    near = get_close_matches(written.casefold(), [*PROVIDERS, *aliases], n=1)
    if not near or near[0] in PROVIDERS:
        return unknown("provider", written, list(PROVIDERS))
    found = f'did you mean "{aliases[near[0]]}", also called "{near[0]}"?'
    return UnknownName(f'unknown provider "{written}" ({found})')


def advice(written: str, rest: str) -> str:
    """What to write for a provider that goes by another name here; empty where nothing is known.

    >>> advice("aws", "openai.gpt-oss-20b-1:0")
    'write bedrock/openai.gpt-oss-20b-1:0'
    """
    for name, entry in PROVIDERS.items():
        if written.casefold() in entry.aliases:
            return "; ".join(filter(None, (f"write {name}/{rest}", entry.advice)))
    return ""


def with_batches() -> Sequence[str]:
    """The providers whose batch endpoint is known."""
    return [name for name, entry in PROVIDERS.items() if entry.batch]
