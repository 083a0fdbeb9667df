"""The ``store doctor`` command, which checks the installation and the store."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.loading import CommandContext
from cheaptalk.cli.shared.options import DEFAULT_STORE, JsonOption, StoreOption
from cheaptalk.cli.shared.printing import err, out, print_json, say
from cheaptalk.cli.shared.progress import StatusLine
from cheaptalk.cli.shared.sentences import counted


def doctor(
    context: CommandContext,
    store: StoreOption = DEFAULT_STORE,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep",
            help="Read the entire store and replay every finished match; do not import optional "
            "dependencies.",
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Check the installation and the store.

    The output lists missing optional dependencies and how to install them. The exit status is 1 if
    the store is damaged.
    """
    with err.status("importing optional dependencies"):
        checks = ct.doctor.examine_installation(importing=not deep)
    for source in context.defaults.sources():
        checks.append(ct.doctor.Diagnosis("settings", True, source))
    name = ct.records.store_name(store)
    with StatusLine().shown(f"{name}: reading") as show:

        def report_progress(done: int, total: int) -> None:
            show(f"{name}: {done:,} of {counted(total, 'match')} read")

        checks += ct.doctor.examine_store(store, deep=deep, progress=report_progress)
    if json:
        print_json([{"what": name, "ok": ok, "detail": detail} for name, ok, detail in checks])
    else:
        for name, ok, detail in checks:
            out.print("[green]ok[/]  " if ok else "[yellow]--[/]  ", end="")
            say(f"{name}: {detail}")
    if not checks[-1][1]:
        raise typer.Exit(1)
