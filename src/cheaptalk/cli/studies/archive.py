"""The ``store archive`` and ``store restore`` commands, which archive and restore a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.interrupts import finishing
from cheaptalk.cli.shared.options import DEFAULT_STORE, JsonOption, StoreOption
from cheaptalk.cli.shared.printing import err, print_json, say
from cheaptalk.cli.shared.sentences import counted


@finishing()
def archive(
    to: Annotated[
        str,
        typer.Argument(
            help="New folder to write: a path, or a URL such as s3://bucket/folder.",
            metavar="DIR|URL",
        ),
    ],
    study: Annotated[
        str | None,
        typer.Option(help="Only archive this study.", autocompletion=completion.stored_studies),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Archive a store, or one study, as Parquet files.

    The command cheaptalk store restore restores the archive.
    """
    with ct.Store.open(store) as opened, err.status("archiving") as shown:
        manifest = ct.records.archive(
            opened, to, study=study,
            progress=lambda done, total: shown.update(f"archived {done:,} of {total:,} rows"),
        )  # fmt: skip
    print_rows(manifest.rows, f"archived in {to}", json, {"to": to, "study": manifest.study})


@finishing()
def restore(
    source: Annotated[
        str, typer.Argument(help="Folder of the archive: a path or a URL.", metavar="DIR|URL")
    ],
    to: Annotated[
        str,
        typer.Argument(
            help="New store to create: a SQLite file or a database URL.", metavar="FILE|URL"
        ),
    ],
    json: JsonOption = False,
) -> None:
    """Restore an archive to a new store."""
    ct.records.read_manifest(source)
    with ct.Store.open(to, create=True) as opened, err.status("restoring") as shown:
        manifest = ct.records.restore(
            source, opened, lambda done, total: shown.update(f"restored {done:,} of {total:,} rows")
        )
    print_rows(manifest.rows, f"restored to {to}", json, {"to": to, "study": manifest.study})


def print_rows(rows: Mapping[str, int], result: str, json: bool, data: dict[str, Any]) -> None:
    """Print how many studies and matches were copied; as JSON, the rows of each table."""
    if json:
        print_json(data | {"rows": rows})
        return
    matches = counted(rows["matches"], "match")
    say(f"{counted(rows['studies'], 'study')} with {matches} {result}")
    if rows["participants"]:
        say("Participant IDs are in a separate file, which this command does not copy.", to=err)
