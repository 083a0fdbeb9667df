"""The command that checks the installation: doctor."""

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
            help="Read everything in the store, and replay every match that ended. Optional parts "
            "are then located, not imported.",
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Check the installation and the store, and say what is missing for what."""
    with err.status("importing what optional parts need"):
        checks = ct.doctor.examine_installation(importing=not deep)
    for one in context.defaults.sources():
        checks.append(ct.doctor.Diagnosis("settings", True, one))
    name = ct.records.store_name(store)
    with StatusLine().shown(f"{name}: reading") as show:

        def tell(done: int, of: int) -> None:
            show(f"{name}: {done:,} of {counted(of, 'match')} read")

        checks += ct.doctor.examine_store(store, deep=deep, progress=tell)
    if json:
        print_json([{"what": what, "ok": ok, "detail": detail} for what, ok, detail in checks])
    else:
        for what, ok, detail in checks:
            out.print("[green]ok[/]  " if ok else "[yellow]--[/]  ", end="")
            say(f"{what}: {detail}")
    if not checks[-1][1]:
        raise typer.Exit(1)
