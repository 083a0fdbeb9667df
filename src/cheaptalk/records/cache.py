"""Response cache: replies of earlier model calls, in a file that many runs can share."""

import hashlib
import json
import sqlite3
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from cheaptalk.atomic_files import read_whole
from cheaptalk.models import ModelCall, ModelName, Reply, Usage
from cheaptalk.records.encoding import pack, unpack
from cheaptalk.records.identity import digest_key
from cheaptalk.records.record import MatchRecord
from cheaptalk.records.store.backend import StoreError
from cheaptalk.records.store.lookup import StoreLike, reads
from cheaptalk.records.store.sqlite import SECOND_NAME, has_second_name
from cheaptalk.records.store.store import Store
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.rules.errors import shown

FORMAT = 1
"""Version of the file format."""
LOCK_TIMEOUT = 10.0
"""Seconds to wait for another process that is writing."""
NEAREST = 64
"""Maximum number of stored requests that are compared in full."""
PARTS = ("model", "messages", "settings", "form", "replicate")
"""Parts of a request that are compared."""
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
    """Raised when the response cache cannot be used."""


class Replicate(NamedTuple):
    """The identity of a sample when the same call is sampled several times.

    Attributes:
        seed: the match's seed, which differs between instances and repeats.
        request: the request's number in the match.
        actor: the actor that decides.
        attempt: the call's index in the answer.
    """

    seed: str
    request: int
    actor: str
    attempt: int


class Request(NamedTuple):
    """The call and sample identity that together determine a cached response.

    ``data`` is plain JSON with the complete model string, including its URL.
    """

    data: dict[str, Any]
    key: str

    @classmethod
    def of(cls, call: Mapping[str, Any], replicate: Replicate | None) -> "Request":
        """Create a request from the JSON data of a call."""
        name = ModelName.parse(call["model"])
        data = dict(call) | {
            "model": f"{name.provider}/{name.model}" + (f"@{name.url}" if name.url else ""),
            "replicate": None if replicate is None else replicate._asdict(),
        }
        return cls(data, _digest(data))

    def parts(self) -> dict[str, str]:
        """Return a digest of each part of the request, for comparison with other requests."""
        return {part: _digest(self.data.get(part)) for part in PARTS}


class CacheEntry(NamedTuple):
    """A cached response with its request.

    Attributes:
        match: the match for which the response was bought.
        made: the time of the entry, in seconds since 1970.
    """

    request: dict[str, Any]
    reply: dict[str, Any]
    match: str | None
    made: float


class Shelf(NamedTuple):
    """Statistics of one model's cached responses: number, tokens, oldest and newest time."""

    model: str
    replies: int
    tokens: int
    first: float
    last: float


