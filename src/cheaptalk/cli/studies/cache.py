"""The commands that look into the cache of replies: cache stats, clear, export and explain."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.loading import Group
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    CacheFileOption,
    JsonOption,
    StoreOption,
    file_to_write,
    usual_cache,
)
from cheaptalk.cli.shared.printing import err, escaped, out, print_json, print_table, say
from cheaptalk.cli.shared.sentences import counted
from cheaptalk.whole_files import read_whole, whole_file

MatchArgument = Annotated[
    str,
    typer.Argument(help="A match's id, or the beginning of one; or a JSON file with a call."),
]

commands = typer.Typer(
    cls=Group, help="Look into the cache of replies.", no_args_is_help=True, add_completion=False
)


def _opened(file: Path | None) -> ct.records.Cache:
    return ct.records.Cache(file or usual_cache(), create=False)


@commands.command()
def stats(cache_file: CacheFileOption = None, json: JsonOption = False) -> None:
    """Say what the cache holds, by model."""
    with _opened(cache_file) as cache:
        shelves = cache.shelves()
    size = sum(file.stat().st_size for file in cache.path.parent.glob(f"{cache.path.name}*"))
    if json:
        print_json({
            "path": str(cache.path), "bytes": size, "damaged": cache.damaged,
            "models": [shelf._asdict() for shelf in shelves],
        })  # fmt: skip
        return
    short = ct.models.model_strings.short_names(shelf.model for shelf in shelves)
    rows: list[list[object]] = [
        [short[shelf.model], shelf.replies, shelf.tokens, _date(shelf.first), _date(shelf.last)]
        for shelf in shelves
    ]
    if rows:
        print_table(None, ["model", "replies", "tokens", "first", "last"], rows)
    total = sum(shelf.replies for shelf in shelves)
    say(f"{cache.path}: {counted(total, 'reply')}, {size / 1e6:,.1f} MB")
    if cache.damaged:
        out.print(f"{cache.damaged:,} damaged entries; they are bought anew when they are needed")


@commands.command()
def clear(
    cache_file: CacheFileOption = None,
    model: Annotated[
        str, typer.Option(help="Only of these models, such as 'openai/*'.", show_default="all")
    ] = "*",
    before: Annotated[
        datetime | None, typer.Option(help="Only what was kept before this day.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
) -> None:
    """Drop replies from the cache; stores are not touched."""
    with _opened(cache_file) as cache:
        if not yes:
            typer.confirm(f"Drop replies from {cache.path}?", abort=True)
        dropped = cache.clear(model, None if before is None else before.timestamp())
        if not dropped:
            _has(cache, model)
    out.print(f"{counted(dropped, 'reply')} dropped")


def _has(cache: ct.records.Cache, model: str) -> None:
    """Refuse a pattern that no model of the cache fits: most likely it is misspelt."""
    there = [shelf.model for shelf in cache.shelves()]
    if there and not any(fnmatchcase(one, model) for one in there):
        raise ct.StoreError(
            f'{cache.path} holds nothing of "{model}", only of {", ".join(there)}; write the '
            "model with its URL, or a pattern such as 'openai/*'"
        )


@commands.command()
def export(
    to: Annotated[
        Path,
        typer.Option(
            "--out", help="The file to write: a JSON object in each line.", callback=file_to_write
        ),
    ],
    cache_file: CacheFileOption = None,
) -> None:
    """Write all requests and replies of the cache as JSON lines."""
    written = 0
    with _opened(cache_file) as cache, whole_file(to, new=True) as file:
        for entry in cache.entries():
            file.write(jsonlib.dumps(entry._asdict()) + "\n")
            written += 1
    say(f"{counted(written, 'reply')} written to {to}")
    if cache.damaged:
        err.print(f"{cache.damaged:,} damaged entries left out")


class ExplainedCall(NamedTuple):
    """A call to be explained: where it stands, its request and whose match it was."""

    place: str
    request: ct.records.Request
    match: str | None
    cached: bool = False


@commands.command()
def explain(
    match: MatchArgument,
    request: Annotated[int | None, typer.Option(help="Only this request's calls.")] = None,
    seat: Annotated[str | None, typer.Option(help="Only this seat's calls.")] = None,
    store: StoreOption = DEFAULT_STORE,
    cache_file: CacheFileOption = None,
    json: JsonOption = False,
) -> None:
    """Show whether a match's calls would hit and, for a miss, what the nearest differs in."""
    found = list(_in_file(Path(match)) if Path(match).is_file() else _in_store(match, store))
    chosen = [
        one
        for one in found
        if _is(one, "request", request) and _is(one, "seat", seat)
    ]  # fmt: skip
    if not chosen:
        raise _no_call(match, found)
    with _opened(cache_file) as cache:
        told = [_explained(cache, one) for one in chosen]
    if json:
        print_json(told)
        return
    for one in told:
        out.print(f"[bold]{escaped(one['call'])}[/]: {escaped(one['result'])}")
        for line in one["differences"]:
            say(f"  {line}")


