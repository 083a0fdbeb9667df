"""Export of a study: tables for analysis or complete records, with a codebook.

``csv`` and ``parquet`` write tables: matches, answers, calls and, if the study was judged,
judgements. ``jsonl`` writes one complete record per line, readable without this package. ``chats``
writes one line per actor of each scored match, for training language models. Studies with
participants also have tables of participants, responses, plays and payments, and wide tables with
one row per participant, or per participant and game. ``wide`` and ``otree`` write only such tables.
A codebook documents all columns and questions.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

from cheaptalk.atomic_files import whole_folder, whole_path
from cheaptalk.names import ExportForm
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.records.encoding import standard_json
from cheaptalk.records.exclusions import Standing
from cheaptalk.records.exports import sheets, tables
from cheaptalk.records.exports.chats import chats
from cheaptalk.records.exports.columns import Column, SharedColumn, shared_columns, table_columns
from cheaptalk.records.exports.seats import SeatRow, seat_columns
from cheaptalk.records.judgements import judges_of, read_judgements
from cheaptalk.records.ledger.spending import Buyers
from cheaptalk.records.people.queries import has_people
from cheaptalk.records.record import MatchRecord
from cheaptalk.records.store.lookup import StoreLike, StudyLike, name_of
from cheaptalk.records.store.parts import Part, over_parts
from cheaptalk.records.store.queries import has_chat, seats_of
from cheaptalk.records.store.reader import specs_of
from cheaptalk.records.store.store import Store
from cheaptalk.rules import CheaptalkError, games, unknown
from cheaptalk.rules.arguments import checked
from cheaptalk.studies.exports.codebook import CodebookEntry, entries_of, write_codebook
from cheaptalk.studies.exports.otree import otree_table
from cheaptalk.studies.exports.people import read_people
from cheaptalk.studies.exports.wide import wide_tables

__all__ = ["Exported", "export"]


@dataclass(frozen=True, repr=False)
class Exported(Printed):
    """The result of an export.

    Attributes:
        path: the folder or zip file.
        rows: the number of rows of each table, or of lines of the file.
    """

    path: Path
    rows: dict[str, int]

    def printout(self) -> Printout:
        return Printout(f"Exported to {self.path}", ["table", "rows"], [*self.rows.items()])


class Wording(NamedTuple):
    """Options for texts: no escaping in CSV, and the prompt style of other players' chats."""

    raw_cells: bool
    style: str | None


@checked
def export(
    store: StoreLike,
    study: StudyLike,
    target: Path | str,
    form: ExportForm = "csv",
    *,
    raw_cells: bool = False,
    workers: int = 1,
    style: str | None = None,
    people: bool = True,
) -> Exported:
    """Write a study to a new folder or a zip file, completely or not at all.

    >>> study = ct.Study(name="talk", games=[{"game": "negotiation"}], players={"luck": "random"})
    >>> _ = ct.run(study, "talk.sqlite")
    >>> ct.export("talk.sqlite", "talk", "talk.zip").rows["matches"]
    1

    Args:
        store: the store, its file or its URL.
        study: a study in the store: its name, or the study.
        target: a new or empty folder, or a file that ends in ``.zip``, which is replaced.
        form: ``csv``, ``parquet``, ``jsonl`` or ``chats``; or, for participants only, ``wide`` (a
            row per participant, and one per participant and game) or ``otree`` (a row per
            participant, with the column names of oTree), both in CSV.
        raw_cells: write texts in CSV unchanged; by default, texts that a spreadsheet would
            interpret as formulas are prefixed with an apostrophe.
        workers: number of processes for large studies. More than one requires a store in a file, no
            components registered by this program, and an importable script
            (``if __name__ == "__main__":``).
        style: the prompt style of chats of players that are not models; by default the game's own.
        people: whether to write the tables of participants, if the study has any.

    Raises:
        StoreError: the store does not contain the study.
        UnknownName: a game of the study has no such style.
        CheaptalkError: the target can't be written, a package is missing, or the study has no
            participants, with ``wide`` or ``otree``.
    """
    path = Path(target)
    with Store.opened(store) as store_:
        study = name_of(study)
        store_.study(study)
        if form not in FORMS:
            raise unknown("format", form, list(FORMS))
        if form == "parquet":
            sheets.polars()
        if form in PEOPLE_FORMS and not (people and has_people(store_, study)):
            raise CheaptalkError(
                f"{study} has no participants, whose data {form} exports; choose another format, "
                "such as csv"
            )
        try:
            with _complete(path) as folder:
                rows = _written(store_, study, form, folder, Wording(raw_cells, style), workers)
                columns: dict[str, Sequence[Column]] = {}
                if people and has_people(store_, study):
                    columns, sources = _people(store_, study, form)
                    rows |= _filled(FORMS[form].sink, columns, sources, folder, raw_cells)
                write_codebook(folder, _explained(store_, study, form, columns))
        except FileExistsError as error:
            raise CheaptalkError(
                f"{target} exists; name a new folder, or a .zip file, which is replaced"
            ) from error
        except OSError as error:
            reason = error.strerror or error
            raise CheaptalkError(f"{target} cannot be written: {reason}") from error
    return Exported(path, dict(rows))


