"""The cache: replies bought before, in a file of its own that many runs may share.

For a request that it has no reply to, it says which stored one is nearest and where they differ.
"""

import hashlib
import json
import sqlite3
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from cheaptalk.models import ModelName, Reply, Usage
from cheaptalk.records.encoding import pack, unpack
from cheaptalk.records.identity import digest_key
from cheaptalk.records.store.backend import StoreError
from cheaptalk.records.store.sqlite import SECOND_NAME, has_second_name
from cheaptalk.rules import counted
from cheaptalk.rules.errors import shown

FORMAT = 1
"""Version of the file's layout."""
PATIENCE = 10.0
"""Seconds to wait for another process that is writing."""
NEAREST = 64
"""Stored requests that are compared word for word to find the nearest."""
PARTS = ("model", "messages", "settings", "form", "replicate")
"""What requests are compared by."""
TABLE = f"""
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, {", ".join(f"{part} TEXT NOT NULL" for part in PARTS)},
    match TEXT, made REAL NOT NULL, request BLOB NOT NULL, reply BLOB NOT NULL, proof TEXT NOT NULL
)
"""
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
DROP = "DELETE FROM replies WHERE chosen(CAST(request AS BLOB), made)"
INSERT = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
SELECT = """
SELECT key, CAST(request AS BLOB), CAST(reply AS BLOB), match, made, proof FROM replies
"""


class CacheError(StoreError):
    """The cache cannot be used; the message names the cause and the cure."""


class Replicate(NamedTuple):
    """Which of the samples of one question a reply is.

    Attributes:
        seed: of the match's chance: another deal or another repeat has another one.
        request: counts the questions of the match.
        seat: whose question it is.
        attempt: the call's place within the answer.
    """

    seed: str
    request: int
    seat: str
    attempt: int


class Request(NamedTuple):
    """All that decides a reply: the whole call, and which sample it is.

    ``data`` is plain JSON; the model string in it is complete, with its URL.
    """

    data: dict[str, Any]
    key: str

    @classmethod
    def of(cls, call: Mapping[str, Any], replicate: Replicate | None) -> "Request":
        """The request that a call makes, given as plain data."""
        name = ModelName.parse(call["model"])
        data = dict(call) | {
            "model": f"{name.provider}/{name.model}" + (f"@{name.url}" if name.url else ""),
            "replicate": None if replicate is None else replicate._asdict(),
        }
        return cls(data, _digest(data))

    def parts(self) -> dict[str, str]:
        """Digests of the parts by which requests are compared."""
        return {part: _digest(self.data.get(part)) for part in PARTS}


class CacheEntry(NamedTuple):
    """A stored reply with the request that it answers.

    Attributes:
        match: the match it was bought for.
        made: when, in seconds since 1970.
    """

    request: dict[str, Any]
    reply: dict[str, Any]
    match: str | None
    made: float


class Shelf(NamedTuple):
    """What a cache holds of one model: replies, and the tokens that they cost."""

    model: str
    replies: int
    tokens: int
    first: float
    last: float


def worth_keeping(reply: Reply) -> bool:
    """Whether a reply may answer later calls: a whole text, just bought, and no failure."""
    whole = reply.failure is None and not reply.truncated and not reply.cached
    return whole and bool((reply.text or "").strip())


