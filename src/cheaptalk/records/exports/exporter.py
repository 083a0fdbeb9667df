"""Exporting a study: tables for analysis, or whole records, with a codebook.

``csv`` and ``parquet`` make tables (matches, answers, calls and, where a study was judged,
judgements); ``jsonl`` makes one file with a whole record a line, readable without this package;
``chats`` makes one with a line for each seat of each match that ended and counts: what it was told
and what it answered, as language models are trained on. Of a study with people there are tables of
them, too: participants, responses, plays and payments. A ``codebook`` says what everything holds.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol
from zipfile import ZIP_DEFLATED, ZipFile

from cheaptalk.records.encoding import standard_json
from cheaptalk.records.exclusions import Standing
from cheaptalk.records.exports.chats import chats
from cheaptalk.records.exports.codebook import CHAT, RECORD, CodebookEntry, write_codebook
from cheaptalk.records.exports.people import PEOPLE, people_rows
from cheaptalk.records.exports.rows import (
    CALL,
    JUDGEMENT,
    AnswerRow,
    CallRow,
    JudgementRow,
    MatchRow,
)
from cheaptalk.records.exports.sheets import (
    Sheet,
    Sink,
    csv_sink,
    join_parquet,
    join_text,
    lines_sink,
    parquet_sink,
    polars,
)
from cheaptalk.records.exports.tables import answer_columns, match_columns
from cheaptalk.records.judgements import judges_of, read_judgements
from cheaptalk.records.ledger.spending import Buyers
from cheaptalk.records.people.queries import has_people
from cheaptalk.records.record import MatchRecord
from cheaptalk.records.store.parts import Part, of_part, over_parts
from cheaptalk.records.store.queries import places_of
from cheaptalk.records.store.store import Store
from cheaptalk.rules import CheaptalkError, games, unknown
from cheaptalk.whole_files import whole_folder, whole_path

__all__ = ["Exported", "export"]


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes:
        path: the folder or zip file.
        rows: how many rows each table has (or lines, the file).
    """

    path: Path
    rows: dict[str, int]


class Wording(NamedTuple):
    """How texts are written.

    Attributes:
        raw_cells: whether texts in CSV stand as they are.
        style: of chats of whom no model played.
    """

    raw_cells: bool
    style: str | None


class NamedRows(Protocol):
    """What has a name, as a study has."""

    @property
    def name(self) -> str:
        """What it is called."""


def export(
    store: Store | Path | str,
    study: NamedRows | str,
    to: Path | str,
    form: str = "csv",
    *,
    raw_cells: bool = False,
    workers: int = 1,
    style: str | None = None,
    people: bool = True,
) -> Exported:
    """Write a study to a new folder, or a zip file, page by page and whole or not at all.

    Args:
        store: the store, its file or its URL.
        study: a study in the store, or its name.
        to: the folder, which must not exist or be empty, or a file that ends in ``.zip``, which is
            replaced.
        form: ``csv``, ``parquet``, ``jsonl`` or ``chats``.
        raw_cells: write texts in CSV as they are; else one that a spreadsheet would take for a
            formula gets a quotation mark before it.
        workers: processes that write at the same time, where there is much to write and this
            program registered nothing of its own. More than one needs a store in a file, and the
            caller's script to be importable (``if __name__ == "__main__":``).
        style: of chats: the style in which stands what no model said; the game's own if not set.
        people: whether to write the tables of people who took part, where some did.

    Raises:
        StoreError: the store holds no such study.
        UnknownName: a game of the study has no such style.
        CheaptalkError: the place cannot be written, or a package is missing.
    """
    place = Path(to)
    with Store.opened(store) as opened:
        study = study if isinstance(study, str) else study.name
        opened.study(study)
        if form not in FORMS:
            raise unknown("format", form, list(FORMS))
        if form == "parquet":
            polars()
        try:
            with _whole(place) as folder:
                rows = _written(opened, study, form, folder, Wording(raw_cells, style), workers)
                of_people = people and has_people(opened, study)
                if of_people:
                    rows |= _write_people(opened, study, form, folder, raw_cells)
                write_codebook(folder, _explained(opened, study, form, of_people))
        except FileExistsError as error:
            raise CheaptalkError(
                f"{to} is there already; name a new folder, or a .zip to replace"
            ) from error
        except OSError as error:
            raise CheaptalkError(f"{to} cannot be written: {error.strerror or error}") from error
    return Exported(place, dict(rows))