@contextmanager
def _complete(target: Path) -> Iterator[Path]:
    """Yield a temporary folder, which is moved or zipped to the target at the end."""
    if target.suffix != ".zip":
        with whole_folder(target) as folder:
            yield folder
        return
    hidden = f".{target.name}."
    with (
        whole_path(target.absolute()) as archive,
        TemporaryDirectory(prefix=hidden, dir=archive.parent) as staging,
    ):
        yield Path(staging)
        with ZipFile(archive, "w", ZIP_DEFLATED) as packed:
            for file in sorted(Path(staging).iterdir()):
                packed.write(file, file.name)


def _written(
    store: Store, study: str, form: str, folder: Path, wording: Wording, workers: int
) -> Counter[str]:
    """Write a study's files with one or several processes, and count the rows of each table."""
    rows = over_parts(store, study, workers, _write_part, form, folder, wording)
    subfolders = (path for path in folder.iterdir() if path.is_dir())
    folders = sorted(subfolders, key=lambda path: int(path.name))
    for file in sorted(folders[0].iterdir()) if folders else ():
        FORMS[form].join([subfolder / file.name for subfolder in folders], folder / file.name)
    for subfolder in folders:
        shutil.rmtree(subfolder)
    return Counter({name: sum(counts[name] for counts in rows) for name in rows[0]})


def _write_part(
    store: Store, study: str, part: Part, form: str, folder: Path, wording: Wording
) -> Counter[str]:
    """Write all files of a study to a folder, or those of one part to a subfolder."""
    target = folder if part is None else folder / str(part.start)
    target.mkdir(exist_ok=True)
    return FORMS[form].write(store, study, target, wording, part)


def _columns(store: Store, study: str) -> dict[str, list[Column]]:
    """Return the columns of the tables of a study's matches."""
    seats = {game: [*seats] for game, seats in seats_of(store, study, past=True).items()}
    game_specs = [game_spec for name, game_spec in games().items() if name in seats]
    factors = store.study(study, counted=False).spec.get("factors") or {}
    players = [settings for specs in specs_of(store, study).values() for settings in specs]
    columns = {
        "matches": tables.match_columns(game_specs, seats, factors),
        "seats": seat_columns(game_specs, seats, factors, players),
        "answers": tables.answer_columns(game_specs),
        "calls": table_columns("calls"),
    }
    if has_chat(store, study):
        columns["chat"] = table_columns("chat")
    if judges_of(store, study):
        columns["judgements"] = table_columns("judgements")
    return columns


def _explained(
    store: Store, study: str, form: str, people: Mapping[str, Sequence[Column]]
) -> list[CodebookEntry]:
    """Return the codebook entries of a study's export; ``people`` are participants' tables."""
    by_table: dict[str, Sequence[Column | SharedColumn]] = {}
    if form in LINES:
        by_table[LINES[form]] = shared_columns(LINES[form], "json")
    elif form not in PEOPLE_FORMS:
        by_table |= _columns(store, study)
    return list(entries_of({**by_table, **people}))


def _people(
    store: Store, study: str, form: str
) -> tuple[dict[str, Sequence[Column]], Iterator[tuple[str, Any]]]:
    """Return the columns of participants' tables, and the table and source of each row."""
    data = read_people(store, study)
    wide = (otree_table if form == "otree" else wide_tables)(store, study, data)
    columns: dict[str, Sequence[Column]] = {name: table.columns for name, table in wide.items()}
    if form not in PEOPLE_FORMS:
        columns = {**tables.people_columns(), **columns}
    rows = iter(()) if form in PEOPLE_FORMS else tables.people_rows(store, study)
    sources = ((name, source) for name, table in wide.items() for source in table.sources)
    return columns, chain(rows, sources)


def _write_tables(
    sink: Callable[..., Any], store: Store, study: str, folder: Path, wording: Wording, part: Part
) -> Counter[str]:
    rows = _sources(store, study, part)
    return _filled(sink, _columns(store, study), rows, folder, wording.raw_cells)


def _filled(
    sink: Callable[..., AbstractContextManager[sheets.Sink]],
    columns: Mapping[str, Sequence[Column]],
    sources: Iterable[tuple[str, Any]],
    folder: Path,
    raw: bool,
) -> Counter[str]:
    """Write each row to its table, and return the number of rows by table."""
    by_table = {name: sheets.Sheet(of_table) for name, of_table in columns.items()}
    rows = Counter(dict.fromkeys(by_table, 0))
    with ExitStack() as stack:
        sinks = {
            name: stack.enter_context(sink(folder, name, sheet.types, raw=raw))
            for name, sheet in by_table.items()
        }
        for name, source in sources:
            sinks[name](by_table[name].row(source))
            rows[name] += 1
    return rows


