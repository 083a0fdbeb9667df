"""The ``model cache`` commands, which show, clear and export the response cache."""

from __future__ import annotations

import json as jsonlib
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.atomic_files import whole_file
from cheaptalk.cli.shared.loading import Group
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    CacheFileOption,
    JsonOption,
    StoreOption,
    YesOption,
    file_to_write,
    usual_cache,
)
from cheaptalk.cli.shared.printing import err, escaped, out, print_json, print_table, say
from cheaptalk.cli.shared.sentences import counted

MatchArgument = Annotated[
    str, typer.Argument(help="ID of a match, a prefix of the ID, or a JSON file with a call.")
]

commands = typer.Typer(
    cls=Group,
    help="Inspect or clear the response cache.",
    no_args_is_help=True,
    add_completion=False,
)


def _opened(file: Path | None) -> ct.records.Cache:
    return ct.records.Cache(file or usual_cache(), create=False)


@commands.command()
def stats(cache_file: CacheFileOption = None, json: JsonOption = False) -> None:
    """Show the number, size and age of cached responses by model."""
    with _opened(cache_file) as cache:
        entries = cache.shelves()
    size = sum(file.stat().st_size for file in cache.path.parent.glob(f"{cache.path.name}*"))
    if json:
        print_json({
            "path": str(cache.path), "bytes": size, "damaged": cache.damaged,
            "models": [entry._asdict() for entry in entries],
        })  # fmt: skip
        return
    short = ct.models.model_strings.short_names(entry.model for entry in entries)
    rows: list[list[object]] = [
        [short[entry.model], entry.replies, entry.tokens, _date(entry.first), _date(entry.last)]
        for entry in entries
    ]
    if rows:
        print_table(None, ["model", "responses", "tokens", "oldest", "newest"], rows)
    total = sum(entry.replies for entry in entries)
    say(f"{cache.path}: {counted(total, 'response')}, {size / 1e6:,.1f} MB")
    if cache.damaged:
        entries_ = counted(cache.damaged, "damaged entry")
        out.print(f"{entries_} ignored; the model is called again when a study needs the response")


@commands.command()
def clear(
    cache_file: CacheFileOption = None,
    model: Annotated[
        str,
        typer.Option(
            "--model-pattern",
            help="Only delete responses of matching models, e.g. 'openai/*'.",
            metavar="PATTERN",
            show_default="all models",
        ),
    ] = "*",
    before: Annotated[
        datetime | None, typer.Option(help="Only delete responses cached before this date.")
    ] = None,
    yes: YesOption = False,
) -> None:
    """Delete responses from the cache; stores are not changed."""
    with _opened(cache_file) as cache:
        if not yes:
            typer.confirm(f"Delete responses from {cache.path}?", abort=True)
        deleted = cache.clear(model, None if before is None else before.timestamp())
        if not deleted:
            _check_pattern(cache, model)
    out.print(f"{counted(deleted, 'response')} deleted")


def _check_pattern(cache: ct.records.Cache, pattern: str) -> None:
    """Check that a pattern matches at least one model in the cache, to detect typing errors."""
    models = [entry.model for entry in cache.shelves()]
    if models and not any(fnmatchcase(model, pattern) for model in models):
        raise ct.StoreError(
            f'no model in {cache.path} matches "{pattern}" (models: {", ".join(models)}); give the '
            "model string with its URL, or a pattern such as 'openai/*'"
        )


@commands.command()
def export(
    to: Annotated[
        Path,
        typer.Option("--out", help="Write JSON Lines to this new file.", callback=file_to_write),
    ],
    cache_file: CacheFileOption = None,
) -> None:
    """Export all requests and responses in the cache as JSON Lines."""
    written = 0
    with _opened(cache_file) as cache, whole_file(to, new=True) as file:
        for entry in cache.entries():
            file.write(jsonlib.dumps(entry._asdict()) + "\n")
            written += 1
    say(f"{counted(written, 'response')} written to {to}")
    if cache.damaged:
        err.print(f"{counted(cache.damaged, 'damaged entry')} skipped")


@commands.command()
def explain(
    match: MatchArgument,
    request: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Only explain decision request number N.")
    ] = None,
    actor: Annotated[
        str | None,
        typer.Option(help="Only explain calls of this actor, e.g. alice.", metavar="NAME"),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    cache_file: CacheFileOption = None,
    json: JsonOption = False,
) -> None:
    """Check whether a match's calls are in the cache, and show how the nearest entries differ."""
    file = Path(match)
    with _opened(cache_file) as cache:
        if file.is_file():
            explanations = [ct.records.explain_file(cache, file)]
        else:
            with ct.Store.open(store) as opened:
                explanations = ct.records.explain_match(
                    cache, opened, match, request=request, seat=actor
                )
    if json:
        print_json([explanation._asdict() for explanation in explanations])
        return
    for explanation in explanations:
        out.print(f"[bold]{escaped(explanation.call)}[/]: {escaped(explanation.result)}")
        for line in explanation.differences:
            say(f"  {line}")


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")