class Cache:
    """Replies by request. Any number of processes may use one file at the same time.

    ``damaged`` counts the entries that were met and cannot be trusted; each is a miss.
    """

    def __init__(self, path: Path, *, create: bool = True) -> None:
        """Open a cache.

        Raises:
            CacheError: it is not there, or the file is something else or cannot be used.
        """
        self.path = path
        self.damaged = 0
        if not create and not path.is_file():
            raise CacheError(f"there is no cache at {path}; name one with --cache-file")
        if has_second_name(path):
            raise CacheError(f"the cache {path} {SECOND_NAME}")
        with self._clear_errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(path, PATIENCE, check_same_thread=False)
        try:
            self._prepare()
        except BaseException:
            self._file.close()
            raise

    def _prepare(self) -> None:
        with self._clear_errors():
            if not self._is_ready():
                with FileLock(f"{self.path}.lock", PATIENCE):
                    if not self._is_ready():
                        self._file.execute("PRAGMA journal_mode=WAL")
                        self._file.execute(TABLE)
                        self._file.execute(f"PRAGMA user_version={FORMAT}")
            self._file.execute("PRAGMA synchronous=NORMAL")  # what must not be lost is in the store

    def _is_ready(self) -> bool:
        found = self._file.execute("PRAGMA user_version").fetchone()[0]
        tables = {name for (name,) in self._file.execute(TABLES)}
        if found > FORMAT:
            raise CacheError(f"{self.path} was written by a newer cheaptalk; upgrade it")
        if tables - {"replies"}:
            raise CacheError(f"{self.path} is a database, but no cache; name another file")
        return bool(found == FORMAT)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "Cache":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def get(self, request: Request) -> Reply | None:
        """The reply to a request, at no cost, or None where it was not bought yet.

        A hit has ``cached`` set and no usage of its own; what it once cost is in ``saved``.
        """
        entry = self.find(request)
        if entry is None:
            return None
        reply = Reply.model_validate(entry.reply)
        return reply.model_copy(
            update={
                "cached": True, "batch": False, "usage": Usage(), "saved": reply.usage,
                "dollars": 0.0, "seconds": 0.0,
            }
        )  # fmt: skip

    def find(self, request: Request) -> CacheEntry | None:
        """The entry that answers a request exactly; None where there is none to be trusted."""
        with self._clear_errors():
            row = self._file.execute(f"{SELECT} WHERE key = ?", [request.key]).fetchone()
        entry = None if row is None else self._read(row)
        return entry if entry is not None and entry.request == request.data else None

    def put(self, request: Request, reply: Reply, match: str | None = None) -> None:
        """Keep a reply, if it is worth keeping (:func:`worth_keeping`)."""
        if not worth_keeping(reply):
            return
        written = reply.model_dump(mode="json", exclude_none=True)
        packed = pack(request.data), pack(written)
        row = [request.key, *request.parts().values(), match, time.time(), *packed]
        with self._clear_errors(), self._file as file:
            file.execute(INSERT, [*row, _proof(request.key, *packed)])

    def near(self, request: Request, but_not_of: str | None = None) -> list[CacheEntry]:
        """Stored requests that have most parts in common with this one, the most alike first.

        Args:
            but_not_of: leave out what was bought for this match.
        """
        shared = " + ".join(f"({part} = :{part})" for part in PARTS)
        query = (
            f"{SELECT} WHERE match IS NULL OR match IS NOT :match "
            f"ORDER BY replicate = :replicate DESC, {shared} DESC, made DESC LIMIT {NEAREST}"
        )
        with self._clear_errors():
            rows = self._file.execute(query, request.parts() | {"match": but_not_of}).fetchall()
        return [entry for entry in map(self._read, rows) if entry is not None]

    def entries(self) -> Iterator[CacheEntry]:
        """Everything it holds, oldest first; damaged entries are left out and counted."""
        with self._clear_errors(), closing(self._file.execute(f"{SELECT} ORDER BY made")) as rows:
            for row in rows:
                entry = self._read(row)
                if entry is not None:
                    yield entry

    def shelves(self) -> list[Shelf]:
        """What it holds of each model."""
        found: dict[str, list[tuple[int, float]]] = {}
        for entry in self.entries():
            usage = Reply.model_validate(entry.reply).usage
            tokens = usage.input_tokens + usage.output_tokens
            found.setdefault(entry.request["model"], []).append((tokens, entry.made))
        return [
            Shelf(model, len(all_), sum(tokens for tokens, _ in all_), all_[0][1], all_[-1][1])
            for model, all_ in sorted(found.items())
        ]

    def clear(self, model: str = "*", before: float | None = None) -> int:
        """Drop entries, damaged ones too where all models are meant.

        Args:
            model: of these models, written as a pattern such as ``openai/*``.
            before: kept before this time, in seconds since 1970.

        Returns:
            How many there were.
        """

        def chosen(packed: bytes, made: float) -> bool:
            if before is not None and made >= before:
                return False
            return model == "*" or fnmatchcase(_model(packed), model)

        with self._clear_errors(), self._file as file:
            file.create_function("chosen", 2, chosen, deterministic=True)
            dropped = file.execute(DROP).rowcount
        with suppress(sqlite3.OperationalError):  # in use: the space is taken again by later ones
            self._file.execute("VACUUM")
        return dropped

    def _read(self, row: tuple[Any, ...]) -> CacheEntry | None:
        key, request, reply, match, made, proof = row
        if proof != _proof(key, request, reply):
            self.damaged += 1
            return None
        return CacheEntry(unpack(request), unpack(reply), match, made)

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, Timeout) as error:
            raise CacheError(
                f"the cache {self.path} cannot be used: {error}; mend or remove the file, or name "
                "another with --cache-file"
            ) from error


