"""The chip recipe's tables of people: what they learn, what they answer, and whether it shows."""

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, TypeAlias

import pytest
from scipy import stats

import cheaptalk as ct
from cheaptalk.games.chip_trading import SPEC
from cheaptalk.records import MatchRecord
from tests.conftest import Command
from tests.papers.chip_games import made, play, records
from tests.reports.marks import across, boxes, named

Row: TypeAlias = tuple[Any, ...]
Written: TypeAlias = Callable[..., Path]
HEAD = ("participant", "match_id", "seat", "satisfaction", "strategy", "theme.own_profit")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play(tmp_path_factory.mktemp("people"))


def in_order(path: Path, colours: int) -> list[MatchRecord]:
    """Games of one population in the order in which they ended."""
    found = records(path, colours, *["zero"] * 3)
    return sorted(found, key=lambda one: (one.finished, one.id))


def answers(path: Path) -> list[Row]:
    """Three people play two games of two colours, three others two games of three, and so on."""
    found: list[Row] = []
    for colours in (2, 3):
        games = in_order(path, colours)
        for group in range(4):
            for seat in (1, 2, 3):
                number = 4 * colours + 3 * group + seat
                told = (1 + number % 10, f"I kept, {number} greens", "yes" if number % 2 else "no")
                # the later game first: the order is the store's, not the file's
                found += [
                    (f"{colours}-{group}-{seat}", game.id, f"player_{seat}", *told)
                    for game in (games[group + 4], games[group])
                ]
    return found


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes a survey."""

    def write(rows: Sequence[Row], head: Sequence[str] = HEAD) -> Path:
        path = tmp_path / "survey.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([head, *rows])
        return path

    return write


def surveyed(played: Path, path: Path, **options: Any) -> Any:
    return made(played, options={"survey": str(path)}, **options)


def ratio(record: MatchRecord) -> float:
    value = SPEC.metrics["surplus_ratio"].of(record.result())
    assert value is not None
    return value


def paid(record: MatchRecord, seat: int) -> float:
    assert record.payoffs is not None
    return record.payoffs[f"player_{seat}"]


def test_figure_11_compares_first_and_second_games_by_when_they_ended(
    played: Path, written: Written
) -> None:
    found = surveyed(played, written(answers(played)))
    row = found.tables["learning"].frame.row(0, named=True)
    games = in_order(played, 2)
    first, second = games[:4], games[4:]
    assert (row["variant"], row["people"]) == ("2 colours", 12)
    assert row["first_ratio"] == pytest.approx(fmean(map(ratio, first)))
    assert row["second_ratio"] == pytest.approx(fmean(map(ratio, second)))
    learnt = [ratio(two) - ratio(one) for one, two in zip(first, second, strict=True)]
    assert row["learnt_ratio"] == pytest.approx(fmean(learnt))
    assert row["learnt_ratio.clusters"] == 4
    assert row["learnt_ratio.error"] == pytest.approx(stdev(learnt) / 2)
    gains = [fmean(paid(one, seat) for seat in (1, 2, 3)) for one in first]
    assert row["first_gain"] == pytest.approx(fmean(gains))
    assert row["p"] >= 2 / 2**4
    drawn = named(found.charts["learning"].panels[0])
    assert [across(drawn[name])[0] for name in ("first game", "second game")] == [
        row["first_ratio"], row["second_ratio"],
    ]  # fmt: skip


def test_survey_table_1_has_means_with_standard_errors_and_a_rank_test(
    played: Path, written: Written
) -> None:
    rows = answers(played)
    found = surveyed(played, written(rows))
    row = found.tables["survey"].frame.row(0, named=True)
    told = {row[0]: row[3] for row in rows}
    by_game = [[told[who] for who in told if who.startswith(f"{colours}-")] for colours in (2, 3)]
    assert row["scale"] == "Satisfaction"
    assert row["2 colours"] == pytest.approx(fmean(by_game[0]))
    assert row["3 colours"] == pytest.approx(fmean(by_game[1]))
    assert row["2 colours.n"] == 12
    groups = [fmean(by_game[0][start : start + 3]) for start in (0, 3, 6, 9)]
    assert row["2 colours.error"] == pytest.approx(stdev(groups) / 2)
    assert row["p"] == pytest.approx(stats.kruskal(*by_game).pvalue)
    paper = found.tables["table-1"]
    assert paper.titles == ["Game variation", "Satisfaction"]
    assert paper.frame["variant"].to_list() == ["2-chip", "3-chip"]
    turned = paper.frame.row(1, named=True)
    assert (turned["satisfaction"], turned["satisfaction.error"]) == (
        row["3 colours"], row["3 colours.error"]
    )  # fmt: skip


def test_figure_9_counts_people_by_theme(played: Path, written: Written) -> None:
    rows = answers(played)
    found = surveyed(played, written(rows))
    frame = found.tables["themes"].frame
    yes = {row[0] for row in rows if row[5] == "yes"}
    assert frame["variant"].to_list() == ["all", "2 colours", "3 colours"]
    assert frame["people"].to_list() == [24, 12, 12]
    assert frame["theme.own_profit people"].to_list() == [
        len(yes), *(sum(who.startswith(start) for who in yes) for start in ("2-", "3-")),
    ]  # fmt: skip
    assert frame["theme.own_profit"][0] == pytest.approx(len(yes) / 24)
    chart = found.charts["themes"].panels[0]
    assert chart.y.names == ("Own profit",)
    assert [game_spec.x for game_spec in boxes(chart)] == [(0, len(yes))]


def test_answers_are_held_against_what_people_were_paid_over_the_bound(
    played: Path, written: Written
) -> None:
    rows = answers(played)
    found = surveyed(played, written(rows))
    by_id = {one.id: one for colours in (2, 3) for one in in_order(played, colours)}
    bound = SPEC.metrics["bound"].of
    shares: dict[str, list[float]] = {}
    for who, match, place, *_ in rows:
        most = bound(by_id[match].result())
        assert most
        shares.setdefault(who, []).append(paid(by_id[match], int(place[-1])) / most)
    success = [fmean(own) for own in shares.values()]
    told = {row[0]: row[3:] for row in rows}
    frame = found.tables["answers-and-success"].frame
    scale, theme = frame.rows(named=True)
    assert (scale["answer"], scale["method"]) == ("Satisfaction", "Spearman")
    expected = stats.spearmanr([told[who][0] for who in shares], success).statistic
    assert scale["correlation"] == pytest.approx(expected)
    yes = [float(told[who][2] == "yes") for who in shares]
    assert theme["correlation"] == pytest.approx(stats.pearsonr(yes, success).statistic)
    assert theme["correlation.low"] < theme["correlation"] < theme["correlation.high"]
    assert theme["correlation.n"] == 24


def test_answers_that_do_not_vary_have_no_test_and_no_correlation(
    played: Path, written: Written
) -> None:
    rows = [(*row[:3], 5, row[4], "no") for row in answers(played)]
    found = surveyed(played, written(rows))
    assert found.tables["survey"].frame["p"].to_list() == [None]
    assert '"satisfaction" is 5.0 in every row' in found.lacking["Survey answers and performance"]
    some = [(*row[:5], "no") for row in answers(played)]
    partly = surveyed(played, written(some)).tables["answers-and-success"]
    assert partly.frame["answer"].to_list() == ["Satisfaction"]
    assert any("Own profit" in note for note in partly.notes)


def test_a_survey_with_order_alone_shows_learning_alone(played: Path, written: Written) -> None:
    rows = [row[:3] for row in answers(played)]
    found = surveyed(played, written(rows, HEAD[:3]))
    assert "learning" in found.tables
    assert "no scale: no column contains only numbers" in found.lacking["Survey"]
    assert "has no coded themes; code free-text answers with a judge" in found.lacking["Themes"]
    assert "no scales or themes" in found.lacking["Survey answers and performance"]
    once = [row[:3] for row in answers(played)[::2]]
    assert (
        "no participant of the survey has finished two games"
        in (surveyed(played, written(once, HEAD[:3])).lacking["Learning between games"])
    )


def test_one_person_and_missing_answers_make_no_trouble(played: Path, written: Written) -> None:
    rows = answers(played)[:2]
    found = surveyed(played, written(rows))
    assert found.tables["learning"].frame["p"].to_list() == [1.0]
    assert found.tables["survey"].frame["2 colours.error"].to_list() == [None]
    gaps = [(*row[:3], "" if number < 2 else row[3], row[4], "")
            for number, row in enumerate(answers(played))]  # fmt: skip
    frame = surveyed(played, written(gaps)).tables["survey"].frame
    assert frame["2 colours.n"].to_list() == [11]


@pytest.mark.parametrize(
    ("change", "saying"),
    [
        ({1: "nowhere"}, r'line 2: "nowhere" is not a finished game of chip_trading'),
        ({2: "player_4"}, r'line 2: match \w+ has no seat "player_4"; expected player_1 to'),
        ({0: " "}, r"line 2: the participant is missing"),
        ({5: "perhaps"}, r'theme.own_profit contains "perhaps"; expected 1, true, yes, 0'),
    ],
)
def test_a_survey_that_does_not_fit_the_study_is_one_sentence(
    played: Path, written: Written, change: dict[int, str], saying: str
) -> None:
    first, *rest = answers(played)
    wrong = tuple(change.get(place, value) for place, value in enumerate(first))
    with pytest.raises(ct.CheaptalkError, match=saying):
        surveyed(played, written([wrong, *rest]))


def test_two_people_in_one_seat_are_refused(played: Path, written: Written) -> None:
    first, *rest = answers(played)
    repeated = r"more than one row has match_id \w+ and seat player_1"
    with pytest.raises(ct.CheaptalkError, match=repeated):
        surveyed(played, written([first, ("other", *first[1:]), *rest]))
    moved = (first[0], first[1], "player_2", *first[3:])
    with pytest.raises(ct.CheaptalkError, match=r"more than one row has"):
        surveyed(played, written([first, moved]))


def test_a_file_that_is_no_survey_is_named(played: Path, written: Written, tmp_path: Path) -> None:
    with pytest.raises(ct.CheaptalkError, match=r"cannot read .*gone.csv"):
        surveyed(played, tmp_path / "gone.csv")
    with pytest.raises(ct.CheaptalkError, match=r"has no column participant, seat"):
        surveyed(played, written([("x", "y")], ("match_id", "who")))
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ct.CheaptalkError, match=r"is not a valid CSV file"):
        surveyed(played, tmp_path / "empty.csv")


def test_the_command_takes_a_survey_and_refuses_what_is_no_option(
    cheaptalk: Command, played: Path, written: Written, tmp_path: Path
) -> None:
    path = written(answers(played))
    asked = ["report", "chips", "--store", str(played), "--recipe", "chips", "--json"]
    done = cheaptalk(*asked, "--recipe-option", f"survey={path}", "--draws", "100")
    assert done.status == 0, done.err
    assert json.loads(done.out)["lacking"] == {}
    for wrong, saying in (("survey", "expected NAME=VALUE"), ("colour=red", 'no option "colour"')):
        done = cheaptalk(*asked, "--recipe-option", wrong)
        assert done.status != 0
        assert saying in done.err
    done = cheaptalk(*asked[:4], "--recipe-option", "match=x")
    assert (done.status, "requires --recipe" in done.err) == (2, True)
