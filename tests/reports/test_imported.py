"""Reports, exports and frames of imported games."""

import csv
import time
from pathlib import Path

import polars as pl
import pytest
import sqlalchemy as sa

import cheaptalk as ct
from cheaptalk.papers.glee.importer import read_glee
from cheaptalk.records import Store
from cheaptalk.records.imports import import_matches
from cheaptalk.reports.pages import moment
from cheaptalk.reports.study.facts import unidentified_people
from tests.known import known
from tests.pages import Page
from tests.papers.glee_folders import (
    AGREED,
    OFFERS,
    PITCHED,
    PITCHES,
    bargaining,
    models,
    persuasion,
    write,
    write_agreed,
)


@pytest.fixture
def games(tmp_path: Path) -> Path:
    folder = tmp_path / "games"
    folder.mkdir()
    return folder


def imported_page(games: Path, store: Store, folder: Path) -> Page:
    """Import the games of a folder as the study ``pub``, and return its report."""
    import_matches(read_glee(games), store, "pub")
    ct.reports.report(store, "pub", folder / "page.html")
    return Page((folder / "page.html").read_text())


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def write_dated(games: Path, name: str, date: str | None) -> None:
    players = models()
    del players["date"]
    written = bargaining(delta_1=None, delta_2=None) | players | ({"date": date} if date else {})
    write(games, name, written, OFFERS, AGREED)


@pytest.mark.parametrize(
    ("recipe", "dates", "sentence"),
    [
        (None, (None,), "The recordings don't say when the matches were played."),
        (None, ("2024-08-01 10:00:00",), "Played on 1 August 2024, according to the recordings."),
        ("glee", ("2024-08-01 10:00:00",), "Played on 1 August 2024, according to the recordings."),
        (
            None,
            ("2024-09-02 10:00:00", "2024-08-01", None, "last week"),
            "Played from 1 August 2024 to 2 September 2024, according to the recordings of 2 of ",
        ),
    ],
)
def test_reports_distinguish_import_and_play_dates(
    games: Path,
    store: Store,
    tmp_path: Path,
    recipe: str | None,
    dates: tuple[str | None, ...],
    sentence: str,
) -> None:
    for number, date in enumerate(dates):
        write_dated(games, f"G{number}", date)
    import_matches(read_glee(games), store, "pub")
    page = tmp_path / "page.html"
    if recipe:
        ct.reports.write_findings(ct.reports.findings(store, "pub", recipe, draws=100), page)
    else:
        ct.reports.report(store, "pub", page)
    text = " ".join(page.read_text().split())
    assert f"Imported from glee on {moment(time.time())[:-10]}" in text
    assert sentence in text
    assert "Recorded" not in text


@pytest.mark.parametrize(("people", "count"), [(0, ""), (1, ""), (2, "2 matches")])
def test_report_cautions_about_unidentified_participants(
    games: Path, store: Store, tmp_path: Path, people: int, count: str
) -> None:
    for number in range(3):
        players = {} if number < people else models()
        discounts = {} if number < people else {"delta_1": None, "delta_2": None}
        write(games, f"G{number}", bargaining(**discounts) | players, OFFERS, AGREED)
    text = " ".join(imported_page(games, store, tmp_path).source.split())
    caution = f"does not identify the participants of {count} with people"
    assert ("does not identify the participants of" in text) == bool(count)
    assert caution in text or not count
    known = ct.frames.read_matches(store, "pub")["bargaining"].with_columns(people=pl.lit(["p"]))
    assert unidentified_people(store, "pub", {"bargaining": known}) == 0


def test_imported_answers_have_an_unknown_number_of_tries(
    games: Path, store: Store, tmp_path: Path
) -> None:
    write_agreed(games)
    page = imported_page(games, store, tmp_path)
    frame = ct.frames.read_matches(store, "pub")["bargaining"]
    assert frame.select("answers_alice_ok", "answers_alice_repaired").row(0) == (2, None)
    rows = page.rows("bargaining-answers")
    shown = [[row[name].text for name in ("Answers", "Ok", "Repaired")] for row in rows]
    assert shown == [["2", "none", "none"]] * 2
    ct.export(store, "pub", tmp_path / "out")
    (match,) = rows_of(tmp_path / "out" / "matches.csv")
    assert match["answers_alice_ok"] == match["answers_alice_repaired"] == match["ended_at"] == ""
    assert match["answers_alice_illegal"] == "0"
    assert match["imported_at"] > "2026"
    times = sa.text("select started_at, ended_at, imported_at from v_matches")
    assert store.rows(times) == [(None, None, match["imported_at"])]
    assert frame.select("ended_at", "imported_at").null_count().row(0) == (1, 0)
    assert {row["kind"] for row in rows_of(tmp_path / "out" / "answers.csv")} == {""}


def test_report_notes_differences_in_the_meaning_of_parameters(
    games: Path, store: Store, tmp_path: Path
) -> None:
    write_agreed(games)
    text = imported_page(games, store, tmp_path).text
    assert "reminders yes (in GLEE only for responders, never for proposers)" in text
    write(games, "OTHER", bargaining(complete_information=False), OFFERS, AGREED)
    text = imported_page(games, store, tmp_path).text
    assert "even if no, GLEE's reminders tell responders the rival's discount" in text


def test_intervals_stay_within_the_bounds_set_by_parameters(
    games: Path, store: Store, tmp_path: Path
) -> None:
    few = ["low-quality,0,Nature,{0},,", ",,Alice,{0},Good.,", ",,Bob,{0},,{1}"]
    for number in range(4):
        rows = [row.format(1, "yes" if number else "no") for row in few]
        rows += [row.format(2, "yes" if number > 1 else "no") for row in few]
        price = 10 * 10**number
        write(games, f"G{number}", persuasion(product_price=price), PITCHES, rows)
    page = imported_page(games, store, tmp_path)
    table, headings = page.tables["persuasion-players"], page.headings("persuasion-players")
    for title, bounds in {
        "Sales": (0, 2),
        "Self gain Alice": (0, 1),
        "Self gain Bob": (-1, 2),
        "Payoff Alice": (0, 2),
        "Payoff Bob": (-2 * 11_110 / 4, 4 * 11_110 / 4),
    }.items():
        cell = table[1][headings.index(title)]
        low, high = (known(cell.number(f"data-{end}")) for end in ("low", "high"))
        assert bounds[0] <= low < high <= bounds[1], title
    findings = ct.reports.findings(store, "pub", "glee", draws=100)
    row = findings.tables["outcomes"].frame.row(0, named=True)
    assert (row["self_gain_bob_low"], row["self_gain_alice_high"]) == (-1, 1)


def test_payoffs_have_the_unit_of_their_role(games: Path, store: Store, tmp_path: Path) -> None:
    write(games, "PITCHED", persuasion(), PITCHES, PITCHED)
    page = imported_page(games, store, tmp_path)
    ct.export(store, "pub", tmp_path / "out")
    codebook = {row["column"]: row["range"] for row in rows_of(tmp_path / "out" / "codebook.csv")}
    assert (codebook["payoff_alice"], codebook["payoff_bob"]) == ("sales", "dollars")
    shown = {cell.text for cell in page.tables["persuasion-players"][0]}
    assert {"Payoff Alice?sales", "Payoff Bob?dollars"} <= shown
