"""Archives: a store, or one of its studies, as Parquet files in a folder on any file system.

Each table is stored in files ``TABLE-NUMBER.parquet``, with JSON as text. ``manifest.json`` lists
the files with their rows and hashes. The manifest is written last, after every file has been read
back, so a folder without it is not an archive.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from io import BytesIO
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

import cheaptalk
from cheaptalk.records.copies.copying import TABLES, at_rest, count, filling, pages
from cheaptalk.records.encoding import data_of, text_of
from cheaptalk.records.exports.sheets import polars
from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import StoreError
from cheaptalk.records.store.column_types import Shaped
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.records.store.store import Store
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.errors import first_line, first_problem

MANIFEST = "manifest.json"
PART = 64 * 2**20
"""Size in memory, in bytes, above which rows are written to a file."""
KINDS: Mapping[type[Any], str] = MappingProxyType(
    {
        sa.Boolean: "Boolean",
        sa.Integer: "Int64",
        sa.Float: "Float64",
        sa.LargeBinary: "Binary",
    }
)
"""Parquet types by type of column; all other columns are text."""
Rows: TypeAlias = Mapping[str, "sa.ColumnElement[bool]"]
"""Conditions that select the rows of each table."""
Progress: TypeAlias = Callable[[int, int], None]


class ArchivedFile(BaseModel):
    """A file of an archive, with its size and hash.

    Attributes:
        name: the file name in the folder.
        rows, bytes: the number of rows, and the file size.
        sha256: the file's hash in hexadecimal digits.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[\w-]+\.parquet$")
    rows: int
    bytes: int
    sha256: str


