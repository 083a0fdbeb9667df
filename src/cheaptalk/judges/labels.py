"""Manual labels: export a sheet of items, and import the verdicts of annotators.

A sheet is a CSV file with one item per row. Annotators are blind: rows are shuffled, and neither
players nor judges' verdicts are shown. Each annotator becomes a judge in the store.
"""

import csv
import time
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from cheaptalk.atomic_files import read_whole, whole_file
from cheaptalk.judges.items import Item, answers_of, subjects
from cheaptalk.judges.judges import Judge, judge_of, matches_for, why_nothing
from cheaptalk.judges.rubrics import Rubric, find_rubric
from cheaptalk.judges.verdicts import label
from cheaptalk.names import RubricName
from cheaptalk.players import Kind
from cheaptalk.records import Store, digest
from cheaptalk.records.identity import written_judge_digest
from cheaptalk.records.judgements import (
    Judgement,
    instances_of,
    read_judged_answers,
    read_judgements,
    register_judge,
    specs_of_judges,
    write_judgement,
)
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.rules import CheaptalkError, suggest
from cheaptalk.rules.display import spreadsheet_text

COLUMNS = ("match_id", "item", "record", "judged", "verdict", "reason")
NEEDED = ("match_id", "item", "verdict")
POOL = 10
"""Number of matches drawn per item if the study has no verdicts yet."""


class Labels(NamedTuple):
    """Counts of labels and empty rows in an imported sheet.

    Attributes:
        taken: number of new labels.
        before: number of labels imported before.
        empty: number of rows without a verdict.
    """

    taken: int
    before: int
    empty: int


@reads
def write_sheet(
    store: StoreLike,
    study: StudyLike,
    rubric: Rubric | Path | RubricName,
    path: Path | str,
    *,
    sample: int = 100,
    seed: int = 0,
) -> int:
    """Write a sheet of random items to label, and return the number of items.

    Items are drawn from those with a verdict, or from all items if there are no verdicts.

    Args:
        study: the name of a study in the store.
        rubric: a rubric, or the name or file of a rubric.
        path: the CSV file; must not exist.
        sample: maximum number of items.
        seed: seed of the draw.

    Raises:
        StoreError: the store has no study of this name.
        CheaptalkError: there is nothing to judge, or the file exists.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    rubric, path = find_rubric(rubric), Path(path)
    if path.exists():
        raise CheaptalkError(f"{path} exists and may contain labels; choose another file")
    by = judge_of(rubric, "script/legal")  # only the rubric is used
    shuffled = sorted(_items(store, study, by, sample, seed), key=lambda pair: digest(seed, *pair))
    chosen = shuffled[:sample]
    items = _items_by_match(store, study, rubric, sorted({match for match, _ in chosen}))
    with whole_file(path, new=True) as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for match, name in chosen:
            item = items[match][name]
            seen, judged = map(spreadsheet_text, (item.seen, item.judged))
            writer.writerow([match, name, seen, judged, "", ""])
    return len(chosen)


@reads
def import_labels(
    store: StoreLike,
    study: StudyLike,
    rubric: Rubric | Path | RubricName,
    path: Path | str,
    *,
    by: str,
) -> Labels:
    """Import a sheet's verdicts, skipping rows without a verdict and labels imported before.

    Args:
        rubric: the rubric of the sheet.
        path: the CSV file.
        by: the annotator's name, shown in reports.

    Raises:
        StoreError: the store has no study of this name.
        CheaptalkError: the file can't be read, an item isn't in the study, a verdict isn't in the
            rubric, or the annotator gave another verdict before.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    rubric, path = find_rubric(rubric), Path(path)
    store.study(study)
    rows = _read(path)
    filled = [(number, row) for number, row in enumerate(rows, start=2) if row["verdict"]]
    for number, row in filled:
        if row["verdict"] not in rubric.labels:
            unknown = suggest(row["verdict"], rubric.labels)
            raise CheaptalkError(f"{path}, row {number}: {rubric.name} has no verdict {unknown}")
    _check_exist(store, study, rubric, path, filled)
    written = {
        "rubric": rubric.model_dump(mode="json", exclude_none=True),
        "model": {"model": by, "person": True},
    }
    key = written_judge_digest(written)
    before = {
        (judgement.match_id, judgement.item): label(judgement.verdict or {})
        for judgement in _judgements(store, study, rubric)
        if judgement.judge == key
    }
    for number, row in filled:
        earlier = before.get((row["match_id"], row["item"]), row["verdict"])
        if earlier != row["verdict"]:
            raise CheaptalkError(
                f"{path}, row {number}: {by} already labelled it {earlier}; use another annotator"
            )
    new_rows = [row for _, row in filled if (row["match_id"], row["item"]) not in before]
    with store.writing():
        register_judge(store, key, written)
        study_id = store.study_id(study)
        with store.transaction() as connection:
            for row in new_rows:
                judgement = _judgement(key, row, scored=rubric.scale is not None)
                write_judgement(connection, study_id, judgement, [])
    return Labels(len(new_rows), len(filled) - len(new_rows), len(rows) - len(filled))