@contextmanager
def _whole(to: Path) -> Iterator[Path]:
    """A folder to write in, which is put in its place when all is written."""
    if to.suffix != ".zip":
        with whole_folder(to) as folder:
            yield folder
        return
    hidden = f".{to.name}."
    with (
        whole_path(to.absolute()) as archive,
        TemporaryDirectory(prefix=hidden, dir=archive.parent) as aside,
    ):
        yield Path(aside)
        with ZipFile(archive, "w", ZIP_DEFLATED) as packed:
            for file in sorted(Path(aside).iterdir()):
                packed.write(file, file.name)


def _written(
    store: Store, study: str, form: str, folder: Path, how: Wording, workers: int
) -> Counter[str]:
    """Write a study's files, in this process or in parts that several write and that are joined."""
    rows = over_parts(store, study, workers, _write_part, form, folder, how)
    folders = sorted(
        (one for one in folder.iterdir() if one.is_dir()), key=lambda one: int(one.name)
    )
    for file in sorted(folders[0].iterdir()) if folders else ():
        FORMS[form].join([one / file.name for one in folders], folder / file.name)
    for one in folders:
        shutil.rmtree(one)
    return Counter({name: sum(one[name] for one in rows) for name in rows[0]})


def _write_part(
    store: Store, study: str, part: Part, form: str, folder: Path, how: Wording
) -> Counter[str]:
    """Write all to the folder, or a part to a folder in it that is named by where it begins."""
    to = folder if part is None else folder / str(part.start)
    to.mkdir(exist_ok=True)
    return FORMS[form].write(store, study, to, how, part)


def _sheets(store: Store, study: str) -> dict[str, Sheet]:
    """The tables of a study, by name."""
    places = {game: list(of) for game, of in places_of(store, study, past=True).items()}
    boxes = [box for name, box in games().items() if name in places]
    sheets = {
        "matches": Sheet(match_columns(boxes, places)),
        "answers": Sheet(answer_columns(boxes)),
        "calls": Sheet(CALL),
    }
    return sheets | ({"judgements": Sheet(JUDGEMENT)} if judges_of(store, study) else {})


def _explained(store: Store, study: str, form: str, people: bool) -> list[CodebookEntry]:
    """What everything in the files of a study is, with the tables of people or without."""
    tables = {name: sheet.columns for name, sheet in _sheets(store, study).items()}
    entries: list[CodebookEntry] = []
    if form in LINES:
        tables = {}
        name, keys = LINES[form]
        entries += [
            CodebookEntry(name, key, "", kind, "", said) for key, (kind, said) in keys.items()
        ]
    tables |= PEOPLE if people else {}
    return entries + [
        CodebookEntry(name, one.name, one.game, one.type, one.range, one.meaning)
        for name, columns in tables.items()
        for one in columns
    ]


def _write_people(store: Store, study: str, form: str, folder: Path, raw: bool) -> Counter[str]:
    """Write the tables on the people who took part, and count their rows."""
    sheets = {name: Sheet(columns) for name, columns in PEOPLE.items()}
    return _filled(FORMS[form].sink, sheets, people_rows(store, study), folder, raw)


def _write_tables(
    sink: Callable[..., Any], store: Store, study: str, folder: Path, how: Wording, part: Part
) -> Counter[str]:
    return _filled(sink, _sheets(store, study), _sources(store, study, part), folder, how.raw_cells)


def _filled(
    sink: Callable[..., AbstractContextManager[Sink]],
    sheets: Mapping[str, Sheet],
    sources: Iterable[tuple[str, Any]],
    folder: Path,
    raw: bool,
) -> Counter[str]:
    """Write tables from what their rows are read from, and count the rows."""
    rows = Counter(dict.fromkeys(sheets, 0))
    with ExitStack() as stack:
        sinks = {name: stack.enter_context(sink(folder, name, sheet.types, raw=raw))
                 for name, sheet in sheets.items()}  # fmt: skip
        for name, source in sources:
            sinks[name](sheets[name].row(source))
            rows[name] += 1
    return rows


