"""The commands that look into the cache of replies: cache stats, clear, export and explain."""

from __future__ import annotations

import json as jsonlib
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

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
from cheaptalk.whole_files import whole_file

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
    file = Path(match)
    with _opened(cache_file) as cache:
        if file.is_file():
            told = [ct.records.explain_file(cache, file)]
        else:
            with ct.Store.open(store) as opened:
                told = ct.records.explain_match(cache, opened, match, request=request, seat=seat)
    if json:
        print_json([one._asdict() for one in told])
        return
    for one in told:
        out.print(f"[bold]{escaped(one.call)}[/]: {escaped(one.result)}")
        for line in one.differences:
            say(f"  {line}")


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")
