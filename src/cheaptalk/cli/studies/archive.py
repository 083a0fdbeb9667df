"""The commands that archive and restore a store: store archive and store restore."""

from __future__ import annotations

from typing import Annotated

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

    Restore it with cheaptalk store restore.
    """
    with ct.Store.open(store) as opened, err.status("archiving") as shown:
        manifest = ct.records.archive(
            opened, to, study=study,
            progress=lambda done, total: shown.update(f"archived {done:,} of {total:,} rows"),
        )  # fmt: skip
    _print_result(manifest, "archived in", to, json)


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
    _print_result(manifest, "restored to", to, json)


def _print_result(manifest: ct.records.Manifest, action: str, target: str, json: bool) -> None:
    rows = manifest.rows
    if json:
        print_json({"to": target, "study": manifest.study, "rows": rows})
        return
    matches = counted(rows["matches"], "match")
    say(f"{counted(rows['studies'], 'study')} with {matches} {action} {target}")
    if rows["participants"]:
        say("Participant IDs are stored in a separate file, which is not included.", to=err)
