"""Commands that import games from other systems: ``store import glee``, ``gama``, ``dond`` etc."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.loading import Group, command_of
from cheaptalk.cli.shared.lookup import check_free
from cheaptalk.cli.shared.printing import (
    err,
    hint,
    out,
    print_json,
    print_table,
    say,
    warn_about_names,
)
from cheaptalk.cli.shared.sentences import at_store, counted

MAX_LINES = 20
"""Maximum number of reasons and notes that are printed; ``--json`` prints all."""

StudyName = Annotated[opt.Name, opt.Settings(help="Store the games in the study with this name.")]
KeepNames = Annotated[bool, opt.Settings(help="Do not redact first names in messages.")]
Redact = Annotated[
    list[opt.Name] | None, opt.Settings(help="Also redact this name in messages. Repeatable.")
]


class Importers(Group):
    """The group of import commands, including one for each registered importer."""

    def summaries(self) -> dict[str, str]:
        summaries = super().summaries()
        installed = {point.name for point in entry_points(group="cheaptalk.importers")}
        if installed <= set(summaries) and "cheaptalk.records.imports.importing" not in sys.modules:
            return summaries  # only built-in importers: skip a slow import
        importers = sorted(ct.records.imports.IMPORTERS.items())
        return {name: importer.help for name, importer in importers} | summaries

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        importer = None if command is not None else ct.records.imports.IMPORTERS.get(cmd_name)
        return command if importer is None else _command(cmd_name, importer)


def _command(name: str, importer: ct.records.imports.Importer) -> Any:
    def import_games(
        paths: Annotated[list[Path], opt.Settings(metavar="PATH...")],
        /,
        store: opt.Store = opt.DEFAULT_STORE,
        study: StudyName = f"{name}-import",
        json: opt.Json = False,
    ) -> None:
        """Import games.

        Args:
            paths: Files or folders with recorded games.
        """
        _import(lambda: importer.read(paths), store, study, json)

    return command_of(name, import_games, importer.help)


def glee(
    folder: Annotated[Path, opt.Settings(metavar="DIR")],
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    study: StudyName = "glee-import",
    keep_names: KeepNames = False,
    redact: Redact = None,
    json: opt.Json = False,
) -> None:
    """Import published games of GLEE; games already in the store are skipped.

    First names that probably address a person are redacted, but some may remain. Check the messages
    before you publish them, and redact further names with --redact.

    Args:
        folder: Folder with GLEE games, at any depth.
    """
    read = partial(ct.papers.read_glee, folder, keep_names=keep_names, names=redact or [])
    _import(read, store, study, json)


def gama(
    folder: Annotated[Path, opt.Settings(metavar="DIR")],
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    study: StudyName = "gama-import",
    alias: Annotated[list[str] | None, opt.Settings(metavar="ALIAS=NAME")] = None,
    json: opt.Json = False,
) -> None:
    """Import recorded games of GAMA-Bench; games already in the store are skipped.

    Reports with --as-published show the same values of the metric "score" as the paper. A model is
    imported as several players if file names indicate different temperatures, prompts or personas.

    Args:
        folder: Folder with GAMA-Bench games, at any depth.
        alias: Treat the model ALIAS as the model NAME. Repeatable.
    """
    aliases = dict(opt.pair(text, "ALIAS=NAME", "--alias") for text in alias or ())
    _import(lambda: ct.papers.read_gama(folder, aliases), store, study, json)


def dond(
    paths: Annotated[list[Path], opt.Settings(metavar="PATH...")],
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    study: StudyName = "dond-import",
    keep_names: KeepNames = False,
    redact: Redact = None,
    json: opt.Json = False,
) -> None:
    """Import human dialogues of Deal or No Deal; those already in the store are skipped.

    The lines of a dialogue become one match. Import all files together, because the lines of a
    dialogue can be in different files. First names that probably address a person are redacted, but
    some may remain. Check the messages before you publish them, and redact further names with
    --redact.

    Args:
        paths: Files with dialogues, or folders with .txt files.
    """
    read = partial(ct.papers.read_dond, paths, keep_names=keep_names, names=redact or [])
    _import(read, store, study, json)


def _print_lines(lines: Sequence[str]) -> None:
    for line in lines[:MAX_LINES]:
        say(f"  {line}")
    if len(lines) > MAX_LINES:
        out.print(f"  and {len(lines) - MAX_LINES:,} more; --json prints all")


def _import(
    read: Callable[[], ct.records.imports.GameCollection], store: str, study: str, as_json: bool
) -> None:
    check_free(store)
    with err.status(study):
        collection = ct.records.imports.check_not_empty(read())
    with ct.Store.open(store, create=True) as opened, err.status(study) as status:

        def show(importing: ct.records.imports.ImportSummary) -> None:
            status.update(f"{study}: {counted(importing.read, 'game')} read")

        importing = ct.import_matches(collection, opened, study, show)
        warn_about_names(opened, study)
    notes = importing.notes.most_common()
    if as_json:
        print_json(
            {
                "study": study,
                "store": ct.records.store_name(store),
                "present": importing.present,
                "redactions": importing.redactions,
                "notes": dict(notes),
                "ignored": list(importing.ignored),
                "reasons": {reason: len(games) for reason, games in importing.reasons.items()},
                "imported": importing.imported,
                "skipped": [game._asdict() for game in importing.skipped],
            }
        )
    else:
        names = counted(importing.redactions, "name")
        redacted = f", {names} redacted" if importing.redactions else ""
        out.print(
            f"{study}: {counted(importing.imported, 'game')} imported, {importing.present:,} "
            f"already in the store, {len(importing.skipped):,} skipped{redacted}"
        )
        if importing.skipped:
            reasons = importing.reasons.items()
            rows = [[len(games), reason, games[0]] for reason, games in reasons]
            print_table(None, ["skipped", "reason", "first"], rows[:MAX_LINES])
            if len(rows) > MAX_LINES:
                out.print(f"  and {len(rows) - MAX_LINES:,} more reasons; --json prints all")
        if importing.ignored:
            first, *others = importing.ignored
            more = f" and {counted(len(others), 'other')}" if others else ""
            out.print(f"ignored, because the import reads no such files: {first}{more}")
        if notes:
            out.print("changes made by the import:")
            _print_lines([f"{note}: {counted(count, 'time')}" for note, count in notes])
        if importing.imported or importing.present:
            hint(f"write a report with: cheaptalk report {study} {at_store(store)}")
    if importing.skipped:
        raise typer.Exit(1)
