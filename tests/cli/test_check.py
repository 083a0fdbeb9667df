"""The command that runs the conformance kit on a game."""

import json
from pathlib import Path

import pytest

from cheaptalk.conformance import CHECKS, SPEC_CHECKS
from tests.conftest import Command

LAWS = [check.__name__ for check in (*CHECKS, *SPEC_CHECKS)]
IN = "(7 variants, 1 seed, 2 strategies)"


def test_check_goes_through_every_law(cheaptalk: Command) -> None:
    done = cheaptalk("game", "check", "tests.toys:SPEC", "--seeds", "1")
    lines = done.out.splitlines()
    told, advice = lines[: len(LAWS)], lines[len(LAWS) : -1]
    assert done.status == 0
    assert [line.split()[:2] for line in told] == [["passed", f"{law}:"] for law in LAWS]
    assert advice[0].startswith("advice  Guessing has no payoff_unit; reports and exported tables")
    kept = f"{len(LAWS)} of {len(LAWS)} checks passed"
    assert lines[-1] == f"guessing: {kept} {IN}"


def test_a_broken_law_is_told_and_is_the_exit_status(cheaptalk: Command) -> None:
    done = cheaptalk("game", "check", "tests.broken.whole:HASHING", "--seeds", "1")
    assert done.status == 1
    assert "failed  check_processes: two processes play the same match differently: [" in done.out
    assert f"guessing: {len(LAWS) - 1} of {len(LAWS)} checks passed" in done.out


def test_one_cause_is_told_once_with_all_that_met_it(cheaptalk: Command) -> None:
    done = cheaptalk("game", "check", "tests.broken.whole:DIVIDING", "--seeds", "1")
    lines = done.out.splitlines()
    assert done.status == 1
    assert [line.split()[:2] for line in lines[:1]] == [["failed", "check_seats,"]]
    more = f"{len(LAWS) - 1} more checks failed for the same reason"
    assert lines[1].startswith(f"        {more}: check_words, ")
    assert lines[-1:] == [f"guessing: 0 of {len(LAWS)} checks passed {IN}"]


def test_what_was_not_checked_is_told(cheaptalk: Command) -> None:
    done = cheaptalk(
        "game", "check", "tests.broken.whole:SPINNING", "--seeds", "1", "--timeout", "0.2"
    )
    assert done.status == 1
    assert f"0 of {len(LAWS)} checks passed, {len(LAWS) - 1} not run {IN}" in done.out


def test_check_prints_json(cheaptalk: Command) -> None:
    done = cheaptalk("game", "check", "tests.broken.whole:HASHING", "--seeds", "1", "--json")
    verdicts = json.loads(done.out)
    assert done.status == 1
    assert [one["check"] for one in verdicts] == LAWS
    assert [one["check"] for one in verdicts if one["problem"]] == ["check_processes"]


def test_a_folder_around_a_package_is_told(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "around").mkdir()
    done = cheaptalk("game", "check", "around:SPEC")
    assert done.status == 2
    assert "around has no game spec SPEC; run this in the folder around" in done.said


def test_a_syntax_error_is_told_where_it_stands(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "unwritten.py").write_text("import cheaptalk\n\nclass Game\n")
    done = cheaptalk("game", "check", "unwritten:SPEC")
    assert done.status == 2
    assert "SyntaxError in unwritten.py:3: expected ':'" in done.said


@pytest.mark.parametrize(
    ("where", "saying"),
    [
        ("bargainin", 'unknown game "bargainin" (did you mean "bargaining"?)'),
        ("mine", "not installed, name its module, as in mine:SPEC"),
        ("no_such_module:SPEC", "no_such_module cannot be imported: ModuleNotFoundError"),
        ("tests.toys:HITS", "tests.toys has no game spec HITS; write MODULE:NAME"),
    ],
)
def test_what_is_no_game_is_refused(where: str, saying: str, cheaptalk: Command) -> None:
    done = cheaptalk("game", "check", where)
    assert (done.status, saying in done.said) == (2, True)
