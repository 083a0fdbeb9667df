"""Defaults of options, from ``.env`` in the working folder and the user's settings file.

``.env`` may set API keys of providers and a few variables of cheaptalk. Because the author of a
study may supply the file, all other variables are ignored: they could redirect keys (such as
``CHEAPTALK_PROVIDERS``) or change how programs run.
"""

from __future__ import annotations

import logging
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

from dotenv.parser import parse_stream

import cheaptalk as ct
from cheaptalk.atomic_files import configured_file, read_whole

LOG = logging.getLogger(__name__)
DOTENV = Path(".env")
"""The file of environment variables, in the working folder."""
ACCEPTED = ("CHEAPTALK_STORE", "CHEAPTALK_CACHE", "CHEAPTALK_PRICES")
"""Variables, besides API keys, that ``.env`` may set."""
VARIABLE = "CHEAPTALK_SETTINGS"
"""Environment variable with the path of the user's settings file; empty for no file."""
FILE = "cheaptalk/settings.toml"
"""Default path of the settings file, below ``XDG_CONFIG_HOME`` or ``~/.config``."""
KINDS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "store": (str, "the file or URL of a store in quotes"),
    "cache": (bool, "true or false"),
    "cache-file": (str, "a file name in quotes"),
    "concurrency": (int, "an integer above 0"),
    "workers": (int, "an integer above 0"),
    "retry-timeout": ((int, float), "a number of seconds above 0"),
    "max-calls": (int, "an integer above 0"),
    "max-tokens": (int, "an integer above 0"),
    "max-dollars": ((int, float), "a number above 0"),
}
"""The type and a description of each setting, by the name of the option."""
RENAMED = {"patience": "retry-timeout, in seconds instead of minutes"}
"""Settings that were renamed before version 0.1.0; to be removed in 1.0."""
FILES = ("store", "cache-file")
"""Settings in which ``~`` is expanded to the home folder."""
MAX_BYTES = 1_000_000
"""Maximum size of ``.env`` and the settings file, in bytes."""


class Defaults:
    """Defaults of options from ``.env`` and the settings file."""

    @cached_property
    def dotenv(self) -> dict[str, str]:
        """All variables in ``.env``."""
        return read_dotenv(DOTENV) if DOTENV.is_file() else {}

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The user's settings."""
        path = users_file()
        return {} if path is None else read_settings(path)

    def of(self, option: str, variable: str | None) -> Any:
        """Return the default of an option such as ``max-calls``; None if there is none."""
        return (variable and self.dotenv.get(variable)) or self.settings.get(option)

    @cached_property
    def taken(self) -> dict[str, str]:
        """Variables that ``.env`` adds to the environment: accepted variables and API keys.

        Variables in a provider's URL are added only if the provider's key is not in the
        environment. Otherwise ``.env`` could redirect the key.
        """
        names = {name for name in ACCEPTED if name in self.dotenv}
        if self.dotenv.keys() - names:
            with suppress(ct.models.ProviderError):  # reported when a provider is used
                for provider in ct.models.PROVIDERS.values():
                    if provider.key and provider.key not in os.environ:
                        names |= {provider.key, *provider.variables}
        return {
            name: value
            for name, value in self.dotenv.items()
            if name in names and name not in os.environ
        }

    def sources(self) -> Iterator[str]:
        """Yield descriptions of ``.env`` and the settings file, without secret values."""
        if DOTENV.is_file():
            unused = [name for name in self.dotenv if name not in self.taken]
            parts = {
                "sets": self.taken,
                "overridden by the environment": [name for name in unused if name in os.environ],
                "ignored": [name for name in unused if name not in os.environ],
            }
            texts = [f"{label}: {', '.join(names)}" for label, names in parts.items() if names]
            yield f"{DOTENV.absolute()} {'; '.join(texts) or 'sets nothing'}"
        path = users_file()
        if path is not None:
            texts = [
                f"{name} = {'set' if '@' in str(value) else value}"
                for name, value in self.settings.items()
            ]
            yield f"{path} sets: {', '.join(texts) or 'nothing'}"

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Add the accepted variables of ``.env`` to the environment."""
        taken = self.taken
        os.environ.update(taken)
        try:
            yield
        finally:
            for name in taken:
                os.environ.pop(name, None)


def users_file() -> Path | None:
    """Return the path of the settings file; None if there is no file."""
    return configured_file(os.environ.get(VARIABLE), FILE)


def read_dotenv(path: Path) -> dict[str, str]:
    """Return the variables of a file with lines NAME=VALUE, in python-dotenv's syntax.

    Values are not interpolated. Errors name the line, but never a value.
    """
    variables: dict[str, str] = {}
    for entry in parse_stream(StringIO(_text(path))):
        text = entry.original.string
        blank = len(text) - len(text.lstrip())
        number = entry.original.line + text[:blank].count("\n")
        if entry.key is None and not entry.error:
            continue  # a comment
        if entry.key is None or entry.value is None:
            problem = "expected NAME=VALUE with closed quotes, or a comment starting with #"
            raise _error(path, number, problem)
        if entry.key in variables:
            raise _error(path, number, f"duplicate variable {entry.key}; remove one of them")
        variables[entry.key] = entry.value
    return variables


def read_settings(path: Path) -> dict[str, Any]:
    """Return the user's settings."""
    text = _text(path)
    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ct.CheaptalkError(f"{path}: invalid TOML: {error}") from None
    for name, value in settings.items():
        problem = _problem(name, value)
        if problem:
            raise _error(path, _line_of(text, name), problem)
        if name in FILES:
            settings[name] = os.path.expanduser(value)  # noqa: PTH111 - a store may be a URL
    return settings


def _problem(name: str, value: Any) -> str | None:
    """Return the problem with a setting, without its value; None if it is valid."""
    if name not in KINDS:
        if ct.models.providers.SECRET_NAME.search(name) or ct.models.providers.is_key(str(value)):
            return f"{name}: API keys are not allowed here; set them in .env or the environment"
        if name in RENAMED:
            return f"{name} was renamed to {RENAMED[name]}"
        return f"no setting {ct.rules.suggest(name, list(KINDS))}"
    kind, description = KINDS[name]
    fits = isinstance(value, kind) and (isinstance(value, bool) is (kind is bool))
    if not fits or value == "" or (kind not in (str, bool) and not 0 < value < float("inf")):
        return f"{name}: expected {description}"
    return None


def _line_of(text: str, name: str) -> int:
    lines = text.splitlines()
    pattern = re.compile(rf"""\s*\[*\s*["']?{re.escape(name)}["']?\s*[=.\]]""")
    return next((number for number, line in enumerate(lines, 1) if pattern.match(line)), 1)


def _error(path: Path, line: int, problem: str) -> ct.CheaptalkError:
    return ct.CheaptalkError(f"{path}: line {line}: {problem}")


def _text(path: Path) -> str:
    try:
        text = read_whole(path, MAX_BYTES)
        LOG.info("%s read", path)
        return text
    except UnicodeDecodeError:
        raise ct.CheaptalkError(f"{path} is not valid UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise ct.CheaptalkError(f"cannot read {path}: {error.strerror}") from None