def _sources(store: Store, study: str, part: Part) -> Iterator[tuple[str, Any]]:
    """What the rows of the tables are read from, match by match."""
    judges = judges_of(store, study)
    standing, bought = Standing(store, study), Buyers.of_study(store, study)
    for record, ledger in _records(store, study, part):
        match = MatchRow(standing.of(record), record, bought.of_match(record.id))
        buyers = iter(bought.of(record))
        yield "matches", match
        for answer in record.answers:
            yield "answers", AnswerRow(match, answer)
            for attempt, call in enumerate(answer.calls):
                yield "calls", CallRow(
                    match, answer.request, answer.seat, attempt, call["sending"], "answered",
                    call["call"], call["reply"] or {}, call.get("sent"), call.get("received"),
                    next(buyers)[2],
                )  # fmt: skip
        for call in ledger:
            yield "calls", CallRow(
                match, call["request"], call["seat"], call["attempt"], call["try"], call["state"],
                call["call"], call["reply"] or {}, call["sent"], call["received"],
                call["bought_by"],
            )  # fmt: skip
        for one in read_judgements(store, match_id=record.id) if judges else ():
            if one.judge in judges:
                yield "judgements", JudgementRow(match, one, judges[one.judge])


def _records(
    store: Store, study: str, part: Part
) -> Iterator[tuple[MatchRecord, list[dict[str, Any]]]]:
    """The records of a study, or of a part of it, each with its calls that no answer has."""
    open_ = store.with_open_calls()
    for record in store.records(study, bodies=True, past=True, where=of_part(part)):
        yield record, store.open_calls(record.id) if record.id in open_ else []


def _write_lines(store: Store, study: str, folder: Path, _how: Wording, part: Part) -> Counter[str]:
    count = 0
    standing, bought = Standing(store, study), Buyers.of_study(store, study)
    with (folder / "matches.jsonl").open("w", encoding="utf-8", newline="") as file:
        for record, ledger in _records(store, study, part):
            data = standing.of(record)._asdict() | record.as_json()
            data["forfeits"] = [one._asdict() for one in record.forfeits]
            data["bought_by"] = bought.of_match(record.id) or None
            said = [one.as_json() for one in read_judgements(store, match_id=record.id)]
            data |= {"judgements": said} if said else {}
            file.write(standard_json(data | ({"open_calls": ledger} if ledger else {})) + "\n")
            count += 1
    return Counter(matches=count)


def _write_chats(store: Store, study: str, folder: Path, how: Wording, part: Part) -> Counter[str]:
    count = 0
    standing = Standing(store, study)
    with (folder / "chats.jsonl").open("w", encoding="utf-8", newline="") as file:
        for record in store.records(study, bodies=True, where=of_part(part)):
            if record.over and not standing.of(record).dropped:
                for chat in chats(record, how.style):
                    file.write(standard_json(chat.as_json()) + "\n")
                    count += 1
    return Counter(chats=count)


LINES: Mapping[str, tuple[str, Mapping[str, tuple[str, str]]]] = {
    "jsonl": ("matches", RECORD),
    "chats": ("chats", CHAT),
}
"""Formats with a JSON object a line: what a line is of, and its keys."""


class Form(NamedTuple):
    """How a study is written in a format.

    Attributes:
        write: writes the files of a study, or of a part of it, to a folder, and counts rows.
        join: makes one file of those of several parts.
        sink: takes the rows of a table.
    """

    write: Callable[[Store, str, Path, Wording, Part], Counter[str]]
    join: Callable[[Sequence[Path], Path], None]
    sink: Callable[..., AbstractContextManager[Sink]]


FORMS: dict[str, Form] = {
    "csv": Form(partial(_write_tables, csv_sink), partial(join_text, headings=1), csv_sink),
    "parquet": Form(partial(_write_tables, parquet_sink), join_parquet, parquet_sink),
    "jsonl": Form(_write_lines, join_text, lines_sink),
    "chats": Form(_write_chats, join_text, lines_sink),
}
