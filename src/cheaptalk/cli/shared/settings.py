"""What holds where neither an option nor the environment says: ``.env``, then a user's settings.

``.env`` in the working folder may set keys of providers and a few of our own variables. It lies
where studies lie, and may come with them: what says where keys go, such as
``CHEAPTALK_PROVIDERS``, or how programs run, is left alone in it.
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
from cheaptalk.whole_files import configured_file, read_whole

LOG = logging.getLogger(__name__)
DOTENV = Path(".env")
"""The file of variables, in the working folder."""
OURS = ("CHEAPTALK_STORE", "CHEAPTALK_CACHE", "CHEAPTALK_PRICES")
"""The variables of ours that it may set, beside keys."""
VARIABLE = "CHEAPTALK_SETTINGS"
"""The environment variable that names a user's file of settings; empty where none is to be read."""
FILE = "cheaptalk/settings.toml"
"""The file that is read where the variable names none, in ``XDG_CONFIG_HOME`` or ``~/.config``."""
KINDS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "store": (str, "a text in quotes, a store's file or URL"),
    "cache": (bool, "true or false"),
    "cache-file": (str, "a file's name in quotes"),
    "concurrency": (int, "a whole number above 0"),
    "workers": (int, "a whole number above 0"),
    "patience": ((int, float), "a number of minutes above 0"),
    "max-calls": (int, "a whole number above 0"),
    "max-tokens": (int, "a whole number above 0"),
    "max-dollars": ((int, float), "a number above 0"),
}
"""What can be set: options by their names, with the type and the legal values of each."""
FILES = ("store", "cache-file")
"""Settings in which ``~`` stands for the home folder."""
MOST = 1_000_000
"""Bytes of a file."""


class Defaults:
    """What options are where they are not given."""

    @cached_property
    def dotenv(self) -> dict[str, str]:
        """All that ``.env`` says.

        Raises:
            CheaptalkError: it cannot be read.
        """
        return read_dotenv(DOTENV) if DOTENV.is_file() else {}

    @cached_property
    def settings(self) -> dict[str, Any]:
        """A user's settings.

        Raises:
            CheaptalkError: the file cannot be read, or sets what cannot be set.
        """
        path = users_file()
        return {} if path is None else read_settings(path)

    def of(self, option: str, variable: str | None) -> Any:
        """The value of an option; None where nothing is said of it.

        Args:
            option: its name, such as ``max-calls``.
            variable: the environment variable that stands for it.
        """
        return (variable and self.dotenv.get(variable)) or self.settings.get(option)

    @cached_property
    def taken(self) -> dict[str, str]:
        """What of ``.env`` goes to the environment, which does not have it: our own and keys.

        What fills in a provider's URL is taken only where its key is not the environment's.
        """
        names = {name for name in OURS if name in self.dotenv}
        if self.dotenv.keys() - names:
            with suppress(ct.models.ProviderError):  # who needs a provider is told
                for provider in ct.models.PROVIDERS.values():
                    if provider.key and provider.key not in os.environ:
                        names |= {provider.key, *provider.variables}
        return {
            name: value for name, value in self.dotenv.items()
            if name in names and name not in os.environ
        }  # fmt: skip

    def sources(self) -> Iterator[str]:
        """Which files were read and what each sets, a sentence each; no value of a variable."""
        if DOTENV.is_file():
            there = [name for name in self.dotenv if name not in self.taken]
            parts = {
                "sets": self.taken,
                "behind the environment's own": [one for one in there if one in os.environ],
                "not read": [one for one in there if one not in os.environ],
            }
            said = [f"{what}: {', '.join(names)}" for what, names in parts.items() if names]
            yield f"{DOTENV.absolute()} {'; '.join(said) or 'sets nothing'}"
        path = users_file()
        if path is not None:
            values = self.settings.items()
            said = [f"{name} = {'set' if '@' in str(one) else one}" for name, one in values]
            yield f"{path} sets: {', '.join(said) or 'nothing'}"

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Let what is taken of ``.env`` stand in the environment."""
        taken = self.taken
        os.environ.update(taken)
        try:
            yield
        finally:
            for name in taken:
                os.environ.pop(name, None)


def users_file() -> Path | None:
    """A user's file of settings; None where there is none, or the variable is empty."""
    return configured_file(os.environ.get(VARIABLE), FILE)


def read_dotenv(path: Path) -> dict[str, str]:
    """The variables of a file with a NAME=VALUE in each line, as python-dotenv reads it.

    Nothing is filled in.

    Raises:
        CheaptalkError: it cannot be read; the message names the line, and no value.
    """
    found: dict[str, str] = {}
    for entry in parse_stream(StringIO(_text(path))):
        written = entry.original.string
        blank = len(written) - len(written.lstrip())
        number = entry.original.line + written[:blank].count("\n")
        if entry.key is None and not entry.error:
            continue  # a comment
        if entry.key is None or entry.value is None:
            advice = "write NAME=VALUE, each quote closed, or # before what is no entry"
            raise _refused(path, number, advice)
        if entry.key in found:
            raise _refused(path, number, f"{entry.key} stands twice; leave one of them out")
        found[entry.key] = entry.value
    return found


def read_settings(path: Path) -> dict[str, Any]:
    """A user's settings.

    Raises:
        CheaptalkError: the file cannot be read, is no TOML, or sets what cannot be set; the message
            names the line.
    """
    text = _text(path)
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ct.CheaptalkError(f"{path}: cannot be read as TOML: {error}") from None
    for name, value in found.items():
        problem = _problem(name, value)
        if problem:
            raise _refused(path, _line_of(text, name), problem)
        if name in FILES:
            found[name] = os.path.expanduser(value)  # noqa: PTH111 - a store may be a URL
    return found


def _problem(name: str, value: Any) -> str | None:
    """What is wrong with a setting, in words that do not repeat its value."""
    if name not in KINDS:
        if ct.models.providers.SECRET_NAME.search(name) or ct.models.providers.is_key(str(value)):
            return f"{name}: no key may stand in this file; write it in .env or the environment"
        return f"no setting {ct.rules.suggest(name, list(KINDS))}"
    kind, legal = KINDS[name]
    fits = isinstance(value, kind) and (isinstance(value, bool) is (kind is bool))
    if not fits or value == "" or (kind not in (str, bool) and not 0 < value < float("inf")):
        return f"{name}: write {legal}"
    return None


def _line_of(text: str, name: str) -> int:
    """The line in which a setting stands."""
    lines = text.splitlines()
    pattern = re.compile(rf"""\s*\[*\s*["']?{re.escape(name)}["']?\s*[=.\]]""")
    return next((number for number, line in enumerate(lines, 1) if pattern.match(line)), 1)


def _refused(path: Path, line: int, problem: str) -> ct.CheaptalkError:
    return ct.CheaptalkError(f"{path}: line {line}: {problem}")


def _text(path: Path) -> str:
    try:
        text = read_whole(path, MOST)
        LOG.info("%s read", path)
        return text
    except UnicodeDecodeError:
        raise ct.CheaptalkError(f"{path}: cannot be read as text; save it as UTF-8") from None
    except OSError as error:
        raise ct.CheaptalkError(f"{path}: cannot be read: {error.strerror}") from None
