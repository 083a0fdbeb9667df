"""Labels by hand: a sheet of what a judge is put to, and the verdicts that people write into it.

A sheet is a CSV file with an item a row. It says neither who played nor what any judge said, and
its rows are shuffled, so that whoever labels it is blind. Its verdicts become those of a judge who
is a person, and all that is done with judges is done with them.
"""

import csv
import time
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from cheaptalk.judges.answers import answers_of, label
from cheaptalk.judges.items import Item
from cheaptalk.judges.judges import Judge, judge_of, matches_for, why_nothing
from cheaptalk.judges.rubrics import Rubric, find_rubric
from cheaptalk.judges.subjects import subjects
from cheaptalk.players import Kind
from cheaptalk.records import Store, digest, digest_key
from cheaptalk.records.judgements import (
    Judgement,
    deals_of,
    read_judged_answers,
    read_judgements,
    register_judge,
    specs_of_judges,
    write_judgement,
)
from cheaptalk.rules import CheaptalkError, suggest
from cheaptalk.rules.display import spreadsheet_text
from cheaptalk.studies.lookup import reads_study
from cheaptalk.whole_files import read_whole, whole_file

COLUMNS = ("match", "item", "record", "judged", "verdict", "reason")
NEEDED = ("match", "item", "verdict")
POOL = 10
"""So many matches are drawn for each item that is, where nothing was judged before."""


class Labels(NamedTuple):
    """What was taken in from a sheet.

    Attributes:
        taken: labels that are new.
        before: labels that were taken in before, and are the same.
        empty: rows without a verdict.
    """

    taken: int
    before: int
    empty: int


@reads_study
def write_sheet(
    store: Store,
    study: str,
    rubric: Rubric | Path | str,
    path: Path | str,
    *,
    sample: int = 100,
    seed: int = 0,
) -> int:
    """Write a sheet of items to label, drawn at random; of those that were judged, if any were.

    Args:
        study: the name of a study in the store.
        rubric: what is to be found out; see :func:`.find_rubric`.
        path: the CSV file; it must not exist.
        sample: how many items, at most.
        seed: of the draw.

    Returns:
        How many items it has.

    Raises:
        StoreError: there is no such study.
        CheaptalkError: there is nothing to judge, or the file exists.
    """
    rubric, path = find_rubric(rubric), Path(path)
    if path.exists():
        raise CheaptalkError(f"{path} exists: labels may stand in it; name another file")
    by = judge_of(rubric, "script/legal")  # of whom only the rubric counts
    drawn = sorted(_items(store, study, by, sample, seed), key=lambda one: digest(seed, *one))
    chosen = drawn[:sample]
    found = _found(store, study, rubric, sorted({match for match, _ in chosen}))
    with whole_file(path, new=True) as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for match, name in chosen:
            item = found[match][name]
            seen, judged = map(spreadsheet_text, (item.seen, item.judged))
            writer.writerow([match, name, seen, judged, "", ""])
    return len(chosen)


@reads_study
def take_labels(
    store: Store, study: str, rubric: Rubric | Path | str, path: Path | str, *, by: str
) -> Labels:
    """Take in the verdicts of a sheet as those of a judge.

    Rows without a verdict are left out. What was taken in before is not taken in again.

    Args:
        rubric: what was to be found out.
        path: the CSV file.
        by: who labelled it; reports call the judge so.

    Raises:
        StoreError: there is no such study.
        CheaptalkError: the file cannot be read, a row names what is not in the study or a verdict
            that the rubric does not have, or there is another verdict by the same judge.
    """
    rubric, path = find_rubric(rubric), Path(path)
    store.study(study)
    rows = _read(path)
    filled = [(number, row) for number, row in enumerate(rows, start=2) if row["verdict"]]
    for number, row in filled:
        if row["verdict"] not in rubric.labels:
            wrong = suggest(row["verdict"], rubric.labels)
            raise CheaptalkError(f"{path}, row {number}: {rubric.name} has no verdict {wrong}")
    _exist(store, study, rubric, path, filled)
    written = hand_judge(rubric, by)
    key = digest("judge", digest_key(written))
    before = {
        (one.match_id, one.item): label(one.verdict or {})
        for one in _said(store, study, rubric)
        if one.judge == key
    }
    for number, row in filled:
        earlier = before.get((row["match"], row["item"]), row["verdict"])
        if earlier != row["verdict"]:
            raise CheaptalkError(
                f"{path}, row {number}: {by} said {earlier} before; give another name with --by"
            )
    fresh = [row for _, row in filled if (row["match"], row["item"]) not in before]
    with store.writing():
        _store(store, study, key, written, fresh)
    return Labels(len(fresh), len(filled) - len(fresh), len(rows) - len(filled))


