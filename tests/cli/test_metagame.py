"""Equilibria on the command line, of a study and of a payoff file."""

import re
from pathlib import Path

import numpy as np
import pytest

import cheaptalk as ct
from tests.cli import CASES
from tests.conftest import Command

BASELINES = """,soft,tough,walk
soft,303,49.995,303.5
tough,574.693,291.481,303.5
walk,303.5,303.5,303.5
"""
HEURISTICS = "item-bargaining-heuristics"


@pytest.fixture
def payoffs(tmp_path: Path) -> Path:
    """Return a file with the heuristics' expected payoffs, computed by formula."""
    file = tmp_path / "baselines.csv"
    file.write_text(BASELINES, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store in which the heuristics have played five instances."""
    study = ct.preset(HEURISTICS)
    assert study is not None
    path = tmp_path_factory.mktemp("metagame") / "study.sqlite"
    with ct.Store.open(path, create=True) as opened:
        ct.run(study.model_copy(update={"instances": 5}), opened)
    return path


def test_payoff_file_is_solved(cheaptalk: Command, payoffs: Path) -> None:
    done = cheaptalk("metagame", str(payoffs))
    assert (done.status, done.said) == (0, "")
    lines = done.out.splitlines()
    assert lines[:3] == [
        "baselines: 3 strategies",
        "1 symmetric equilibrium, and no others",
        "  walk 1.000: payoff 303.50, regret 0",
    ]
    assert lines[4].split()[:4] == ["walk", "1.000", "303.50", "0.00"]
    assert "No intervals: the payoffs were given without matches." in lines


def test_small_payoffs_are_not_rounded_to_zero(cheaptalk: Command, tmp_path: Path) -> None:
    file = tmp_path / "tiny.csv"
    file.write_text(",a,b\na,1e-12,3e-12\nb,2e-12,0\n", encoding="utf-8")
    lines = cheaptalk("metagame", str(file), "--out", str(tmp_path / "t.html")).out.splitlines()
    assert "  a 0.750, b 0.250: payoff 1.500e-12, regret 0" in lines
    assert lines[4].split() == ["a", "0.750", "1.500e-12", "0", "50.0%"]
    assert "1.500e-12" in (tmp_path / "t.html").read_text(encoding="utf-8")


def test_search_limit_is_reported(cheaptalk: Command, tmp_path: Path) -> None:
    game = np.random.default_rng(4).random((20, 20))
    names = tuple("abcdefghijklmnopqrst")
    table = ct.equilibrium.PayoffTable(names, names, game, game.T)
    ct.equilibrium.write_payoffs(table, tmp_path / "many.csv")
    done = cheaptalk("metagame", str(tmp_path / "many.csv"), "--max-supports", "1000")
    assert "and perhaps others" in done.out
    assert "  The search stopped at its limit: an unlisted equilibrium has an entropy" in (done.out)
    unlimited = cheaptalk("metagame", str(tmp_path / "many.csv"), "--max-supports", "0")
    assert "and no others" in unlimited.out


def test_study_is_solved_with_intervals(cheaptalk: Command, store: Path, tmp_path: Path) -> None:
    page, file = tmp_path / "page.html", tmp_path / "bg5.nfg"
    arguments = ["metagame", HEURISTICS, "--store", str(store), "--draws", "40"]
    files = ["--out", str(page), "--save-payoffs", str(file)]
    done = cheaptalk(*arguments, "--seed", "3", "--game", "BG5", *files)
    assert done.status == 0
    assert done.out.startswith("BG5: 5 strategies, 125 matches\n")
    assert re.search(r"\d \(\d+\.\d+ to \d+\.\d+\)", done.out)
    assert (
        "40 bootstrap draws of at least 5 instances per cell (the same instances in all cells"
        in done.out
    )
    assert f"Page written to {page}" in done.out
    assert "40 draws with the seed 3" in page.read_text(encoding="utf-8")
    table = ct.equilibrium.read_payoffs(file)
    result = cheaptalk(*arguments, "--seed", "3", "--game", "BG5", "--json")
    (game,) = result.json
    assert [row[0]["estimate"] for row in game["payoffs"]] == pytest.approx(table.a[:, 0].tolist())
    again = cheaptalk(*arguments, "--seed", "3", "--game", "BG5", "--json")
    assert result.out == again.out
    other = cheaptalk(*arguments, "--seed", "4", "--game", "BG5", "--json")
    assert result.out != other.out


def test_strategies_can_be_excluded(cheaptalk: Command, store: Path) -> None:
    arguments = ["metagame", HEURISTICS, "--store", str(store), "--draws", "0", "--json"]
    done = cheaptalk(*arguments, "--exclude", "aspire", "--exclude", "random")
    games = done.json
    assert [game["game"] for game in games] == ["BG4", "BG5", "BG6", "BGS0"]
    assert {tuple(game["strategies"]) for game in games} == {("soft", "tough", "walk")}


def test_invalid_study_options_print_errors(cheaptalk: Command, store: Path) -> None:
    for arguments, message in CASES["invalid_study_options_print_errors"]:
        done = cheaptalk("metagame", HEURISTICS, "--store", str(store), "--draws", "0", *arguments)
        assert done.status == 2
        assert message in " ".join(done.said.split())


def test_invalid_payoff_file_prints_error(cheaptalk: Command, payoffs: Path) -> None:
    one_game = cheaptalk("metagame", str(payoffs), "--game", "BG4")
    assert "a payoff file, which contains one game" in one_game.rejection
    payoffs.write_text(BASELINES.replace("303,", ",", 1), encoding="utf-8")
    empty = cheaptalk("metagame", str(payoffs))
    assert "the cell is empty" in empty.rejection


def test_long_lists_of_equilibria_are_truncated(cheaptalk: Command, tmp_path: Path) -> None:
    file = tmp_path / "identity.csv"
    file.write_text(",a,b,c\na,1,0,0\nb,0,1,0\nc,0,0,1\n", encoding="utf-8")
    done = cheaptalk("metagame", str(file))
    assert "7 symmetric equilibria, and no others" in done.out
    assert "  a 0.333, b 0.333, c 0.333: payoff 0.33" in done.out
    assert "  and 2 more" in done.out


def test_continuum_of_equilibria_is_labelled(cheaptalk: Command, tmp_path: Path) -> None:
    file = tmp_path / "same.csv"
    file.write_text(",a,b\na,1,1\nb,1,1\n", encoding="utf-8")
    done = cheaptalk("metagame", str(file))
    assert "1 continuum of symmetric equilibria, and no others" in done.out
    assert "  a 0.500, b 0.500: payoff 1.000, regret 0, of a continuum" in done.out
    assert "  Every payoff is 1.000: no deviation gains anything.\n" in done.out
    assert "several strategies do equally well against a, b.\n" in done.out


def test_study_options_are_rejected_for_payoff_files(cheaptalk: Command, payoffs: Path) -> None:
    for option in CASES["study_options_are_rejected_for_payoff_files"]:
        done = cheaptalk("metagame", str(payoffs), option)
        assert (done.status, done.out) == (2, "")
        assert "a payoff file, which contains one game and no matches" in done.said


def test_payoff_file_is_never_overwritten(cheaptalk: Command, payoffs: Path) -> None:
    for option in ("--save-payoffs", "--out"):
        done = cheaptalk("metagame", str(payoffs), option, str(payoffs))
        assert (done.status, done.out) == (2, "")
        assert "is the input file" in done.said
    assert payoffs.read_text(encoding="utf-8") == BASELINES


def test_unknown_file_extension_is_rejected(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text(BASELINES, encoding="utf-8")
    done = cheaptalk("metagame file.txt")
    assert "file.txt is not a payoff file" in done.rejection


def test_analysis_prints_the_same_in_python(cheaptalk: Command, payoffs: Path) -> None:
    table = ct.equilibrium.read_payoffs(payoffs)
    symmetric = ct.equilibrium.analyse_payoffs("baselines", table)
    assert cheaptalk("metagame", str(payoffs)).out == f"{symmetric}\n\n"
    assert repr(symmetric) == "<Analysis of baselines: 1 symmetric equilibrium, and no others>"
    assert "{walk: 1.0000}" in str(symmetric.solution)
    bimatrix = ct.equilibrium.analyse_bimatrix("baselines", table)
    assert cheaptalk("metagame", str(payoffs), "--two-populations").out == f"{bimatrix}\n\n"
    assert repr(bimatrix).startswith("<SeatsAnalysis of baselines: 1 continuum of equilibria")


def test_rounding_causes_no_regret_and_numeric_names_are_quoted(
    cheaptalk: Command, tmp_path: Path
) -> None:
    file = tmp_path / "game.nfg"
    file.write_text('NFG 1 R "t" { "A" "B" } { 2 2 }\n.1 .3 .3 .1 .7 .2 .2 .9\n', encoding="utf-8")
    done = cheaptalk("metagame", str(file))
    assert '  A "1" 0.889, "2" 0.111; B "1" 0.714, "2" 0.286: payoffs ' in done.out
    assert "regrets 0 and 0" in done.out
    file.write_text('NFG 1 R "t" { "A" "B" } { 2 2 }\n5e299 5e299 0 0 0 0 1e300 1e300\n')
    page = tmp_path / "page.html"
    huge = cheaptalk("metagame", str(file), "--out", str(page))
    assert ">5.00e+299<" in page.read_text(encoding="utf-8")
    assert '  "1" 0.667, "2" 0.333: payoff 3.333e+299, regret 0\n' in huge.out
