"""The commands ``store copy``, ``archive``, ``restore``, ``export`` and ``doctor``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import lookup
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.interrupts import finishing
from cheaptalk.cli.shared.lookup import sources_of
from cheaptalk.cli.shared.printing import StatusLine, err, out, print_json, say, warn_about_names
from cheaptalk.cli.shared.sentences import counted


@finishing()
def copy(
    to: Annotated[str, opt.Settings(metavar="FILE|URL")],
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    json: opt.Json = False,
) -> None:
    """Copy a store to another file or database.

    You can resume the studies in the copy.

    Args:
        to: New store to create: a SQLite file or a database URL.
    """
    with ct.Store.open(store) as source, ct.Store.open(to, create=True) as target:
        with err.status("copying") as shown:
            rows = ct.records.copy_store(
                source,
                target,
                lambda done, total: shown.update(f"copied {done:,} of {total:,} rows"),
            )
        print_rows(rows, f"copied to {target.name}", json, {"to": target.name})


@finishing()
def pool(
    studies: Annotated[list[opt.StoredStudy], opt.Settings(metavar="STUDY...")],
    /,
    to: Annotated[str, opt.Settings(metavar="FILE|URL")],
    store: opt.Store = opt.DEFAULT_STORE,
    add_store: list[str] | None = None,
    name: Annotated[
        str | None, opt.Settings(show_default="the studies' names, joined by +")
    ] = None,
    json: opt.Json = False,
) -> None:
    """Pool studies of one or more stores in a new store.

    The new store has one study, in which other commands can compare people, models and scripts that
    played in different studies. If two studies define a player differently, the label of the later
    study's player is LABEL (STUDY).

    Args:
        studies: Names of two or more studies.
        to: Write to this new store: a SQLite file or a database URL.
        add_store: Also look for the studies in this store. Repeatable.
        name: Set the name of the pooled study.
    """
    with sources_of(studies, [store, *(add_store or ())]) as sources:
        title = lookup.pool(sources, to, name)
    with ct.Store.open(to) as opened:
        matches = sum(opened.study(title).counts.values())
    if json:
        print_json({"study": title, "to": to, "matches": matches})
    else:
        say(f"{title}: {counted(matches, 'match')} pooled in {to}")


@finishing()
def archive(
    to: Annotated[str, opt.Settings(metavar="DIR|URL")],
    /,
    study: opt.StoredStudy | None = None,
    store: opt.Store = opt.DEFAULT_STORE,
    json: opt.Json = False,
) -> None:
    """Archive a store, or one study, as Parquet files.

    The command cheaptalk store restore restores the archive.

    Args:
        to: New folder to write: a path, or a URL such as s3://bucket/folder.
        study: Only archive this study.
    """
    with ct.Store.open(store) as opened, err.status("archiving") as shown:
        manifest = ct.records.archive(
            opened,
            to,
            study=study,
            progress=lambda done, total: shown.update(f"archived {done:,} of {total:,} rows"),
        )
    print_rows(manifest.rows, f"archived in {to}", json, {"to": to, "study": manifest.study})


@finishing()
def restore(
    source: Annotated[str, opt.Settings(metavar="DIR|URL")],
    to: Annotated[str, opt.Settings(metavar="FILE|URL")],
    /,
    json: opt.Json = False,
) -> None:
    """Restore an archive to a new store.

    Args:
        source: Folder of the archive: a path or a URL.
        to: New store to create: a SQLite file or a database URL.
    """
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


Format = Literal["csv", "parquet", "jsonl", "wide", "otree", "chats", "inspect"]


@finishing()
def export(
    study: opt.StoredStudy,
    /,
    out: Annotated[opt.NewFile, opt.Settings(metavar="DIR|FILE.zip")],
    format_: Format = "csv",
    prompt_style: Annotated[
        opt.Name | None, opt.Settings(show_default="the game's default style")
    ] = None,
    raw_cells: opt.RawCells = False,
    workers: opt.Workers = opt.CPUS,
    store: opt.Store = opt.DEFAULT_STORE,
    json: opt.Json = False,
) -> None:
    """Export a study's matches, responses and calls to files.

    The export includes a codebook, which describes all columns.

    Args:
        out: Write to this new folder or .zip file.
        format_: Choose the format: tables (csv, parquet), complete records (jsonl), a row per
            participant (wide) or the same with oTree's column names (otree), dialogues for
            training (chats) or Inspect logs (inspect).
        prompt_style: Use this prompt style for turns that no model played (with --format
            chats).
    """
    if out.suffix in {f".{name}" for name in get_args(Format)}:
        raise typer.BadParameter(
            f"an export has several files; choose a folder or a .zip file instead of {out}",
            param_hint="--out",
        )
    if format_ == "inspect" and out.suffix == ".zip":
        raise typer.BadParameter(
            "Inspect logs require a folder, not a .zip file", param_hint="--out"
        )
    if prompt_style is not None and format_ != "chats":
        raise typer.BadParameter("only valid with --format chats", param_hint="--prompt-style")
    with ct.Store.open(store) as opened, err.status(f"{study}: writing"):
        if format_ == "inspect":
            result = ct.adapters.write_inspect_logs(opened, study, out)
        else:
            result = ct.export(
                opened,
                study,
                out,
                format_,
                raw_cells=raw_cells,
                workers=workers,
                style=prompt_style,
            )
        warn_about_names(opened, study)
    if json:
        data = {"study": study, "to": str(result.path), "format": format_, "rows": result.rows}
        print_json(data)
        return
    singular = {"matches": "match"}
    counts = ", ".join(
        counted(count, singular.get(table, table.removesuffix("s")))
        for table, count in result.rows.items()
    )
    say(f"{study}: {counts} written to {result.path}")


def doctor(
    context: typer.Context,
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    deep: bool = False,
    json: opt.Json = False,
) -> None:
    """Check the installation and the store.

    The output lists missing optional dependencies, and what the players of unfinished studies need.
    The exit status is 1 if the store is damaged.

    Args:
        deep: Read the entire store and replay every finished match; do not import optional
            dependencies.
    """
    with err.status("importing optional dependencies"):
        checks = ct.doctor.examine_installation(importing=not deep)
    for source in context.obj.sources():
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
