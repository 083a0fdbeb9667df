"""The commands that archive a store and bring it back: archive, restore."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import DEFAULT_STORE, JsonOption, StoreOption
from cheaptalk.cli.shared.outside import finishing
from cheaptalk.cli.shared.printing import err, print_json, say
from cheaptalk.cli.shared.sentences import counted


@finishing()
def archive(
    to: Annotated[
        str,
        typer.Argument(
            help="A new folder: a path, or a URL such as s3://bucket/folder.", metavar="DIR|URL"
        ),
    ],
    study: Annotated[
        str | None,
        typer.Option(help="Only this study.", autocompletion=completion.stored_studies),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Write a store, or one study, as Parquet to a folder of any file system, to come back."""
    with ct.Store.open(store) as opened, err.status("archiving") as shown:
        made = ct.records.archive(
            opened, to, study=study,
            progress=lambda done, of: shown.update(f"archived {done:,} of {of:,} rows"),
        )  # fmt: skip
    _tell(made, "archived in", to, json)


@finishing()
def restore(
    source: Annotated[
        str, typer.Argument(help="The archive's folder: a path or a URL.", metavar="DIR|URL")
    ],
    to: Annotated[str, typer.Argument(help="The new store: its file or URL.", metavar="FILE|URL")],
    json: JsonOption = False,
) -> None:
    """Bring an archive back into a new store."""
    ct.records.read_manifest(source)
    with ct.Store.open(to, create=True) as opened, err.status("restoring") as shown:
        found = ct.records.restore(
            source, opened, lambda done, of: shown.update(f"restored {done:,} of {of:,} rows")
        )
    _tell(found, "restored to", to, json)


def _tell(manifest: ct.records.Manifest, what: str, where: str, json: bool) -> None:
    rows = manifest.rows
    if json:
        print_json({"to": where, "study": manifest.study, "rows": rows})
        return
    matches = counted(rows["matches"], "match")
    say(f"{counted(rows['studies'], 'study')} with {matches} {what} {where}")
    if rows["participants"]:
        say("The ids by which people came stay in their own file.", to=err)