class Cache:
    """A file of cached model responses, which several processes can use at the same time.

    ``damaged`` counts the damaged entries that were read; each is a miss.
    """

    def __init__(self, path: Path, *, create: bool = True) -> None:
        """Open a cache file.

        Raises:
            CacheError: the file is missing, is not a cache, or cannot be used.
        """
        self.path = path
        self.damaged = 0
        if not create and not path.is_file():
            raise CacheError(f"no cache at {path}; name an existing file")
        if has_second_name(path):
            raise CacheError(f"the cache {path} {SECOND_NAME}")
        with self._clear_errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(path, timeout=LOCK_TIMEOUT, check_same_thread=False)
        try:
            self._prepare()
        except BaseException:
            self._file.close()
            raise

    def _prepare(self) -> None:
        with self._clear_errors():
            if not self._is_ready():
                with FileLock(f"{self.path}.lock", LOCK_TIMEOUT):
                    if not self._is_ready():
                        self._file.execute("PRAGMA journal_mode=WAL")
                        self._file.execute(TABLE)
                        self._file.execute(f"PRAGMA user_version={FORMAT}")
            self._file.execute("PRAGMA synchronous=NORMAL")  # the store keeps a durable copy

    def _is_ready(self) -> bool:
        version = self._file.execute("PRAGMA user_version").fetchone()[0]
        tables = {name for (name,) in self._file.execute(TABLES)}
        if version > FORMAT:
            raise CacheError(f"{self.path} was written by a newer cheaptalk; upgrade cheaptalk")
        if tables - {"replies"}:
            raise CacheError(f"{self.path} is a database, but not a cache; name another file")
        return bool(version == FORMAT)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "Cache":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def get(self, request: Request) -> Reply | None:
        """Return the cached response to a request, or None.

        A hit has ``cached`` set and no usage; ``saved`` is the original usage.
        """
        entry = self.find(request)
        if entry is None:
            return None
        reply = Reply.model_validate(entry.reply)
        return reply.model_copy(
            update={
                "cached": True,
                "batch": False,
                "usage": Usage(),
                "saved": reply.usage,
                "dollars": 0.0,
                "seconds": 0.0,
            }
        )

    def find(self, request: Request) -> CacheEntry | None:
        """Return the cache entry for a request; None if it is missing or damaged."""
        with self._clear_errors():
            row = self._file.execute(f"{SELECT} WHERE key = ?", [request.key]).fetchone()
        entry = None if row is None else self._read(row)
        return entry if entry is not None and entry.request == request.data else None

    def put(self, request: Request, reply: Reply, match: str | None = None) -> None:
        """Store a response if it is new, complete and not empty."""
        is_complete = reply.failure is None and not reply.truncated
        if reply.cached or not is_complete or not (reply.text or "").strip():
            return
        written = reply.model_dump(mode="json", exclude_none=True)
        packed = pack(request.data), pack(written)
        row = [request.key, *request.parts().values(), match, time.time(), *packed]
        with self._clear_errors(), self._file as file:
            file.execute(INSERT, [*row, _proof(request.key, *packed)])

    def nearest(self, request: Request, but_not_of: str | None = None) -> CacheEntry | None:
        """Return the cache entry whose request is most similar to a given request.

        Requests for the same sample come first, because other samples explain no miss. Entries that
        share the most parts are compared in full.

        Args:
            but_not_of: exclude entries bought for this match.
        """
        shared = " + ".join(f"({part} = :{part})" for part in PARTS)
        query = (
            f"{SELECT} WHERE match IS NULL OR match IS NOT :match "
            f"ORDER BY replicate = :replicate DESC, {shared} DESC, made DESC LIMIT {NEAREST}"
        )
        with self._clear_errors():
            rows = self._file.execute(query, request.parts() | {"match": but_not_of}).fetchall()
        near = [entry for entry in map(self._read, rows) if entry is not None]
        return min(near, key=lambda entry: _distance(request.data, entry.request), default=None)

    def entries(self) -> Iterator[CacheEntry]:
        """Yield all entries except damaged ones, oldest first."""
        with self._clear_errors(), closing(self._file.execute(f"{SELECT} ORDER BY made")) as rows:
            for row in rows:
                entry = self._read(row)
                if entry is not None:
                    yield entry

    def shelves(self) -> list[Shelf]:
        """Return statistics of the cached responses for each model."""
        by_model: dict[str, list[tuple[int, float]]] = {}
        for entry in self.entries():
            usage = Reply.model_validate(entry.reply).usage
            tokens = usage.input_tokens + usage.output_tokens
            by_model.setdefault(entry.request["model"], []).append((tokens, entry.made))
        return [
            Shelf(
                model,
                len(replies),
                sum(tokens for tokens, _ in replies),
                replies[0][1],
                replies[-1][1],
            )
            for model, replies in sorted(by_model.items())
        ]

    def clear(self, model: str = "*", before: float | None = None) -> int:
        """Delete entries and return their number.

        Args:
            model: a pattern of model strings, such as ``openai/*``; ``*`` includes damaged entries.
            before: only entries stored before this time, in seconds since 1970.
        """

        def chosen(packed: bytes, made: float) -> bool:
            if before is not None and made >= before:
                return False
            return model == "*" or fnmatchcase(_model(packed), model)

        with self._clear_errors(), self._file as file:
            file.create_function("chosen", 2, chosen, deterministic=True)
            dropped = file.execute(DROP).rowcount
        with suppress(sqlite3.OperationalError):  # in use: later entries reuse the space
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
                f"the cache {self.path} cannot be used: {error}; repair or remove the file, or "
                "name another one"
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
"""Characters that a message shows before the first difference."""
SHOWN = 60
"""Maximum characters of a text that a message shows."""


def differences(requested: Any, stored: Any, path: str = "") -> Iterator[str]:
    """Describe the differences between a request and a stored one.

    >>> list(differences({"seed": 1}, {"seed": 2, "top_p": 0.5}, "set"))
    ['set.seed is 1 (stored: 2)', 'set.top_p is missing (stored: 0.5)']
    >>> list(differences(["I am Ann."], ["I am Bob."], "m"))
    ['m[0] differs from the stored request at character 5: "I am Ann." (stored: "I am Bob.")']
    """
    if requested == stored and type(requested) is type(stored):
        return
    if isinstance(requested, Mapping) and isinstance(stored, Mapping):
        for key in [*requested, *(key for key in stored if key not in requested)]:
            key_path = f"{path}.{key}" if path else str(key)
            if key not in stored:
                yield f"{key_path} is {shown(requested[key])} (stored: missing)"
            elif key not in requested:
                yield f"{key_path} is missing (stored: {shown(stored[key])})"
            else:
                yield from differences(requested[key], stored[key], key_path)
    elif _is_list(requested) and _is_list(stored):
        for number, (left, right) in enumerate(zip(requested, stored, strict=False)):
            yield from differences(left, right, f"{path}[{number}]")
        if len(requested) != len(stored):
            yield f"{path} has {counted(len(requested), 'entry')} (stored: {len(stored):,})"
    elif isinstance(requested, str) and isinstance(stored, str):
        start = _alike(requested, stored)
        difference = f"{_around(requested, start)} (stored: {_around(stored, start)})"
        yield f"{path} differs from the stored request at character {start}: {difference}"
    else:
        yield f"{path} is {shown(requested)} (stored: {shown(stored)})"


