"""Providers of models: URLs, keys, protocols and supported settings.

The built-in entries are in ``providers.yaml`` beside this module; others come from packages, a
user's file or ``ct.register``.
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

from cheaptalk.atomic_files import configured_file
from cheaptalk.models.calls import ModelSettings, Route
from cheaptalk.rules import CheaptalkError, UnknownName, suggest, unknown
from cheaptalk.rules.errors import first_problem
from cheaptalk.rules.registry import Registry, instances, several
from cheaptalk.yaml_files import read_yaml

Protocol: TypeAlias = Literal["chat", "messages", "agent", "remote", "in process", "script"]
"""Protocols of models.

OpenAI's chat format, Anthropic's Messages format, an agent over HTTP, a remote agent, an in-process
model, or a scripted model.
"""
BatchProtocol: TypeAlias = Literal["openai", "anthropic"]
"""API of a provider's batch endpoint."""
ReasoningForm: TypeAlias = Literal[
    "level", "effort", "switch", "budget", "adaptive", "gemini", "openrouter", "thinking"
]
"""Request format of reasoning levels; see :func:`~cheaptalk.models.settings.reasoning_fields`."""
Level: TypeAlias = Literal["none", "minimal", "low", "medium", "high"]

VARIABLE = "CHEAPTALK_PROVIDERS"
"""Environment variable with the path of a user's provider file."""
FILE = "cheaptalk/providers.yaml"
"""Default provider file in ``XDG_CONFIG_HOME`` or ``~/.config``.

A file next to a study is never read, because a provider file determines where keys are sent.
"""
HEADERS: Mapping[Protocol, str] = {"messages": "x-api-key"}
"""HTTP headers for the key, by protocol; the default is a bearer token."""
BEARER = "Authorization"
IN_URL = re.compile(r"\$\{([A-Z][A-Z0-9_]*)\}")
"""Placeholders of environment variables in URLs."""
SECRET_NAME = re.compile(
    r"(?:^|[-_.]|api|access|client|id)"
    r"(?:keys?|tokens?|secrets?|auth|authorization|passw(?:or)?d|passwd|pwd|sig|signature|credentials?"
    r"|code)$",
    re.IGNORECASE,
)
"""Names of query parameters that contain keys."""
KEY = re.compile(
    r"(?:sk|rk|gsk|csk|hf|ghp|github_pat|r8|tgp)[-_][\w-]{8,}|(?:xai|nvapi|pplx|glpat)-[\w-]{8,}"
    r"|(?:AIza|ABSK|eyJ)[\w-]{16,}.*|bedrock-api-key-.+"
)
"""Keys with a known prefix."""
RUN = re.compile(r"[a-zA-Z\d]{32,}")
"""Letters and digits in a row, as long as a key; names have dashes between their words."""
HASH = re.compile(r"[\da-f]{32}", re.IGNORECASE)
"""Public account ids of gateways, which look like keys."""
SCHEME = r"(?i:https?)://"
"""The URL schemes of models."""


class ProviderError(CheaptalkError, ValueError):
    """Raised if a provider file is invalid; the message names the file, entry, field and fix."""


def same(*names: str) -> dict[str, str]:
    """Return a mapping of setting names to request fields of the same names."""
    return {name: name for name in names}


SAMPLING = same("temperature", "top_p")
CHAT = SAMPLING | same("max_tokens", "seed", "stop", "stream")
"""Settings that most servers with the chat format support."""
COUNTED = {"stream_options": {"include_usage": True}}
"""Request field that makes streams in the chat format end with token counts."""


def _setting_names(value: Any) -> Any:
    """Convert a list of settings to a mapping of request fields, and check the settings' names."""
    settings = same(*value) if isinstance(value, (list, tuple)) else value
    for name in settings if isinstance(settings, Mapping) else ():
        if name == "reasoning" or name not in ModelSettings.model_fields:
            names = [setting for setting in ModelSettings.model_fields if setting != "reasoning"]
            raise ValueError(f"no setting {suggest(str(name), names)}")
    return settings


ROUTES: tuple[Route, ...] = ("schema", "tool", "text")


