"""Archives: a store, or one study of it, as Parquet files in a folder of any file system.

Each table of the store is in files ``TABLE-NUMBER.parquet``, which any program reads, with JSON as
text; ``manifest.json`` names them all with their rows and hashes. It is written last, once every
file has been read back: a folder without it is no archive. An archive comes back as a store.
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
from cheaptalk.records.encoding import data_of, text_of
from cheaptalk.records.exports.sheets import polars
from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import StoreError
from cheaptalk.records.store.column_types import Shaped
from cheaptalk.records.store.copying import TABLES, at_rest, count, expect_empty, pages
from cheaptalk.records.store.store import Store
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.errors import first_line, first_problem

MANIFEST = "manifest.json"
PART = 64 * 2**20
"""Bytes in memory from which on rows go to a file of their own."""
KINDS: Mapping[type[Any], str] = MappingProxyType({
    sa.Boolean: "Boolean", sa.Integer: "Int64", sa.Float: "Float64", sa.LargeBinary: "Binary",
})  # fmt: skip
"""The types of columns in Parquet; others are text."""
Rows: TypeAlias = Mapping[str, "sa.ColumnElement[bool]"]
"""Which rows of each table are meant."""
Telling: TypeAlias = Callable[[int, int], None]


class ArchivedFile(BaseModel):
    """A file of an archive.

    Attributes:
        name: within the folder.
        rows, bytes: that it has.
        sha256: of its bytes, in hexadecimal digits.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[\w-]+\.parquet$")
    rows: int
    bytes: int
    sha256: str


class Manifest(BaseModel):
    """What an archive holds.

    Attributes:
        archive: the version of this form.
        cheaptalk: the version that wrote it.
        revision: of the tables of the store.
        study: the one study it is of; None for the whole store.
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
        """How many rows each table has."""
        return {name: sum(one.rows for one in files) for name, files in self.tables.items()}


class Folder(NamedTuple):
    """A folder of a file system of fsspec.

    Attributes:
        fs: the file system.
        path: the folder there.
        name: what it is called to people, without keys.
    """

    fs: Any
    path: str
    name: str

    @classmethod
    def at(cls, url: str) -> "Folder":
        """The folder that a URL, or a path, names; nothing is looked at yet.

        Raises:
            CheaptalkError: fsspec, or its driver for this kind of URL, is not installed, or there
                is no such kind.
        """
        name = re.sub(r"//[^/]*@", "//", url)
        scheme, there, _ = name.partition("://")
        try:
            core = import_module("fsspec.core")
        except ImportError:
            raise CheaptalkError('archives need fsspec: pip install "cheaptalk[archive]"') from None
        try:
            fs, path = core.url_to_fs(url)
        except ImportError as error:
            raise CheaptalkError(f"{name} needs a driver of its own: {error}") from None
        except ValueError as error:
            kind = f'"{scheme}://" is no kind of URL that fsspec knows' if there else str(error)
            raise CheaptalkError(f"{name}: {kind}") from None
        return cls(fs, path.rstrip("/"), name)

    def at_name(self, name: str) -> str:
        """Where a file of this name is."""
        return f"{self.path}/{name}"

    def put(self, name: str, data: bytes) -> None:
        """Write a file, and see that it is there as it was written.

        Raises:
            StoreError: it cannot be written, or something else is there now.
        """
        with self.doing("written"):
            self.fs.pipe_file(self.at_name(name), data)
            if self.fs.cat_file(self.at_name(name)) != data:
                raise StoreError(
                    f"{self.name}/{name} does not hold what was written; try another folder"
                )

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Say plainly what cannot be done here.

        Raises:
            StoreError: the file system refuses it, by whatever error its driver has for that.
        """
        try:
            yield
        except CheaptalkError:
            raise
        except Exception as error:
            why = first_line(error)
            cure = "; take another copy of it" if isinstance(error, FileNotFoundError) else ""
            raise StoreError(f"{self.name} cannot be {what}: {why}{cure}") from error