class Manifest(BaseModel):
    """The manifest of an archive, which lists the files of each table.

    Attributes:
        archive: the version of the archive format.
        cheaptalk: the version of cheaptalk that wrote the archive.
        revision: the schema version of the store.
        study: the archived study; None for the whole store.
        tables: the files of each table, in order.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    archive: Literal[1] = 1
    cheaptalk: str
    revision: str
    study: str | None
    tables: dict[str, list[ArchivedFile]]

    @property
    def rows(self) -> dict[str, int]:
        """Number of rows of each table."""
        return {name: sum(file.rows for file in files) for name, files in self.tables.items()}


class Folder(NamedTuple):
    """A folder on a local or remote file system, accessed through fsspec."""

    fs: Any
    path: str
    name: str  # without credentials, for messages

    @classmethod
    def at(cls, url: str) -> "Folder":
        """Return the folder at a URL or path; raise CheaptalkError if no driver supports it."""
        name = re.sub(r"//[^/]*@", "//", url)
        scheme, has_scheme, _ = name.partition("://")
        try:
            core = import_module("fsspec.core")
        except ImportError:
            raise CheaptalkError(
                'archives require fsspec: pip install "cheaptalk[archive]"'
            ) from None
        try:
            fs, path = core.url_to_fs(url)
        except ImportError as error:
            raise CheaptalkError(f"{name} requires another package: {error}") from None
        except ValueError as error:
            kind = f'fsspec does not support "{scheme}://"' if has_scheme else str(error)
            raise CheaptalkError(f"{name}: {kind}") from None
        return cls(fs, path.rstrip("/"), name)

    def at_name(self, name: str) -> str:
        return f"{self.path}/{name}"

    def put(self, name: str, data: bytes) -> None:
        """Write a file and read it back to verify it."""
        with self.doing("written"):
            self.fs.pipe_file(self.at_name(name), data)
            if self.fs.cat_file(self.at_name(name)) != data:
                raise StoreError(
                    f"{self.name}/{name} differs from the data written; try another folder"
                )

    @contextmanager
    def doing(self, action: str) -> Iterator[None]:
        """Convert all file-system errors to :class:`StoreError`."""
        try:
            yield
        except CheaptalkError:
            raise
        except Exception as error:
            reason = first_line(error)
            cure = "; use another copy" if isinstance(error, FileNotFoundError) else ""
            raise StoreError(f"{self.name} cannot be {action}: {reason}{cure}") from error


@reads
def archive(
    store: StoreLike,
    url: str,
    *,
    study: StudyLike | None = None,
    progress: Progress = lambda _count, _total: None,
) -> Manifest:
    """Write a store, or one of its studies, to a new folder as Parquet, completely or not at all.

    Files beside a store file (cache, participants' identities) are not archived.

    Args:
        url: a path, or a URL such as ``s3://bucket/studies/first`` of any kind that fsspec supports
            (``file://``, ``gs://``, ``abfs://``, ``memory://``, ...). The parent folder must exist.
        study: archive only this study.
        progress: called with the number of written rows and the total.

    Raises:
        StoreError: the study does not exist, the folder is not empty or not writable, or the store
            is being written to or is damaged.
        CheaptalkError: a package is missing, or the kind of URL is unknown.
    """
    assert isinstance(store, Store)
    assert study is None or isinstance(study, str)
    polars()
    folder = Folder.at(url)
    if study is not None:
        store.study(study, counted=False)
    with at_rest(store), store.reading() as reading:
        selected = {} if study is None else rows_of(reading, store.study_id(study))
        with _new(folder) as written:
            tables: dict[str, list[ArchivedFile]] = {}
            conditions = {table.name: selected.get(table.name, sa.true()) for table in TABLES}
            total = sum(count(reading, table, conditions[table.name]) for table in TABLES)
            written_rows = 0
            for table in TABLES:
                tables[table.name] = []
                for frame in _frames(reading, table, conditions[table.name]):
                    name = f"{table.name}-{len(tables[table.name]):05}.parquet"
                    written.append(name)
                    tables[table.name].append(_write(folder, name, frame))
                    written_rows += frame.height
                    progress(written_rows, total)
            manifest = Manifest(
                cheaptalk=cheaptalk.__version__,
                revision=schema.REVISION,
                study=study,
                tables=tables,
            )
            written.append(MANIFEST)
            folder.put(MANIFEST, manifest.model_dump_json(indent=1).encode())
    return manifest


def read_manifest(url: str) -> Manifest:
    """Return an archive's manifest, without reading its files.

    Raises:
        StoreError: the archive is missing or incomplete, or has another format.
        CheaptalkError: see :func:`archive`.
    """
    return _manifest(Folder.at(url))


def restore(
    url: str, store: StoreLike, progress: Progress = lambda _count, _total: None
) -> Manifest:
    """Restore an archive to an empty store, completely or not at all.

    Row numbers and ids are kept, so that a study can resume.

    Args:
        url: the folder, as for :func:`archive`.
        store: an empty store; created if missing.
        progress: called with the number of restored rows and the total.

    Raises:
        StoreError: the archive is incomplete, a file was changed, the schema version differs, or
            the store is not empty.
        CheaptalkError: see :func:`archive`.
    """
    with Store.opened(store, create=True) as store:
        polars()
        folder = Folder.at(url)
        manifest = _manifest(folder)
        if manifest.revision != schema.REVISION:
            raise StoreError(
                f"{folder.name} has schema version {manifest.revision}, but this version uses "
                f"{schema.REVISION}; restore it with cheaptalk {manifest.cheaptalk}, then open the "
                "store with this version"
            )
        restored, total = 0, sum(manifest.rows.values())
        with filling(store) as writing:
            for table in TABLES:
                for file in manifest.tables.get(table.name, []):
                    rows = _read(folder, file, table)
                    if rows:
                        writing.execute(sa.insert(table), rows)
                    restored += len(rows)
                    progress(restored, total)
        return manifest


def rows_of(reading: sa.Connection, study: int) -> Rows:
    """Return, for each table, the SQL condition that selects the rows needed to archive a study."""
    t = schema
    numbers = sa.select(t.members.c.match_number).where(t.members.c.study_id == study)
    matches = t.matches.c.number.in_(numbers)
    ids = sa.select(t.matches.c.id).where(matches)
    people = sa.select(t.participants.c.id).where(t.participants.c.study_id == study)
    calls = sa.or_(t.calls.c.study_id == study, t.calls.c.match_id.in_(ids))
    judged = sa.or_(t.judgements.c.study_id == study, t.judgements.c.match_id.in_(ids))
    on_roster = sa.select(t.rosters.c.player_id).where(t.rosters.c.study_id == study)
    seated = {
        player
        for seats in reading.scalars(sa.select(t.matches.c.seats).where(matches))
        for player in seats.values()
    }
    configurations = sa.select(t.matches.c.configuration_id).where(matches)
    batches = sa.select(t.calls.c.batch).where(calls, t.calls.c.batch.is_not(None))
    conditions: dict[str, sa.ColumnElement[bool]] = {}
    for table in TABLES:
        if "study_id" in table.c:
            conditions[table.name] = table.c.study_id == study
        elif "participant_id" in table.c:
            conditions[table.name] = table.c.participant_id.in_(people)
        elif "match_number" in table.c:
            conditions[table.name] = table.c.match_number.in_(numbers)
    return conditions | {
        "studies": t.studies.c.id == study,
        "configurations": t.configurations.c.id.in_(configurations),
        "players": sa.or_(t.players.c.id.in_(on_roster), t.players.c.id.in_(sorted(seated))),
        "matches": matches,
        "calls": calls,
        "batches": t.batches.c.id.in_(batches),
        "judges": t.judges.c.digest.in_(sa.select(t.judgements.c.judge).where(judged)),
        "judgements": judged,
    }


@contextmanager
def _new(folder: Folder) -> Iterator[list[str]]:
    """Create a folder and yield a list for names of written files; delete these after an error."""
    with folder.doing("written"):
        created = not folder.fs.exists(folder.path)
        if not created and folder.fs.find(folder.path):
            raise StoreError(f"{folder.name} is not empty; name a new folder")
        with suppress(FileExistsError):
            folder.fs.mkdir(folder.path, create_parents=False)
    written: list[str] = []
    try:
        yield written
    except BaseException:
        for name in written:
            with suppress(Exception):  # the file may not exist
                folder.fs.rm_file(folder.at_name(name))
        if created:
            with suppress(Exception):  # many file systems have no folders
                folder.fs.rmdir(folder.path)
        raise


def _frames(
    reading: sa.Connection, table: sa.Table, where: "sa.ColumnElement[bool]"
) -> Iterator[Any]:
    pl = polars()
    types = {column.name: getattr(pl, _kind(column)) for column in table.c}
    json_columns = [column.name for column in table.c if isinstance(column.type, Shaped)]
    frames: list[Any] = []
    for rows in pages(reading, table, where):
        for row in rows:
            for name in json_columns:
                is_null = isinstance(row[name], sa.sql.elements.Null)
                row[name] = None if is_null else text_of(row[name])
        frames.append(pl.DataFrame(rows, schema=types, orient="row"))
        if sum(frame.estimated_size() for frame in frames) >= PART:
            yield pl.concat(frames)
            frames = []
    if frames:
        yield pl.concat(frames)


def _kind(column: "sa.Column[Any]") -> str:
    kind = column.type
    plain = kind.impl_instance if isinstance(kind, sa.types.TypeDecorator) else kind
    names = (name for sql_type, name in KINDS.items() if isinstance(plain, sql_type))
    return next(names, "String")


def _write(folder: Folder, name: str, frame: Any) -> ArchivedFile:
    buffer = BytesIO()
    frame.write_parquet(buffer)
    data = buffer.getvalue()
    folder.put(name, data)
    digest = hashlib.sha256(data).hexdigest()
    return ArchivedFile(name=name, rows=frame.height, bytes=len(data), sha256=digest)


def _read(folder: Folder, file: ArchivedFile, table: sa.Table) -> list[dict[str, Any]]:
    with folder.doing("read"):
        data = folder.fs.cat_file(folder.at_name(file.name))
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise StoreError(
            f"the hash of {folder.name}/{file.name} differs from the manifest; use another copy of "
            "the archive"
        )
    rows: list[dict[str, Any]] = polars().read_parquet(BytesIO(data)).to_dicts()
    if len(rows) != file.rows:
        raise StoreError(
            f"{folder.name}/{MANIFEST} lists {file.rows:,} rows for {file.name}, but it has "
            f"{len(rows):,}; use another copy of the archive"
        )
    for row in rows:
        for column in table.c:
            if isinstance(column.type, Shaped):
                text = row[column.name]
                row[column.name] = sa.null() if text is None else data_of(text)
    return rows


def _manifest(folder: Folder) -> Manifest:
    with folder.doing("read"):
        if not folder.fs.exists(folder.at_name(MANIFEST)):
            raise StoreError(
                f"{folder.name} has no {MANIFEST}: it is not an archive, or writing it did not "
                "finish"
            )
        data = folder.fs.cat_file(folder.at_name(MANIFEST))
    try:
        return Manifest.model_validate_json(data)
    except ValidationError as error:
        raise StoreError(
            f"this version can't read {folder.name}/{MANIFEST}: {first_problem(error)}"
        ) from None