def _digest(data: Any) -> str:
    return hashlib.blake2b(digest_key(data).encode(), digest_size=20).hexdigest()


def _proof(key: str, *packed: bytes) -> str:
    return hashlib.blake2b(b"\x1f".join([key.encode(), *packed]), digest_size=20).hexdigest()


def _model(packed: bytes) -> str:
    try:
        return str(unpack(packed)["model"])
    except (zlib.error, json.JSONDecodeError, UnicodeDecodeError):
        return ""


AROUND = 12
"""Characters that are shown before the first that differs."""
SHOWN = 60
"""Characters that are shown in all."""


def nearest(cache: Cache, request: Request, but_not_of: str | None = None) -> CacheEntry | None:
    """The stored request that is most like this one, the latest of those that are equally so.

    One for the same sample comes first: that other samples are stored too explains no miss.

    Args:
        but_not_of: leave out what was bought for this match.
    """
    near = cache.near(request, but_not_of)
    return min(near, key=lambda entry: _distance(request.data, entry.request), default=None)


def differences(asked: Any, stored: Any, place: str = "") -> Iterator[str]:
    """What differs between a request and a stored one, in plain words.

    >>> list(differences({"seed": 1}, {"seed": 2, "top_p": 0.5}, "set"))
    ['set.seed is 1; what is stored has 2', 'set.top_p is left out; what is stored has 0.5']
    >>> list(differences(["You are Alice."], ["You are Bob."], "messages"))
    ['messages[0] differs from character 8 on: "You are Alice."; what is stored has "You are Bob."']
    """
    if asked == stored and type(asked) is type(stored):
        return
    if isinstance(asked, Mapping) and isinstance(stored, Mapping):
        for key in [*asked, *(key for key in stored if key not in asked)]:
            below = f"{place}.{key}" if place else str(key)
            if key not in stored:
                yield f"{below} is {shown(asked[key])}; what is stored leaves it out"
            elif key not in asked:
                yield f"{below} is left out; what is stored has {shown(stored[key])}"
            else:
                yield from differences(asked[key], stored[key], below)
    elif _is_list(asked) and _is_list(stored):
        for number, (one, other) in enumerate(zip(asked, stored, strict=False)):
            yield from differences(one, other, f"{place}[{number}]")
        if len(asked) != len(stored):
            yield f"{place} has {counted(len(asked), 'entry')}; what is stored has {len(stored):,}"
    elif isinstance(asked, str) and isinstance(stored, str):
        start = _alike(asked, stored)
        here, there = _around(asked, start), _around(stored, start)
        yield f"{place} differs from character {start} on: {here}; what is stored has {there}"
    else:
        yield f"{place} is {shown(asked)}; what is stored has {shown(stored)}"


def _distance(asked: Mapping[str, Any], stored: Mapping[str, Any]) -> tuple[bool, int, int]:
    """How far requests are apart: whether in sample, in places, in characters after the first."""
    told, kept = (_words(one) for one in (asked, stored))
    apart = max(len(told), len(kept)) - _alike(told, kept)
    other = asked.get("replicate") != stored.get("replicate")
    return other, sum(1 for _ in differences(asked, stored)), apart


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _words(request: Mapping[str, Any]) -> str:
    return "\n".join(message["content"] for message in request["messages"])


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _around(text: str, start: int) -> str:
    """A piece of a text around a character, in quotes, with dots where it is cut."""
    first = max(0, start - AROUND)
    piece = text[first : first + SHOWN]
    cut = ("…" if first else "", "…" if first + SHOWN < len(text) else "")
    return f'"{cut[0]}{piece}{cut[1]}"'.replace("\n", "\\n")
