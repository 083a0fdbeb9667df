"""The chip recipe's participant tables: learning, answers and their correlation with payoffs."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, TypeAlias

import pytest
from scipy import stats

import cheaptalk as ct
from cheaptalk.games.chip_trading import SPEC
from cheaptalk.records import MatchRecord
from cheaptalk.reports.recipes.findings import Findings
from tests.conftest import Command
from tests.papers.chip_games import games_by_end, ratio
from tests.papers.studies import report, row_of, rows_of
from tests.reports.marks import across, boxes, named

Row: TypeAlias = tuple[Any, ...]
LEARNING, PERFORMANCE = "Learning between games", "Survey answers and performance"
PARTS = (LEARNING, "Survey", "Themes", PERFORMANCE)
HEAD = ("participant", "match_id", "seat", "satisfaction", "strategy", "theme.own_profit")


def answers(path: Path) -> list[Row]:
    """Return survey rows: four groups of three play two games with each number of colours."""
    rows: list[Row] = []
    for colours in (2, 3):
        games = games_by_end(path, colours)
        for group in range(4):
            for seat in (1, 2, 3):
                number = 4 * colours + 3 * group + seat
                reply = (1 + number % 10, f"I kept, {number} greens", "yes" if number % 2 else "no")
                # the later game comes first: the recipe uses the store's order, not the file's
                rows += [
                    (f"{colours}-{group}-{seat}", game.id, f"player_{seat}", *reply)
                    for game in (games[group + 4], games[group])
                ]
    return rows


def write(folder: Path, rows: Sequence[Row], header: Sequence[str] = HEAD) -> Path:
    """Write a survey file."""
    path = folder / "survey.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def with_survey(chips_path: Path, path: Path, *parts: str) -> Findings:
    return report(chips_path, "chips", *(parts or PARTS), options={"survey": str(path)})


@pytest.fixture(scope="module")
def rows(chips_path: Path) -> list[Row]:
    return answers(chips_path)


@pytest.fixture(scope="module")
def results(
    chips_path: Path, rows: list[Row], tmp_path_factory: pytest.TempPathFactory
) -> Findings:
    """The findings with the survey of :func:`answers`."""
    return with_survey(chips_path, write(tmp_path_factory.mktemp("survey"), rows))


def payoff(record: MatchRecord, seat: int) -> float:
    assert record.payoffs is not None
    return record.payoffs[f"player_{seat}"]


def test_figure_11_compares_games_by_end_time(chips_path: Path, results: Findings) -> None:
    row, _ = rows_of(results, "learning")
    games = games_by_end(chips_path, 2)
    first, second = games[:4], games[4:]
    assert (row["variant"], row["people"]) == ("2 colours", 12)
    assert row["first_ratio"] == pytest.approx(fmean(map(ratio, first)))
    assert row["second_ratio"] == pytest.approx(fmean(map(ratio, second)))
    learnt = [ratio(later) - ratio(earlier) for earlier, later in zip(first, second, strict=True)]
    assert row["learnt_ratio"] == pytest.approx(fmean(learnt))
    assert row["learnt_ratio_clusters"] == 4
    assert row["learnt_ratio_error"] == pytest.approx(stdev(learnt) / 2)
    gains = [fmean(payoff(record, seat) for seat in (1, 2, 3)) for record in first]
    assert row["first_gain"] == pytest.approx(fmean(gains))
    assert row["p"] >= 2 / 2**4
    drawn = named(results.charts["learning"].panels[0])
    assert [across(drawn[name])[0] for name in ("first game", "second game")] == [
        row["first_ratio"],
        row["second_ratio"],
    ]


def test_table_1_has_means_errors_and_test(results: Findings, rows: list[Row]) -> None:
    row = row_of(results, "survey")
    scale = {row[0]: row[3] for row in rows}
    by_game = [[scale[who] for who in scale if who.startswith(f"{colours}-")] for colours in (2, 3)]
    assert row["scale"] == "Satisfaction"
    assert row["2 colours"] == pytest.approx(fmean(by_game[0]))
    assert row["3 colours"] == pytest.approx(fmean(by_game[1]))
    assert row["2 colours_n"] == 12
    groups = [fmean(by_game[0][start : start + 3]) for start in (0, 3, 6, 9)]
    assert row["2 colours_error"] == pytest.approx(stdev(groups) / 2)
    assert row["p"] == pytest.approx(stats.kruskal(*by_game).pvalue)
    paper = results.tables["table-1"]
    assert paper.titles == ["Game variation", "Satisfaction"]
    assert paper.frame["variant"].to_list() == ["2-chip", "3-chip"]
    turned = paper.frame.row(1, named=True)
    assert (turned["satisfaction"], turned["satisfaction_error"]) == (
        row["3 colours"],
        row["3 colours_error"],
    )


def test_figure_9_counts_participants_by_theme(results: Findings, rows: list[Row]) -> None:
    frame = results.tables["themes"].frame
    yes = {row[0] for row in rows if row[5] == "yes"}
    assert frame["variant"].to_list() == ["all", "2 colours", "3 colours"]
    assert frame["people"].to_list() == [24, 12, 12]
    assert frame["theme.own_profit people"].to_list() == [
        len(yes),
        *(sum(who.startswith(start) for who in yes) for start in ("2-", "3-")),
    ]
    assert frame["theme.own_profit"][0] == pytest.approx(len(yes) / 24)
    chart = results.charts["themes"].panels[0]
    assert chart.y.names == ("Own profit",)
    assert [bar.x for bar in boxes(chart)] == [(0, len(yes))]


def test_answers_correlate_with_share_of_bound(
    chips_path: Path, results: Findings, rows: list[Row]
) -> None:
    by_id = {game.id: game for colours in (2, 3) for game in games_by_end(chips_path, colours)}
    bound = SPEC.metrics["bound"].of
    shares: dict[str, list[float]] = {}
    for who, match, place, *_ in rows:
        most = bound(by_id[match].result())
        assert most
        shares.setdefault(who, []).append(payoff(by_id[match], int(place[-1])) / most)
    success = [fmean(values) for values in shares.values()]
    responses = {row[0]: row[3:] for row in rows}
    frame = results.tables["answers-and-success"].frame
    scale, theme = frame.rows(named=True)
    assert (scale["answer"], scale["method"]) == ("Satisfaction", "Spearman")
    expected = stats.spearmanr([responses[who][0] for who in shares], success).statistic
    assert scale["correlation"] == pytest.approx(expected)
    yes = [float(responses[who][2] == "yes") for who in shares]
    assert theme["correlation"] == pytest.approx(stats.pearsonr(yes, success).statistic)
    assert theme["correlation_low"] < theme["correlation"] < theme["correlation_high"]
    assert theme["correlation_n"] == 24


def test_constant_answers_have_no_statistics(chips_path: Path, tmp_path: Path) -> None:
    rows = [(*row[:3], 5, row[4], "no") for row in answers(chips_path)]
    results = with_survey(chips_path, write(tmp_path, rows), "Survey", PERFORMANCE)
    assert results.tables["survey"].frame["p"].to_list() == [None]
    assert '"satisfaction" is 5.0 in every row' in results.lacking[PERFORMANCE]
    same_theme = [(*row[:5], "no") for row in answers(chips_path)]
    shown = with_survey(chips_path, write(tmp_path, same_theme), PERFORMANCE)
    partly = shown.tables["answers-and-success"]
    assert partly.frame["answer"].to_list() == ["Satisfaction"]
    assert any("Own profit" in note for note in partly.notes)


def test_survey_without_answers_shows_only_learning(chips_path: Path, tmp_path: Path) -> None:
    rows = [row[:3] for row in answers(chips_path)]
    results = with_survey(chips_path, write(tmp_path, rows, HEAD[:3]))
    assert "learning" in results.tables
    assert "no scale: no column contains only numbers" in results.lacking["Survey"]
    assert "has no coded themes; code free-text answers with a judge" in results.lacking["Themes"]
    assert "no scales or themes" in results.lacking[PERFORMANCE]
    once = [row[:3] for row in answers(chips_path)[::2]]
    lacking = with_survey(chips_path, write(tmp_path, once, HEAD[:3]), LEARNING).lacking[LEARNING]
    assert "no participant of the survey has finished two games" in lacking


def test_one_participant_and_gaps_are_handled(chips_path: Path, tmp_path: Path) -> None:
    rows = answers(chips_path)[:2]
    results = with_survey(chips_path, write(tmp_path, rows))
    assert results.tables["learning"].frame["p"].to_list() == [1.0]
    assert results.tables["survey"].frame["2 colours_error"].to_list() == [None]
    gaps = [
        (*row[:3], "" if number < 2 else row[3], row[4], "")
        for number, row in enumerate(answers(chips_path))
    ]
    frame = with_survey(chips_path, write(tmp_path, gaps), "Survey").tables["survey"].frame
    assert frame["2 colours_n"].to_list() == [11]


def test_inconsistent_survey_raises_error(chips_path: Path, tmp_path: Path) -> None:
    first, *rest = answers(chips_path)
    for change, message in (
        ({1: "nowhere"}, r'line 2: "nowhere" is not a finished game of chip_trading'),
        ({2: "player_4"}, r'line 2: match \w+ has no seat "player_4"; expected player_1 to'),
        ({0: " "}, r"line 2: the participant is missing"),
        ({5: "perhaps"}, r'theme.own_profit contains "perhaps"; expected 1, true, yes, 0'),
    ):
        wrong = tuple(change.get(place, value) for place, value in enumerate(first))
        with pytest.raises(ct.CheaptalkError, match=message):
            with_survey(chips_path, write(tmp_path, [wrong, *rest]), "Survey")
    for again, message in (
        (("other", *first[1:]), r"more than one row has match_id \w+ and seat player_1"),
        ((*first[:2], "player_2", *first[3:]), r"more than one row has participant"),
    ):
        with pytest.raises(ct.CheaptalkError, match=message):
            with_survey(chips_path, write(tmp_path, [first, again]), "Survey")


def test_invalid_csv_raises_error(chips_path: Path, tmp_path: Path) -> None:
    with pytest.raises(ct.CheaptalkError, match=r"cannot read .*gone.csv"):
        with_survey(chips_path, tmp_path / "gone.csv", "Survey")
    with pytest.raises(ct.CheaptalkError, match=r"has no column participant, seat"):
        with_survey(chips_path, write(tmp_path, [("x", "y")], ("match_id", "who")), "Survey")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ct.CheaptalkError, match=r"is not a valid CSV file"):
        with_survey(chips_path, tmp_path / "empty.csv", "Survey")


def test_command_accepts_survey_and_rejects_unknown_options(
    cheaptalk: Command, chips_path: Path, tmp_path: Path
) -> None:
    path = write(tmp_path, answers(chips_path))
    command = ["report", "chips", "--store", str(chips_path), "--recipe", "chips", "--json"]
    done = cheaptalk(*command, "--recipe-option", f"survey={path}", "--draws", "100")
    assert done.status == 0
    assert json.loads(done.out)["lacking"].keys() == {"Participants"}
    for wrong, message in (("survey", "expected NAME=VALUE"), ("colour=red", 'no option "colour"')):
        done = cheaptalk(*command, "--recipe-option", wrong)
        assert done.status != 0
        assert message in done.err
    done = cheaptalk(*command[:4], "--recipe-option", "match=x")
    assert (done.status, "requires --recipe" in done.err) == (2, True)