def _text_last(routes: tuple[Route, ...]) -> tuple[Route, ...]:
    if routes[-1] != "text":
        raise ValueError("the last route must be text, which all models support")
    return routes


@dataclass(frozen=True, eq=False, config=ConfigDict(extra="forbid"))
class Family:
    """A group of models that support the same settings.

    Attributes:
        pattern: a glob pattern of the models' names.
        settings: supported settings, with their names in requests.
        reasoning: the request format of reasoning levels; None without a reasoning setting.
        levels: supported reasoning levels.
        budget: whether a number of tokens is accepted as a reasoning level.
        either: whether ``temperature`` and ``top_p`` are rejected with reasoning.
        reasons: whether the models reason by default.
        hottest: the maximum temperature.
        routes: supported answer formats, strictest first.
        exact: whether schemas may contain any choice between objects, and lists with a range for
            each item.
        answer_tokens: default maximum tokens of an answer, excluding reasoning; 0 for the server's
            default.
        streamed: additional request fields with ``stream``, to count tokens.
        always: request fields that are always sent.
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
    routes: Annotated[tuple[Route, ...], Field(min_length=1), AfterValidator(_text_last)] = ROUTES
    exact: bool = False
    answer_tokens: Annotated[int, Field(ge=0)] = 0
    streamed: Mapping[str, Any] = Field(default_factory=lambda: COUNTED)
    always: Mapping[str, Any] = Field(default_factory=dict)


def _is_url(url: str) -> str:
    if problem := url_problem(url):
        raise ValueError(problem)
    if url and not re.match(rf"{SCHEME}[^/\s]|\$\{{", url):
        raise ValueError("a URL must start with http://, https:// or ${VARIABLE}")
    if "$" in IN_URL.sub("", url):
        raise ValueError("write an environment variable as ${NAME}, in upper case")
    return url.rstrip("/")


def _is_variable(key: str) -> str:
    if key and not re.fullmatch("[A-Z][A-Z0-9_]*", key):
        raise ValueError("write an environment variable's name, such as LAB_API_KEY, not a key")
    return key


def _has_rest(families: tuple[Family, ...]) -> tuple[Family, ...]:
    if families[-1].pattern != "*":
        raise ValueError('add a last entry with the pattern "*" for all other models')
    return families


@dataclass(frozen=True, eq=False, config=ConfigDict(extra="forbid"))
class Provider:
    """A provider of models.

    Attributes:
        url: the base URL; ``${NAME}`` is replaced with an environment variable. Empty if model
            strings contain the URL, or if no server is called.
        key: the environment variable of the key; empty without a key. The key is sent only to the
            scheme, host and port of ``url``.
        needs_key: whether the key is required.
        protocol: the protocol of calls.
        batch: the API of the batch endpoint; None without one.
        header: the HTTP header with the bare key; None for the protocol's default.
        models: supported settings of the models; the first matching pattern applies.
        maker: whether the provider develops the models that it serves.
        aliases: other common names of the provider, for suggestions.
        advice: a hint about the provider's model strings, for suggestions.
    """

    url: Annotated[str, AfterValidator(_is_url)] = ""
    key: Annotated[str, AfterValidator(_is_variable)] = ""
    needs_key: bool = True
    protocol: Protocol = "chat"
    batch: BatchProtocol | None = None
    header: str | None = None
    models: Annotated[tuple[Family, ...], Field(min_length=1), AfterValidator(_has_rest)] = (
        Family(),
    )
    maker: bool = False
    aliases: tuple[str, ...] = ()
    advice: str = ""

    @property
    def address(self) -> str:
        """The base URL; unset variables remain as placeholders."""
        if "$" not in self.url:
            return self.url
        return IN_URL.sub(lambda match: _value(match[1]) or match[0], self.url)

    @property
    def secret(self) -> str | None:
        """The key from the environment; None if the variable is not set."""
        return (self.key and os.environ.get(self.key, "").strip()) or None

    def secret_for(self, url: str) -> str | None:
        """Return the key to send to a URL; None for another host or an unencrypted connection."""
        matches = origin(url) == origin(self.address) and not in_the_open(url)
        return self.secret if matches else None

    def key_header(self, secret: str | None) -> dict[str, str]:
        if not secret:
            return {}
        name = self.header or HEADERS.get(self.protocol, BEARER)
        return {name: f"Bearer {secret}" if name.title() == BEARER else secret}

    @property
    def variables(self) -> list[str]:
        """The environment variables in the base URL."""
        return IN_URL.findall(self.url)

    @property
    def unset(self) -> list[str]:
        """The environment variables that must be set before calls."""
        names = [name for name in self.variables if not _value(name)]
        return names + ([self.key] if self.needs_key and self.key and not self.secret else [])

    @property
    def trouble(self) -> str | None:
        """The problem that prevents calls to the provider; None if the setup is complete."""
        if self.unset:
            several = "s" if len(self.unset) > 1 else ""
            return f"set the environment variable{several} {' and '.join(self.unset)}"
        problem = url_problem(self.address)
        if not re.fullmatch(rf"{SCHEME}[^/\s]\S*", self.address):
            problem = (
                "the resulting URL does not start with http:// or https://, or contains a space"
            )
        if self.variables and problem:
            return f"{' and '.join(self.variables)}: {problem}"
        if self.secret and not self.secret.isprintable():
            problem = "contains a line break or another control character"
            return f"{self.key} {problem}: set it again, in one line"
        if self.secret and in_the_open(self.address):
            return f"{self.key} would be sent over plain http: change its entry's URL to https"
        return None


def _value(name: str) -> str:
    return os.environ.get(name, "").strip().rstrip("/")


def secret_problem(url: str) -> str | None:
    """Return advice on removing the secret in a URL; None if the URL contains no secret.

    >>> secret_problem("https://gpu/v1?api_key=1"), secret_problem("https://gpu/sk-123456789/v1")
    ('remove "api_key" from the URL', 'remove the key in its path from the URL')
    """
    if re.search(r"//[^/?#\s]*@", url):
        return "remove user and password from the URL"
    query = "&".join(re.split("[?#]", url)[1:])
    for name, value in parse_qsl(query, keep_blank_values=True):
        if SECRET_NAME.search(name) or is_key(value):
            return f'remove "{name}" from the URL'
    path = re.split(r"[?#\s]", url.partition("//")[2])[0]
    if any(map(is_key, re.split("[/,'\"}]", unquote(path))[1:])):
        return "remove the key in its path from the URL"
    return None


def is_key(text: str) -> bool:
    """Return whether a text, such as a part of a URL's path, looks like an API key.

    >>> is_key("sk-123456789"), is_key("gpt-4o-mini-2024-07-18-in-the-north-of-europe")
    (True, False)
    """
    for run in RUN.findall(text):
        parts = re.findall(r"[a-z]+|[A-Z]+|\d+", run)
        numbers = sum(part.isdigit() for part in parts)
        is_random = numbers > 2 or (numbers and len(parts) > 0.4 * len(run))
        if is_random and not HASH.fullmatch(run):
            return True
    return KEY.fullmatch(text) is not None


def url_problem(url: str) -> str | None:
    """Return the problem with a URL, without repeating the URL; None if it is valid."""
    if problem := secret_problem(url):
        return problem
    try:
        _ = urlsplit(IN_URL.sub("x", url)).port
    except ValueError:
        return "the port is not a number from 0 to 65535"
    return None


def origin(url: str) -> tuple[str, str, int | None]:
    """Return a URL's scheme, host and port, which determine whether the URL receives the key.

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
    """Return whether a URL leads to another machine over unencrypted HTTP.

    >>> in_the_open("http://gpu/v1"), in_the_open("http://127.0.0.1/v1"), in_the_open("https://gpu")
    (True, False, False)
    """
    return origin(url)[0] == "http" and not on_this_machine(url)


