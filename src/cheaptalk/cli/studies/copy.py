"""The ``store copy`` command, which copies a store."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.interrupts import finishing
from cheaptalk.cli.shared.options import DEFAULT_STORE, JsonOption, StoreOption
from cheaptalk.cli.shared.printing import err
from cheaptalk.cli.studies.archive import print_rows


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

    You can resume the studies in the copy.
    """
    with ct.Store.open(store) as source, ct.Store.open(to, create=True) as target:
        with err.status("copying") as shown:
            rows = ct.records.copy_store(
                source,
                target,
                lambda done, total: shown.update(f"copied {done:,} of {total:,} rows"),
            )
        print_rows(rows, f"copied to {target.name}", json, {"to": target.name})