def hand_judge(rubric: Rubric, by: str) -> dict[str, Any]:
    """All that makes a judge who is a person, as plain data."""
    return {
        "rubric": rubric.model_dump(mode="json", exclude_none=True),
        "model": {"model": by, "person": True},
    }


def _items(store: Store, study: str, by: Judge, sample: int, seed: int) -> set[tuple[str, str]]:
    """What can be drawn: what judges by the rubric judged, else the items of drawn matches."""
    name = by.rubric.name
    said = [one for one in _said(store, study, by.rubric) if one.verdict is not None]
    specs = specs_of_judges(store, {one.judge for one in said})
    judged = {
        (one.match_id, one.item) for one in said if specs[one.judge]["rubric"]["name"] == name
    }
    if judged:
        return judged
    matches = matches_for(store, study, by, sample=POOL * sample, seed=seed)
    found = _found(store, study, by.rubric, matches)
    pairs = {(match, item) for match, items in found.items() for item in items}
    if not pairs:
        raise CheaptalkError(f"{study} has nothing to label by {name}: {why_nothing(by.rubric)}")
    return pairs


def _said(store: Store, study: str, rubric: Rubric) -> list[Judgement]:
    """What judges said of a study's matches, or of its people's answers where the rubric is so."""
    if rubric.item == "answer":
        return list(read_judged_answers(store, study))
    return list(read_judgements(store, study=study))


def _found(
    store: Store, study: str, rubric: Rubric, matches: Sequence[str]
) -> dict[str, dict[str, Item]]:
    """The items of some matches, by match and name."""
    return {
        one.id: {item.name: item for item in one.items()}
        for one in subjects(store, study, rubric, matches)
    }


def _read(path: Path) -> list[dict[str, str]]:
    """The rows of a sheet, without space around their texts."""
    try:
        reader = csv.DictReader(StringIO(read_whole(path), ""), restval="", strict=True)
        rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CheaptalkError(f"{path}: cannot be read as a CSV file: {error}") from error
    missing = [name for name in NEEDED if name not in (reader.fieldnames or ())]
    if missing:
        raise CheaptalkError(f"{path}: there is no column {', '.join(missing)}")
    return [{name: row[name].strip() for name in COLUMNS if name in row} for row in rows]


def _exist(
    store: Store,
    study: str,
    rubric: Rubric,
    path: Path,
    filled: Sequence[tuple[int, Mapping[str, str]]],
) -> None:
    """Refuse a sheet with an item that is not in the study."""
    is_answer = rubric.item == "answer"
    known = {*(answers_of(store, study, rubric) if is_answer else deals_of(store, study))}
    matches = sorted({row["match"] for _, row in filled if row["match"] in known})
    found = _found(store, study, rubric, matches)
    for number, row in filled:
        if row["item"] not in found.get(row["match"], {}):
            raise CheaptalkError(
                f"{path}, row {number}: {study} has no item {row['item']} of match {row['match']}"
            )


def _store(
    store: Store,
    study: str,
    key: str,
    written: Mapping[str, Any],
    rows: Sequence[Mapping[str, str]],
) -> None:
    register_judge(store, key, written)
    study_id = store.study_id(study)
    scored = "scale" in written["rubric"]
    with store.transaction() as connection:
        for row in rows:
            verdict = row["verdict"]
            answer: dict[str, Any] = {"score": int(verdict)} if scored else {"category": verdict}
            answer |= {"reason": row.get("reason", "")}
            made = Judgement(row["match"], key, row["item"], Kind.OK, answer, [], time.time())
            write_judgement(connection, study_id, made, [])