def _items(store: Store, study: str, by: Judge, sample: int, seed: int) -> set[tuple[str, str]]:
    """Return the items judged by the rubric, or items of random matches if none was judged."""
    name = by.rubric.name
    judgements = _judgements(store, study, by.rubric)
    specs = specs_of_judges(store, {judgement.judge for judgement in judgements})
    judged = {
        (judgement.match_id, judgement.item)
        for judgement in judgements
        if judgement.verdict is not None and specs[judgement.judge]["rubric"]["name"] == name
    }
    if judged:
        return judged
    matches = matches_for(store, study, by, sample=POOL * sample, seed=seed)
    items_by_match = _items_by_match(store, study, by.rubric, matches)
    pairs = {(match, item) for match, items in items_by_match.items() for item in items}
    if not pairs:
        raise CheaptalkError(f"{study} has nothing to label with {name}: {why_nothing(by.rubric)}")
    return pairs


def _judgements(store: Store, study: str, rubric: Rubric) -> list[Judgement]:
    if rubric.item == "answer":
        return list(read_judged_answers(store, study))
    return list(read_judgements(store, study=study))


def _items_by_match(
    store: Store, study: str, rubric: Rubric, matches: Sequence[str]
) -> dict[str, dict[str, Item]]:
    return {
        subject.id: {item.name: item for item in subject.items()}
        for subject in subjects(store, study, rubric, matches)
    }


def _read(path: Path) -> list[dict[str, str]]:
    try:
        reader = csv.DictReader(StringIO(read_whole(path), ""), restval="", strict=True)
        rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CheaptalkError(f"{path}: cannot be read as a CSV file: {error}") from error
    missing = [name for name in NEEDED if name not in (reader.fieldnames or ())]
    if missing:
        raise CheaptalkError(f"{path}: missing column {', '.join(missing)}")
    return [{name: row[name].strip() for name in COLUMNS if name in row} for row in rows]


def _check_exist(
    store: Store,
    study: str,
    rubric: Rubric,
    path: Path,
    filled: Sequence[tuple[int, Mapping[str, str]]],
) -> None:
    is_answer = rubric.item == "answer"
    known_ids = {*(answers_of(store, study, rubric) if is_answer else instances_of(store, study))}
    matches = sorted({row["match_id"] for _, row in filled if row["match_id"] in known_ids})
    items = _items_by_match(store, study, rubric, matches)
    for number, row in filled:
        if row["item"] not in items.get(row["match_id"], {}):
            raise CheaptalkError(
                f"{path}, row {number}: {study} has no item {row['item']} of match "
                f"{row['match_id']}"
            )


def _judgement(judge: str, row: Mapping[str, str], *, scored: bool) -> Judgement:
    verdict = row["verdict"]
    answer: dict[str, Any] = {"score": int(verdict)} if scored else {"category": verdict}
    answer |= {"reason": row.get("reason", "")}
    return Judgement(row["match_id"], judge, row["item"], Kind.OK, answer, [], time.time())
