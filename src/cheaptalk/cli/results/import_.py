"""The commands that take in games of other systems: import glee, gama, dond and others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.loading import Group, command_of
from cheaptalk.cli.shared.lookup import check_free
from cheaptalk.cli.shared.options import DEFAULT_STORE, JsonOption, StoreOption
from cheaptalk.cli.shared.printing import err, hint, out, print_json, say
from cheaptalk.cli.shared.sentences import at_store, counted

SHOWN = 20
"""Reasons and notes that are listed; ``--json`` lists all, with every game."""

PathsArgument = Annotated[
    list[Path], typer.Argument(help="Files or folders with games.", metavar="PATH...")
]
StudyOption = Annotated[str, typer.Option(help="What to call them in the store.")]
KeepNamesOption = Annotated[
    bool, typer.Option("--keep-names", help="Leave people's first names in the messages.")
]
NameOption = Annotated[
    list[str] | None,
    typer.Option("--name", help="A name to take out besides those found.", metavar="NAME"),
]


class Importers(Group):
    """The commands below, which have options of their own, then one for each other importer."""

    def list_commands(self, ctx: Any) -> list[str]:
        own = super().list_commands(ctx)
        installed = {point.name for point in entry_points(group="cheaptalk.importers")}
        if installed <= set(own) and "cheaptalk.records.imports.importers" not in sys.modules:
            return own  # nobody else has any: spare loading ours to list them
        return [*own, *(name for name in sorted(ct.records.imports.IMPORTERS) if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own = super().get_command(ctx, cmd_name)
        found = None if own is not None else ct.records.imports.IMPORTERS.get(cmd_name)
        return own if found is None else _command(cmd_name, found)


def _command(name: str, importer: ct.records.imports.Importer) -> Any:
    """The command of an importer that has no options of its own."""

    def take(
        paths: PathsArgument,
        store: StoreOption = DEFAULT_STORE,
        study: StudyOption = f"{name}-import",
        json: JsonOption = False,
    ) -> None:
        _take_in(lambda: importer.read(paths), store, study, json)

    return command_of(name, take, importer.help)


commands = typer.Typer(
    cls=Importers,
    help="Take in games that other systems published.",
    no_args_is_help=True,
    add_completion=False,
)


@commands.command()
def glee(
    folder: Annotated[
        Path, typer.Argument(help="A folder with games of GLEE in it, at any depth.", metavar="DIR")
    ],
    store: StoreOption = DEFAULT_STORE,
    study: StudyOption = "glee-import",
    keep_names: KeepNamesOption = False,
    name: NameOption = None,
    json: JsonOption = False,
) -> None:
    """Import published games of GLEE; games that are in the store already are not stored again.

    People's names are taken out where English addresses people, and not everywhere: read the
    messages before you publish them, and give what was missed with --name.
    """
    read = partial(ct.read_glee, folder, keep_names=keep_names, names=name or [])
    _take_in(read, store, study, json)


@commands.command()
def gama(
    folder: Annotated[
        Path,
        typer.Argument(help="A folder with recorded games of GAMA, at any depth.", metavar="DIR"),
    ],
    store: StoreOption = DEFAULT_STORE,
    study: StudyOption = "gama-import",
    alias: Annotated[
        list[str] | None,
        typer.Option(
            "--alias", help="A model's other name and its name, one player.", metavar="OTHER=NAME"
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Import recorded games of GAMA-Bench; games that are in the store are not stored again.

    The published variants of the measure called score are the scores of its paper. Players of one
    model whose temperature, prompts or persona differ by the names of their files stay apart.
    """
    aliases = _aliases(alias or [])
    _take_in(lambda: ct.read_gama(folder, aliases), store, study, json)


@commands.command()
def dond(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Files of dialogues, or folders with .txt files.", metavar="PATH..."),
    ],
    store: StoreOption = DEFAULT_STORE,
    study: StudyOption = "dond-import",
    keep_names: KeepNamesOption = False,
    name: NameOption = None,
    json: JsonOption = False,
) -> None:
    """Import people's dialogues of Deal or No Deal; those in the store are not stored again.

    The lines of one dialogue become one match. Give all files at once: what one file leaves out,
    another may tell. People's names are taken out where English addresses people, and not
    everywhere: read the messages before you publish them, and give what was missed with --name.
    """
    read = partial(ct.read_dond, paths, keep_names=keep_names, names=name or [])
    _take_in(read, store, study, json)


def _list(lines: Sequence[str]) -> None:
    """The first of some lines, and how many more there are."""
    for line in lines[:SHOWN]:
        say(f"  {line}")
    if len(lines) > SHOWN:
        out.print(f"  and {len(lines) - SHOWN:,} more; --json lists all")


def _reasons(skipped: Sequence[ct.records.imports.Skipped]) -> Iterator[str]:
    """Why games were left out, each reason once, with the first game and the number of others."""
    by: dict[str, list[str]] = {}
    for game, reason in skipped:
        by.setdefault(reason, []).append(game)
    for reason, (first, *others) in by.items():
        more = f" and {counted(len(others), 'other')}" if others else ""
        yield f"{first}{more}: {reason}"


def _aliases(written: Sequence[str]) -> dict[str, str]:
    """Names of models by the other names that stand for them."""
    found = {}
    for one in written:
        other, _, name = one.partition("=")
        if not (other.strip() and name.strip()):
            raise ct.CheaptalkError(f"--alias {one}: write OTHER=NAME, two names of one model")
        found[other.strip()] = name.strip()
    return found


def _take_in(
    read: Callable[[], ct.records.imports.Collection], store: str, study: str, as_json: bool
) -> None:
    """Store a collection that holds a game, and say what became of it."""
    check_free(store)
    with err.status(study):
        found = ct.records.imports.with_a_game(read())
    with ct.Store.open(store, create=True) as opened, err.status(study) as shown:

        def show(intake: ct.records.imports.Intake) -> None:
            shown.update(f"{study}: {counted(intake.read, 'game')} read")

        intake = ct.take_in(found, opened, study, show)
        named = ct.records.imports.holds_names(opened, study)
    if named:
        say(f"{study}: {ct.records.imports.NAMED}", to=err)
    if as_json:
        print_json(
            {
                "study": study,
                "store": ct.records.store_name(store),
                "present": intake.present,
                "redactions": intake.redactions,
                "notes": dict(intake.notes.most_common()),
                "imported": intake.imported,
                "skipped": [one._asdict() for one in intake.skipped],
            }
        )
    else:
        redacted = f", {counted(intake.redactions, 'name')} redacted" if intake.redactions else ""
        out.print(
            f"{study}: {counted(intake.imported, 'game')} imported, "
            f"{intake.present:,} were there before, "
            f"{len(intake.skipped):,} skipped{redacted}"
        )
        _list(list(_reasons(intake.skipped)))
        if intake.notes:
            out.print("read otherwise than written:")
            _list(
                [f"{note}: {counted(count, 'time')}" for note, count in intake.notes.most_common()]
            )
        if intake.imported or intake.present:
            hint(f"report on it with: cheaptalk report {study} {at_store(store)}")
    if intake.skipped:
        raise typer.Exit(1)
