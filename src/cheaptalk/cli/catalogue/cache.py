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
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.printing import err, escaped, out, print_json, print_table, say
from cheaptalk.cli.shared.sentences import counted


def _opened(file: Path | None) -> ct.records.Cache:
    return ct.records.Cache(file or opt.usual_cache(), create=False)


def stats(cache_file: opt.CacheFile = None, json: opt.Json = False) -> None:
    """Show the number, size and age of cached responses by model."""
    with _opened(cache_file) as cache:
        entries = cache.shelves()
    size = sum(file.stat().st_size for file in cache.path.parent.glob(f"{cache.path.name}*"))
    if json:
        print_json(
            {
                "path": str(cache.path),
                "bytes": size,
                "damaged": cache.damaged,
                "models": [entry._asdict() for entry in entries],
            }
        )
        return
    short = ct.models.model_strings.short_names(entry.model for entry in entries)
    rows = [
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


def clear(
    cache_file: opt.CacheFile = None,
    model_pattern: Annotated[str, opt.Settings(metavar="PATTERN", show_default="all models")] = "*",
    before: datetime | None = None,
    yes: opt.Yes = False,
) -> None:
    """Delete responses from the cache; stores are not changed.

    Args:
        model_pattern: Only delete responses of matching models, e.g. 'openai/*'.
        before: Only delete responses cached before this date.
    """
    with _opened(cache_file) as cache:
        if not yes:
            typer.confirm(f"Delete responses from {cache.path}?", abort=True)
        deleted = cache.clear(model_pattern, None if before is None else before.timestamp())
        if not deleted:
            _check_pattern(cache, model_pattern)
    out.print(f"{counted(deleted, 'response')} deleted")


def _check_pattern(cache: ct.records.Cache, pattern: str) -> None:
    """Check that a pattern matches at least one model in the cache, to detect typing errors."""
    models = [entry.model for entry in cache.shelves()]
    if models and not any(fnmatchcase(model, pattern) for model in models):
        raise ct.records.StoreError(
            f'no model in {cache.path} matches "{pattern}" (models: {", ".join(models)}); give the '
            "model string with its URL, or a pattern such as 'openai/*'"
        )


def export(
    to: Annotated[opt.NewFile, opt.Settings(flags=("--out",))], cache_file: opt.CacheFile = None
) -> None:
    """Export all requests and responses in the cache as JSON Lines.

    Args:
        to: Write JSON Lines to this new file.
    """
    written = 0
    with _opened(cache_file) as cache, whole_file(to, new=True) as file:
        for entry in cache.entries():
            file.write(jsonlib.dumps(entry._asdict()) + "\n")
            written += 1
    say(f"{counted(written, 'response')} written to {to}")
    if cache.damaged:
        err.print(f"{counted(cache.damaged, 'damaged entry')} skipped")


def explain(
    match: str,
    /,
    request: opt.CountFromZero | None = None,
    actor: opt.Name | None = None,
    store: opt.Store = opt.DEFAULT_STORE,
    cache_file: opt.CacheFile = None,
    json: opt.Json = False,
) -> None:
    """Check whether a match's calls are in the cache, and show how the nearest entries differ.

    Args:
        match: ID of a match, a prefix of the ID, or a JSON file with a call.
        request: Only explain decision request number N.
        actor: Only explain calls of this actor, e.g. alice.
    """
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