def archive(
    store: Store,
    url: str,
    *,
    study: str | None = None,
    progress: Telling = lambda _done, _of: None,
) -> Manifest:
    """Write a store, or a study of it, to a new folder as Parquet; whole or not at all.

    What lies beside a store in a file stays there: a cache, and the ids by which people came.

    Args:
        url: of the folder: a path, or a URL such as ``s3://bucket/studies/first`` of any kind that
            fsspec has a driver for (``file://``, ``gs://``, ``abfs://``, ``memory://``, ...). The
            folder above must be there.
        study: only what is of this study.
        progress: told how many rows were written, and of how many.

    Returns:
        What was written, as it stands in its manifest.

    Raises:
        StoreError: there is no such study, the folder holds something or cannot be written, or
            the store is being written to or is damaged.
        CheaptalkError: a package is missing, or the URL is of no kind that is known.
    """
    polars()
    folder = Folder.at(url)
    if study is not None:
        store.study(study, counted=False)
    with at_rest(store), store.reading() as reading:
        wanted = {} if study is None else rows_of(reading, store.study_id(study))
        with _new(folder) as written:
            tables: dict[str, list[ArchivedFile]] = {}
            every = {one.name: wanted.get(one.name, sa.true()) for one in TABLES}
            total = sum(count(reading, table, every[table.name]) for table in TABLES)
            done = 0
            for table in TABLES:
                tables[table.name] = []
                for frame in _frames(reading, table, every[table.name]):
                    name = f"{table.name}-{len(tables[table.name]):05}.parquet"
                    written.append(name)
                    tables[table.name].append(_write(folder, name, frame))
                    done += frame.height
                    progress(done, total)
            made = Manifest(
                cheaptalk=cheaptalk.__version__, revision=schema.REVISION, study=study,
                tables=tables,
            )  # fmt: skip
            written.append(MANIFEST)
            folder.put(MANIFEST, made.model_dump_json(indent=1).encode())
    return made


def read_manifest(url: str) -> Manifest:
    """What an archive holds, without reading it.

    Raises:
        StoreError: there is no archive, or not all of one, or it is of another form.
        CheaptalkError: as :func:`archive` does.
    """
    return _manifest(Folder.at(url))


def restore(url: str, store: Store, progress: Telling = lambda _done, _of: None) -> Manifest:
    """Bring an archive back into a store that holds nothing yet, whole or not at all.

    Rows keep their numbers and ids, so that a study goes on as it would have where it was.

    Args:
        url: of its folder, as for :func:`archive`.
        progress: told how many rows are there, and of how many.

    Raises:
        StoreError: the archive is not whole, a file differs from what was written, another version
            of the tables is needed, or the store holds something.
        CheaptalkError: as :func:`archive` does.
    """
    polars()
    folder = Folder.at(url)
    found = _manifest(folder)
    if found.revision != schema.REVISION:
        raise StoreError(
            f"{folder.name} has the tables of another version ({found.revision}, here "
            f"{schema.REVISION}); restore it with cheaptalk {found.cheaptalk}, and open the store "
            "with this one"
        )
    done, total = 0, sum(found.rows.values())
    with store.writing():
        expect_empty(store)
        with store.transaction() as writing:
            for table in TABLES:
                for file in found.tables.get(table.name, []):
                    rows = _read(folder, file, table)
                    if rows:
                        writing.execute(sa.insert(table), rows)
                    done += len(rows)
                    progress(done, total)
            store.backend.renumber(writing)
    return found


