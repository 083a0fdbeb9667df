"""Why a call would be answered from a cache, or not: what is stored, and in what it differs."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from cheaptalk.models import ModelCall
from cheaptalk.records.cache import Cache, Replicate, Request, differences, nearest
from cheaptalk.records.store.backend import StoreError
from cheaptalk.records.store.store import Store
from cheaptalk.rules import CheaptalkError
from cheaptalk.whole_files import read_whole


class AskedCall(NamedTuple):
    """A call to be explained.

    Attributes:
        place: where it stands, in words.
        match: whose it was; None where nobody knows.
        cached: whether it was answered from a cache.
    """

    place: str
    request: Request
    match: str | None
    cached: bool = False


class Explanation(NamedTuple):
    """What a cache has for a call.

    Attributes:
        call: where the call stands, in words.
        hit: whether it would be answered.
        result: the same in a sentence.
        differences: between it and the nearest request that is stored, where others are.
    """

    call: str
    hit: bool
    result: str
    differences: Sequence[str]


def explain_match(
    cache: Cache, store: Store, match: str, *, request: int | None = None, seat: str | None = None
) -> list[Explanation]:
    """What a cache has for the calls of a recorded match, or of one that is under way.

    Args:
        match: its id, or the beginning of one.
        request, seat: only this question's calls, or this seat's.

    Raises:
        StoreError: there is no such match or call.
        CheaptalkError: an earlier version began the match, and did not note its seed.
    """
    found = list(_calls_of(store, match))
    wanted = {"request": request, "seat": seat}
    chosen = [
        one for one in found
        if all(value is None or one.request.data["replicate"][key] == value
               for key, value in wanted.items())
    ]  # fmt: skip
    if not chosen:
        there = ", ".join(dict.fromkeys(one.place.partition(",")[0] for one in found))
        if there:
            raise StoreError(f"{match}: there is no such call to a model; there are: {there}")
        raise StoreError(f"{match}: no call to a model was made")
    return [explain_call(cache, one) for one in chosen]


def explain_file(cache: Cache, file: Path) -> Explanation:
    """What a cache has for a call in a file: as stores keep it, with its replicate if it has one.

    Raises:
        StoreError: it holds none.
    """
    try:
        data = json.loads(read_whole(file))
        replicate = data.pop("replicate", None)
        call = ModelCall.model_validate(data).model_dump(mode="json", exclude_none=True)
        here = replicate and Replicate(**replicate)
    except (AttributeError, TypeError, ValueError) as error:
        raise StoreError(f"{file} holds no call to a model: {error}") from None
    return explain_call(cache, AskedCall(str(file), Request.of(call, here or None), None))


def explain_call(cache: Cache, asked: AskedCall) -> Explanation:
    """What a cache has for a call, and in what the nearest other request differs."""
    hit = cache.find(asked.request)
    own = hit is not None and hit.match == asked.match and not asked.cached
    if hit is not None and not own:
        made = datetime.fromtimestamp(hit.made).astimezone().strftime("%Y-%m-%d %H:%M")
        return Explanation(asked.place, True, f"hit: bought for match {hit.match} on {made}", ())
    near = nearest(cache, asked.request, asked.match)
    lines = [] if near is None else list(differences(asked.request.data, near.request))
    now = "a hit from now on; it was bought for this match itself" if own else "miss"
    where = (
        "nothing else is stored" if near is None
        else f"the nearest other request, of match {near.match}, differs in"
    )  # fmt: skip
    return Explanation(asked.place, own, f"{now}; {where}", lines)


def _calls_of(store: Store, match: str) -> Iterator[AskedCall]:
    """The calls of a match, recorded or not."""
    record = store.find(match)
    seed = record.body.get("seed")
    if seed is None:
        raise CheaptalkError(
            f"the seed of match {record.id} is not in the store: it was begun by an earlier "
            "version; resume its study first"
        )
    made: list[tuple[int, str, int, dict[str, Any]]] = [
        (answer.request, answer.seat, attempt, call)
        for answer in record.answers
        for attempt, call in enumerate(answer.calls)
    ]
    open_calls = store.open_calls(record.id)
    made += [(call["request"], call["seat"], call["attempt"], call) for call in open_calls]
    for request, seat, attempt, call in made:
        if "model" in call["call"]:
            place = f"request {request} {seat}{f', attempt {attempt}' if attempt else ''}"
            asked = Request.of(call["call"], Replicate(seed, request, seat, attempt))
            yield AskedCall(place, asked, record.id, bool((call["reply"] or {}).get("cached")))