def _chat(
    match: tables.MatchRow, record: MatchRecord, buyers: Iterator[tuple[Any, Any, str | None]]
) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a match's lines of chat, and of the calls for them."""
    for line in record.chat:
        if line.text:
            yield "chat", tables.ChatRow(match, line.request, line.actor, line)
        for index, call in enumerate(line.calls):
            request, actor, attempt = line.place(index)
            data = {"attempt": attempt, "try": call["sending"], "state": "answered"}
            data |= call | {"bought_by": next(buyers)[2]}
            yield "calls", tables.CallRow(match, request, actor, data)


def _sources(store: Store, study: str, part: Part) -> Iterator[tuple[str, Any]]:
    """Yield the table name and the data source of each exported row, match by match."""
    judges = judges_of(store, study)
    standing, purchases = Standing(store, study), Buyers.of_study(store, study)
    for record, ledger in _records(store, study, part):
        studies = list(purchases.of_match(record.id)) or None
        match = tables.MatchRow(standing.of(record), record, studies)
        buyers = iter(purchases.of(record))
        yield "matches", match
        for seat in record.seats:
            yield "seats", SeatRow(match, seat)
        for answer in record.answers:
            yield "answers", tables.AnswerRow(match, answer.request, answer.actor, answer)
            for attempt, call in enumerate(answer.calls):
                data = {"attempt": attempt, "try": call["sending"], "state": "answered"}
                data |= call | {"bought_by": next(buyers)[2]}
                yield "calls", tables.CallRow(match, answer.request, answer.actor, data)
        yield from _chat(match, record, buyers)
        for call in ledger:
            yield "calls", tables.CallRow(match, call["request"], call["actor"], call)
        for judgement in read_judgements(store, match_id=record.id) if judges else ():
            if judgement.judge in judges:
                yield "judgements", tables.JudgementRow(match, judgement, judges[judgement.judge])


def _records(
    store: Store, study: str, part: Part
) -> Iterator[tuple[MatchRecord, list[dict[str, Any]]]]:
    """Yield each record of a study, or of a part of it, with its calls in the ledger."""
    open_ = store.with_open_calls()
    for record in store.records(study, bodies=True, past=True, part=part):
        yield record, store.open_calls(record.id) if record.id in open_ else []


def _write_lines(
    store: Store, study: str, folder: Path, _wording: Wording, part: Part
) -> Counter[str]:
    count = 0
    standing, buyers = Standing(store, study), Buyers.of_study(store, study)
    with (folder / "matches.jsonl").open("w", encoding="utf-8", newline="") as file:
        for record, ledger in _records(store, study, part):
            data = standing.of(record)._asdict() | record.as_json()
            data["forfeits"] = [forfeit._asdict() for forfeit in record.forfeits]
            data["bought_by"] = buyers.of_match(record.id) or None
            judgements = read_judgements(store, match_id=record.id)
            lists = {"judgements": [item.as_json() for item in judgements], "open_calls": ledger}
            data |= {name: entries for name, entries in lists.items() if entries}
            file.write(standard_json(data) + "\n")
            count += 1
    return Counter(matches=count)


def _write_chats(
    store: Store, study: str, folder: Path, wording: Wording, part: Part
) -> Counter[str]:
    count = 0
    standing = Standing(store, study)
    with (folder / "chats.jsonl").open("w", encoding="utf-8", newline="") as file:
        for record in store.records(study, bodies=True, part=part):
            if record.over and not standing.of(record).dropped:
                for chat in chats(record, wording.style):
                    file.write(standard_json(chat.as_json()) + "\n")
                    count += 1
    return Counter(chats=count)


def _write_nothing(
    _store: Store, _study: str, _folder: Path, _wording: Wording, _part: Part
) -> Counter[str]:
    return Counter()


PEOPLE_FORMS = ("wide", "otree")
"""Formats that contain only participants, in CSV."""
LINES = {"jsonl": "matches", "chats": "chats"}
"""File name of each format with one JSON object per line."""


class Form(NamedTuple):
    """Functions that write (a part of) a study, join the files of parts, and write a table."""

    write: Callable[[Store, str, Path, Wording, Part], Counter[str]]
    join: Callable[[Sequence[Path], Path], None]
    sink: Callable[..., AbstractContextManager[sheets.Sink]]


CSV, JSONL, PARQUET = sheets.SINKS["csv"], sheets.SINKS["jsonl"], sheets.SINKS["parquet"]
FORMS: dict[str, Form] = {
    "csv": Form(partial(_write_tables, CSV), partial(sheets.join_text, headings=1), CSV),
    "parquet": Form(partial(_write_tables, PARQUET), sheets.join_parquet, PARQUET),
    "jsonl": Form(_write_lines, sheets.join_text, JSONL),
    "chats": Form(_write_chats, sheets.join_text, JSONL),
    **dict.fromkeys(PEOPLE_FORMS, Form(_write_nothing, sheets.join_text, CSV)),
}