def rows_of(reading: sa.Connection, study: int) -> Rows:
    """The rows of each table that are a study's, or that these lead to.

    Args:
        study: its number in the store.
    """
    t = schema
    matches = t.matches.c.number.in_(
        sa.select(t.members.c.match_number).where(t.members.c.study_id == study)
    )
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
    own = {
        table.name: table.c.study_id == study
        for table in (
            t.rosters, t.members, t.purchases, t.rooms, t.participants, t.payments, t.payouts,
            t.recruitments,
        )
    }  # fmt: skip
    theirs = {
        table.name: table.c.participant_id.in_(people)
        for table in (t.responses, t.plays, t.notices)
    }
    return own | theirs | {
        "studies": t.studies.c.id == study,
        "configurations": t.configurations.c.id.in_(configurations),
        "players": sa.or_(t.players.c.id.in_(on_roster), t.players.c.id.in_(sorted(seated))),
        "matches": matches, "calls": calls, "batches": t.batches.c.id.in_(batches),
        "judges": t.judges.c.digest.in_(sa.select(t.judgements.c.judge).where(judged)),
        "judgements": judged,
    }  # fmt: skip


@contextmanager
def _new(folder: Folder) -> Iterator[list[str]]:
    """Write to a folder that holds nothing; of what was not written to its end nothing is left.

    Yields:
        What takes the names of files before they are written.
    """
    with folder.doing("written"):
        made = not folder.fs.exists(folder.path)
        if not made and folder.fs.find(folder.path):
            raise StoreError(f"{folder.name} holds something already; name a new folder")
        with suppress(FileExistsError):
            folder.fs.mkdir(folder.path, create_parents=False)
    written: list[str] = []
    try:
        yield written
    except BaseException:
        for name in written:
            with suppress(Exception):  # it may never have come there
                folder.fs.rm_file(folder.at_name(name))
        if made:
            with suppress(Exception):  # many file systems have no folders
                folder.fs.rmdir(folder.path)
        raise


def _frames(
    reading: sa.Connection, table: sa.Table, where: "sa.ColumnElement[bool]"
) -> Iterator[Any]:
    """The rows of a table as data frames of a size that memory holds."""
    pl = polars()
    types = {one.name: getattr(pl, _kind(one)) for one in table.c}
    shaped = [one.name for one in table.c if isinstance(one.type, Shaped)]
    held: list[Any] = []
    for rows in pages(reading, table, where):
        for row in rows:
            for name in shaped:
                lacking = isinstance(row[name], sa.sql.elements.Null)
                row[name] = None if lacking else text_of(row[name])
        held.append(pl.DataFrame(rows, schema=types, orient="row"))
        if sum(one.estimated_size() for one in held) >= PART:
            yield pl.concat(held)
            held = []
    if held:
        yield pl.concat(held)


def _kind(column: "sa.Column[Any]") -> str:
    kind = column.type
    held = kind.impl_instance if isinstance(kind, sa.types.TypeDecorator) else kind
    return next((name for of, name in KINDS.items() if isinstance(held, of)), "String")


def _write(folder: Folder, name: str, frame: Any) -> ArchivedFile:
    buffer = BytesIO()
    frame.write_parquet(buffer)
    data = buffer.getvalue()
    folder.put(name, data)
    digest = hashlib.sha256(data).hexdigest()
    return ArchivedFile(name=name, rows=frame.height, bytes=len(data), sha256=digest)


def _read(folder: Folder, file: ArchivedFile, table: sa.Table) -> list[dict[str, Any]]:
    """The rows of a file, as they are inserted."""
    with folder.doing("read"):
        data = folder.fs.cat_file(folder.at_name(file.name))
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise StoreError(
            f"{folder.name}/{file.name} is not what was written, by its hash; take another copy of "
            "the archive"
        )
    rows: list[dict[str, Any]] = polars().read_parquet(BytesIO(data)).to_dicts()
    if len(rows) != file.rows:
        raise StoreError(
            f"{folder.name}/{MANIFEST} says that {file.name} has {file.rows:,} rows, and it has "
            f"{len(rows):,}; take another copy of the archive"
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
                f"{folder.name} has no {MANIFEST}: it is no archive, or was never written to its "
                "end"
            )
        data = folder.fs.cat_file(folder.at_name(MANIFEST))
    try:
        return Manifest.model_validate_json(data)
    except ValidationError as error:
        raise StoreError(
            f"{folder.name}/{MANIFEST} is not one that this version reads: {first_problem(error)}"
        ) from None
