"""Hand labels: blind sheets, imported as a judge and compared with other judges."""

import csv
import json
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.judges import CHECK, find_rubric, import_labels, write_sheet
from cheaptalk.records import Store
from tests.conftest import Command
from tests.judges.judged import STUDY, always, check_verdicts, judge_of, play

RUBRIC = find_rubric("hallucination")


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def label_by_check(store: Store, folder: Path, sample: int = 60) -> Path:
    """Write a sheet labelled with the exact check's verdicts, blank where it has none."""
    sheet = folder / "sheet.csv"
    write_sheet(store, STUDY, RUBRIC, sheet, sample=sample)
    known = check_verdicts(store)
    rows = read_rows(sheet)
    for row in rows:
        row["verdict"] = known[row["match_id"]].get(row["item"], "") + " "
    return write_rows(folder / "labels.csv", rows)


def test_sheet_is_blind_shuffled_reproducible_and_prefers_judged_items(
    store: Store, tmp_path: Path
) -> None:
    play(store)
    sheets = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv")]
    for sheet, seed in zip(sheets, (0, 0, 1), strict=True):
        assert write_sheet(store, STUDY, RUBRIC, sheet, sample=20, seed=seed) == 20
    first, again, other = map(read_rows, sheets)
    assert first == again != other
    assert [row["match_id"] for row in first] != sorted(row["match_id"] for row in first)
    assert all("one" not in row["judged"] and row["verdict"] == "" for row in first)
    assert all("Player" in row["record"] for row in first)

    ct.judge(store, STUDY, judge_of(), sample=2, models=always("consistent"))
    number = write_sheet(store, STUDY, RUBRIC, tmp_path / "sheet.csv", sample=1_000)
    judged = ct.judges.verdict_frame(store, STUDY)
    assert number == judged.height
    assert {row["match_id"] for row in read_rows(tmp_path / "sheet.csv")} == set(judged["match_id"])


def test_models_are_compared_with_labels(store: Store, tmp_path: Path) -> None:
    play(store, instances=15)
    ct.judge(store, STUDY, judge_of(), models=always("false value"))
    labels = label_by_check(store, tmp_path)
    written = [row["verdict"].strip() for row in read_rows(labels)]
    verdicts = [verdict for verdict in written if verdict]
    taken = import_labels(store, STUDY, RUBRIC, labels, by="two authors")
    assert taken == (len(verdicts), 0, len(written) - len(verdicts))
    again = import_labels(store, STUDY, RUBRIC, labels, by="two authors")
    assert again == (0, len(verdicts), len(written) - len(verdicts))
    agreements = {(pair.judge, pair.reference): pair for pair in ct.judges.agreements(store, STUDY)}
    model_judge = judge_of().digest
    people = next(judge for judge, other in agreements if other == CHECK and judge != model_judge)
    with_check = agreements[people, CHECK]
    assert with_check.same.value == with_check.alike.value == 1
    model = agreements[model_judge, people]
    assert model.items == len(verdicts)
    finds = sum(verdict != "consistent" for verdict in verdicts)
    assert model.alike[:2] == (finds, len(verdicts))
    assert model.same[:2] == (verdicts.count("false value"), len(verdicts))
    sections = ct.reports.judge_sections(store, STUDY)
    (section,) = [section for section in sections if section.digest == people]
    assert section.name == "hallucination by two authors"
    assert section.as_json()["model"] == {"model": "two authors", "person": True}


