"""Explanations of cache hits and misses: how a call differs from the cached requests."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from cheaptalk.atomic_files import read_whole
from cheaptalk.models import ModelCall
from cheaptalk.records.cache import Cache, Replicate, Request, differences, nearest
from cheaptalk.records.store.backend import StoreError
from cheaptalk.records.store.store import Store
from cheaptalk.rules import CheaptalkError


class AskedCall(NamedTuple):
    """A call for which to explain the cache hit or miss.

    Attributes:
        location: a description of the call's place in the match.
        match: the call's match; None if unknown.
        cached: whether the call's response came from a cache.
    """

    location: str
    request: Request
    match: str | None
    cached: bool = False


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


def explain_match(
    cache: Cache, store: Store, match: str, *, request: int | None = None, seat: str | None = None
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
    calls = list(_calls_of(store, match))
    criteria = {"request": request, "actor": seat}
    selected = [
        call for call in calls
        if all(value is None or call.request.data["replicate"][key] == value
               for key, value in criteria.items())
    ]  # fmt: skip
    if not selected:
        existing = ", ".join(dict.fromkeys(call.location.partition(",")[0] for call in calls))
        if existing:
            raise StoreError(f"{match}: no such call to a model; available: {existing}")
        raise StoreError(f"{match}: the match contains no call to a model")
    return [explain_call(cache, call) for call in selected]


def explain_file(cache: Cache, file: Path) -> Explanation:
    """Explain why the call in a JSON file hits or misses the response cache."""
    try:
        data = json.loads(read_whole(file))
        replicate = data.pop("replicate", None)
        call = ModelCall.model_validate(data).model_dump(mode="json", exclude_none=True)
        parsed = replicate and Replicate(**replicate)
    except (AttributeError, TypeError, ValueError) as error:
        raise StoreError(f"{file} contains no valid call to a model: {error}") from None
    return explain_call(cache, AskedCall(str(file), Request.of(call, parsed or None), None))


def explain_call(cache: Cache, call: AskedCall) -> Explanation:
    """Return whether the cache answers a call, and how the nearest cached request differs."""
    hit = cache.find(call.request)
    is_own = hit is not None and hit.match == call.match and not call.cached
    if hit is not None and not is_own:
        date = datetime.fromtimestamp(hit.made).astimezone().strftime("%Y-%m-%d %H:%M")
        return Explanation(call.location, True, f"hit: stored by match {hit.match} on {date}", ())
    verdict = "a hit for later requests; this match stored the entry" if is_own else "miss"
    comparison, lines = "the cache contains no other request", list[str]()
    if (near := nearest(cache, call.request, call.match)) is not None:
        comparison = f"the nearest other request, of match {near.match}, differs in"
        lines = list(differences(call.request.data, near.request))
    return Explanation(call.location, is_own, f"{verdict}; {comparison}", lines)


def _calls_of(store: Store, match: str) -> Iterator[AskedCall]:
    record = store.find(match)
    seed = record.body.get("seed")
    if seed is None:
        raise CheaptalkError(
            f"the store does not contain the seed of match {record.id}, because an earlier version "
            "began it; resume its study first"
        )
    calls: list[tuple[int, str, int, dict[str, Any]]] = [
        (answer.request, answer.actor, attempt, call)
        for answer in record.answers
        for attempt, call in enumerate(answer.calls)
    ]
    open_calls = store.open_calls(record.id)
    calls += [(call["request"], call["actor"], call["attempt"], call) for call in open_calls]
    for request, actor, attempt, call in calls:
        if "model" in call["call"]:
            location = f"request {request} {actor}{f', attempt {attempt}' if attempt else ''}"
            cache_request = Request.of(call["call"], Replicate(seed, request, actor, attempt))
            cached = bool((call["reply"] or {}).get("cached"))
            yield AskedCall(location, cache_request, record.id, cached)