def _distance(requested: Mapping[str, Any], stored: Mapping[str, Any]) -> tuple[bool, int, int]:
    """Return a sort key that ranks stored requests by their difference from a given request."""
    requested_text, stored_text = (_words(request) for request in (requested, stored))
    differing = max(len(requested_text), len(stored_text)) - _alike(requested_text, stored_text)
    other_sample = requested.get("replicate") != stored.get("replicate")
    return other_sample, sum(1 for _ in differences(requested, stored)), differing


def _alike(first: str, second: str) -> int:
    """Return the length of the common prefix of two texts."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(first), len(second)))


def _words(request: Mapping[str, Any]) -> str:
    return "\n".join(message["content"] for message in request["messages"])


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _around(text: str, start: int) -> str:
    begin = max(0, start - AROUND)
    piece = text[begin : begin + SHOWN]
    cut = ("…" if begin else "", "…" if begin + SHOWN < len(text) else "")
    return f'"{cut[0]}{piece}{cut[1]}"'.replace("\n", "\\n")


class Explanation(NamedTuple):
    """An explanation of why a call hits or misses the response cache.

    Attributes:
        call: a description of the call's place in the match.
        hit: whether the cache would answer the call.
        result: a sentence that describes the hit or miss.
        differences: differences from the most similar cached request, if there is one.
    """

    call: str
    hit: bool
    result: str
    differences: Sequence[str]


@reads
def explain_match(
    cache: Cache,
    store: StoreLike,
    match: str,
    *,
    request: int | None = None,
    seat: str | None = None,
) -> list[Explanation]:
    """Explain the cache hits and misses of a match, completed or in progress.

    Args:
        match: the match's id, or the beginning of the id.
        request: only calls of this request.
        seat: only calls of this actor.

    Raises:
        StoreError: there is no such match or call.
        CheaptalkError: an earlier version began the match and did not record its seed.
    """
    assert isinstance(store, Store)
    record = store.find(match)
    calls = _calls_of(store, record)
    explanations = []
    for sample, call in calls:
        if request in (None, sample.request) and seat in (None, sample.actor):
            location = f"request {sample.request} {sample.actor}"
            location += f", attempt {sample.attempt}" if sample.attempt else ""
            was_cached = bool((call["reply"] or {}).get("cached"))
            cache_request = Request.of(call["call"], sample)
            explanations.append(_explain(cache, location, cache_request, record.id, was_cached))
    if not explanations:
        samples = (f"request {sample.request} {sample.actor}" for sample, _ in calls)
        existing = ", ".join(dict.fromkeys(samples))
        if existing:
            raise StoreError(f"{match}: no such call to a model; available: {existing}")
        raise StoreError(f"{match}: the match contains no call to a model")
    return explanations


def explain_file(cache: Cache, file: Path | str) -> Explanation:
    """Explain why the call in a JSON file hits or misses the response cache."""
    file = Path(file)
    try:
        data = json.loads(read_whole(file))
        replicate = data.pop("replicate", None)
        call = ModelCall.model_validate(data).model_dump(mode="json", exclude_none=True)
        parsed = replicate and Replicate(**replicate)
    except (AttributeError, TypeError, ValueError) as error:
        raise StoreError(f"{file} contains no valid call to a model: {error}") from None
    return _explain(cache, str(file), Request.of(call, parsed or None))


def _explain(
    cache: Cache, location: str, request: Request, match: str | None = None, cached: bool = False
) -> Explanation:
    """Return whether the cache answers a call, and how the nearest cached request differs.

    ``match`` is the call's match; ``cached`` is whether its recorded response came from a cache.
    """
    hit = cache.find(request)
    is_own = hit is not None and hit.match == match and not cached
    if hit is not None and not is_own:
        date = datetime.fromtimestamp(hit.made).astimezone().strftime("%Y-%m-%d %H:%M")
        return Explanation(location, True, f"hit: stored by match {hit.match} on {date}", ())
    verdict = "a hit for later requests; this match stored the entry" if is_own else "miss"
    comparison, lines = "the cache contains no other request", list[str]()
    if (near := cache.nearest(request, match)) is not None:
        comparison = f"the nearest other request, of match {near.match}, differs in"
        lines = list(differences(request.data, near.request))
    return Explanation(location, is_own, f"{verdict}; {comparison}", lines)


def _calls_of(store: Store, record: MatchRecord) -> list[tuple[Replicate, dict[str, Any]]]:
    """Return all calls to models of a match, each with its sample's identity."""
    seed = record.body.get("seed")
    if seed is None:
        raise CheaptalkError(
            f"the store does not contain the seed of match {record.id}, because an earlier version "
            "began it; resume its study first"
        )
    calls = [
        (Replicate(seed, answer.request, answer.actor, attempt), call)
        for answer in record.answers
        for attempt, call in enumerate(answer.calls)
    ]
    calls += [
        (Replicate(seed, *line.place(index)), call)
        for line in record.chat
        for index, call in enumerate(line.calls)
    ]
    calls += [
        (Replicate(seed, call["request"], call["actor"], call["attempt"]), call)
        for call in store.open_calls(record.id)
    ]
    return [(sample, call) for sample, call in calls if "model" in call["call"]]