def test_invalid_labels_are_rejected_with_their_row(store: Store, tmp_path: Path) -> None:
    play(store, instances=2)
    labels = label_by_check(store, tmp_path)
    rows = [row for row in read_rows(labels) if row["verdict"].strip()]

    def import_error(*changed: dict[str, str], **options: str) -> str:
        path = write_rows(tmp_path / "changed.csv", list(changed))
        with pytest.raises(ct.CheaptalkError) as error:
            import_labels(store, STUDY, RUBRIC, path, by="hand", **options)
        return str(error.value)

    for change, message in (
        ({"verdict": "fals value"}, 'row 2: hallucination has no verdict "fals value"'),
        ({"item": "99/player_1"}, "row 2: talk has no item 99/player_1 of match"),
        ({"match_id": "nowhere"}, "has no item"),
    ):
        assert message in import_error(rows[0] | change)
    short = [{name: row[name] for name in ("match_id", "item")} for row in rows]
    assert "missing column verdict" in import_error(*short)
    import_labels(store, STUDY, RUBRIC, labels, by="hand")
    other = {"consistent": "false value"}.get(rows[0]["verdict"].strip(), "consistent")
    assert "already labelled" in import_error(rows[0] | {"verdict": other})
    with pytest.raises(ct.CheaptalkError, match="cannot be read as a CSV file"):
        import_labels(store, STUDY, RUBRIC, tmp_path / "nowhere.csv", by="hand")


def test_sheet_is_neither_overwritten_nor_empty(store: Store, tmp_path: Path) -> None:
    play(store, instances=1)
    sheet = tmp_path / "sheet.csv"
    write_sheet(store, STUDY, RUBRIC, sheet, sample=1)
    with pytest.raises(ct.CheaptalkError, match="may contain labels"):
        write_sheet(store, STUDY, RUBRIC, sheet)
    mute = ct.judges.Rubric(
        name="offers",
        item="move",
        actions=["Offer"],
        question="Is it fair?",
        categories={"fair": "half", "unfair": "less"},
    )
    with pytest.raises(ct.CheaptalkError, match="nothing to label with offers: no player took"):
        write_sheet(store, STUDY, mute, tmp_path / "other.csv")


def test_scores_can_be_labels(store: Store, tmp_path: Path) -> None:
    play(store, instances=3)
    scale = ct.judges.Scale(low_means="hostile", high_means="warm")
    warmth = ct.judges.Rubric(name="warmth", item="seat", question="How warm?", scale=scale)
    sheet = tmp_path / "sheet.csv"
    assert write_sheet(store, STUDY, warmth, sheet) == 6
    rows = [row | {"verdict": "5"} for row in read_rows(sheet)]
    taken = import_labels(store, STUDY, warmth, write_rows(tmp_path / "filled.csv", rows), by="me")
    assert taken.taken == 6
    assert ct.judges.verdict_frame(store, STUDY)["score"].to_list() == [5.0] * 6


def test_label_command_writes_and_imports_sheets(
    cheaptalk: Command, store: Store, tmp_path: Path
) -> None:
    play(store)
    at = ["--store", store.backend.address, "--rubric", "hallucination"]
    done = cheaptalk("judge", "label", STUDY, *at, "--sheet", "sheet.csv", "--sample", "5")
    assert done.status == 0, done.err
    assert "sheet.csv: 5 items to label" in done.out
    assert "false value: it states a worth" in done.out
    assert f"judge label {STUDY} --rubric hallucination --labels sheet.csv --store" in done.out
    rows = [row | {"verdict": "consistent"} for row in read_rows(tmp_path / "sheet.csv")]
    write_rows(tmp_path / "sheet.csv", rows)
    done = cheaptalk("judge", "label", STUDY, *at, "--labels", "sheet.csv")
    assert f"{STUDY}: 5 labels imported, 0 imported before, 0 without a verdict" in done.out
    done = cheaptalk("judge", "label", STUDY, *at, "--labels", "sheet.csv", "--json")
    assert '"before": 5' in done.out
    done = cheaptalk("judge", "label", STUDY, *at, "--sheet", "two.csv", "--json")
    assert '"items": 5' in done.out
    scale = {"low_means": "hostile", "high_means": "warm"}
    rubric = {"name": "warmth", "item": "seat", "question": "How warm is it?", "scale": scale}
    (tmp_path / "my warmth.yaml").write_text(json.dumps(rubric))
    scored = [*at[:3], "my warmth.yaml", "--sheet", "warmth.csv"]
    done = cheaptalk("judge", "label", STUDY, *scored)
    assert "  1: hostile\n  7: warm\n" in done.out
    assert "--rubric 'my warmth.yaml' --labels warmth.csv" in done.out
    done = cheaptalk("judge", "label", STUDY, *at)
    assert done.status == 2
    assert "set either --sheet" in done.err