def _no_call(match: str, found: Sequence[ExplainedCall]) -> ct.StoreError:
    """That no call is meant, with those that could be."""
    there = ", ".join(dict.fromkeys(one.place.partition(",")[0] for one in found))
    if not there:
        return ct.StoreError(f"{match}: no call to a model was made")
    return ct.StoreError(f"{match}: there is no such call to a model; there are: {there}")


def _explained(cache: ct.records.Cache, asked: ExplainedCall) -> dict[str, Any]:
    """What the cache has for a call, and in what the nearest other request differs."""
    hit = cache.find(asked.request)
    own = hit is not None and hit.match == asked.match and not asked.cached
    if hit is not None and not own:
        result = f"hit: bought for match {hit.match} on {_date(hit.made)}"
        return {"call": asked.place, "hit": True, "result": result, "differences": []}
    near = ct.records.nearest(cache, asked.request, asked.match)
    lines = [] if near is None else list(ct.records.differences(asked.request.data, near.request))
    now = "a hit from now on; it was bought for this match itself" if own else "miss"
    where = (
        "nothing else is stored" if near is None
        else f"the nearest other request, of match {near.match}, differs in"
    )  # fmt: skip
    return {"call": asked.place, "hit": own, "result": f"{now}; {where}", "differences": lines}


def _in_store(match: str, store: str) -> Iterator[ExplainedCall]:
    """The calls of a match, recorded or not."""
    with ct.Store.open(store) as opened:
        record = opened.find(match)
        seed = record.body.get("seed")
        open_calls = opened.open_calls(record.id)
    if seed is None:
        raise ct.CheaptalkError(
            f"the seed of match {record.id} is not in the store: it was begun by an earlier "
            "version; resume its study first"
        )
    made = [
        (answer.request, answer.seat, attempt, call)
        for answer in record.answers
        for attempt, call in enumerate(answer.calls)
    ]
    made += [(call["request"], call["seat"], call["attempt"], call) for call in open_calls]
    for request, seat, attempt, call in made:
        if "model" in call["call"]:
            place = f"request {request} {seat}{f', attempt {attempt}' if attempt else ''}"
            here = ct.records.Replicate(seed, request, seat, attempt)
            asked = ct.records.Request.of(call["call"], here)
            yield ExplainedCall(place, asked, record.id, bool((call["reply"] or {}).get("cached")))


def _in_file(file: Path) -> Iterator[ExplainedCall]:
    """The call in a file: a call as stores keep it, with the replicate beside it if it has one."""
    try:
        data = jsonlib.loads(read_whole(file))
        replicate = data.pop("replicate", None)
        call = ct.models.ModelCall.model_validate(data).model_dump(mode="json", exclude_none=True)
        here = replicate and ct.records.Replicate(**replicate)
    except (AttributeError, TypeError, ValueError) as error:
        raise ct.StoreError(f"{file} holds no call to a model: {error}") from None
    yield ExplainedCall(str(file), ct.records.Request.of(call, here or None), None)


def _is(asked: ExplainedCall, part: str, wanted: object) -> bool:
    replicate = asked.request.data["replicate"] or {}
    return wanted is None or replicate.get(part) == wanted


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")