def on_this_machine(url: str) -> bool:
    """Return whether a URL leads to a server on this machine.

    >>> on_this_machine("http://localhost:8000/v1"), on_this_machine("https://gpu")
    (True, False)
    """
    host = origin(url)[1]
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def user_provider_file() -> Path | None:
    """Return the path of the user's provider file; None if there is none."""
    return configured_file(os.environ.get(VARIABLE), FILE)


def read_providers(path: Path | str, registered: Mapping[str, Provider]) -> dict[str, Provider]:
    """Read a provider file; raise ProviderError if it is invalid.

    An entry with ``like: NAME`` copies the protocol and the model settings of another provider, but
    not the URL or the key.
    """
    path = Path(path)
    try:
        data = read_yaml(path)
    except ValueError as error:
        raise ProviderError(str(error)) from None
    if not isinstance(data, Mapping):
        raise ProviderError(
            f"{path}: a provider file must be a mapping, NAME: {{url: ..., key: ...}}"
        )
    providers: dict[str, Provider] = {}
    for name, entry in data.items():
        try:
            providers[name] = _entry(name, entry, {**registered, **providers})
        except ValueError as error:
            problem = first_problem(error) if isinstance(error, ValidationError) else error
            raise ProviderError(f"{path}: {name}: {problem}") from None
    return providers


