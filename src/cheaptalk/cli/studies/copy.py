"""The command that copies a store: store copy."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.interrupts import finishing
from cheaptalk.cli.shared.options import DEFAULT_STORE, JsonOption, StoreOption
from cheaptalk.cli.shared.printing import err, print_json, say
from cheaptalk.cli.shared.sentences import counted


@finishing()
def copy(
    to: Annotated[
        str,
        typer.Argument(
            help="New store to create: a SQLite file or a database URL.", metavar="FILE|URL"
        ),
    ],
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Copy a store to another file or database.

    Its studies can be resumed in the copy.
    """
    with ct.Store.open(store) as source, ct.Store.open(to, create=True) as target:
        with err.status("copying") as shown:
            rows = ct.records.copy_store(
                source,
                target,
                lambda done, total: shown.update(f"copied {done:,} of {total:,} rows"),
            )
        name = target.name
    if json:
        print_json({"to": name, "rows": rows})
        return
    say(
        f"{counted(rows['studies'], 'study')} with {counted(rows['matches'], 'match')} "
        f"copied to {name}"
    )
    if rows["participants"]:
        say("Participant IDs are stored in a separate file, which is not included.", to=err)