FIELDS = ("url", "key", "needs_key", "protocol", "batch", "header", "models", "like")
"""Fields of an entry in a user's provider file."""
LIKE = ("protocol", "batch", "header", "models")
"""Fields that ``like`` copies from another provider."""
ADAPTER = TypeAdapter(Provider)


def _entry(name: Any, entry: Any, registered: Mapping[str, Provider]) -> Provider:
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError(
            "a provider's name can contain letters, digits, dots, dashes and underscores"
        )
    if name in registered:
        raise ValueError("a provider with this name exists already; choose another name")
    if not isinstance(entry, Mapping):
        raise ValueError("an entry must be a mapping: {url: https://HOST/v1, key: VARIABLE}")
    for field in entry:
        if field not in FIELDS:
            raise ValueError(f"no field {suggest(str(field), FIELDS)}")
    fields, base = dict(entry), dict[str, Any]()
    if (template := fields.pop("like", None)) is not None:
        if template not in registered:
            raise ValueError(f"like: no provider {suggest(str(template), sorted(registered))}")
        base = {field: getattr(registered[template], field) for field in LIKE}
    if not fields.get("url"):
        raise ValueError("url is missing; add the server's URL, such as https://HOST/v1")
    fields.setdefault("needs_key", "key" in fields)
    return ADAPTER.validate_python(base | fields)


def written(entry: Provider) -> dict[str, Any]:
    """Convert a provider to an entry of a provider file, omitting default values."""
    data: dict[str, Any] = ADAPTER.dump_python(entry, mode="json", exclude_defaults=True)
    if "models" in data:
        data["models"] = [{"pattern": "*"} | family for family in data["models"]]
    return {name: data[name] for name in FIELDS if name in data}


PROVIDERS: Registry[Provider] = Registry(
    "provider",
    "cheaptalk.providers",
    instances(Provider),
    several,
    lambda packaged: (
        {} if (path := user_provider_file()) is None else read_providers(path, packaged)
    ),
)
"""Providers by the first part of a model string."""


def unknown_provider(prefix: str) -> UnknownName:
    """Return the error for an unknown provider, which suggests the closest match or all names.

    >>> print(unknown_provider("gogle"))
    unknown provider "gogle" (did you mean "gemini", also called "google"?)
    """
    aliases = {alias: provider for provider, entry in PROVIDERS.items() for alias in entry.aliases}
    matches = get_close_matches(prefix.casefold(), [*PROVIDERS, *aliases], n=1)
    if not matches or matches[0] in PROVIDERS:
        return unknown("provider", prefix, list(PROVIDERS))
    suggestion = f'did you mean "{aliases[matches[0]]}", also called "{matches[0]}"?'
    return UnknownName(f'unknown provider "{prefix}" ({suggestion})')


def advice(prefix: str, model: str) -> str:
    """Return advice on which provider to write instead of an alias; empty for an unknown alias.

    >>> advice("aws", "openai.gpt-oss-20b-1:0")
    'write bedrock/openai.gpt-oss-20b-1:0'
    """
    for provider, entry in PROVIDERS.items():
        if prefix.casefold() in entry.aliases:
            return "; ".join(filter(None, (f"write {provider}/{model}", entry.advice)))
    return ""


def with_batches() -> Sequence[str]:
    """Return the names of providers with a supported batch endpoint."""
    return [name for name, entry in PROVIDERS.items() if entry.batch]
