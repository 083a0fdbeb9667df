"""The command that runs the conformance kit on a game."""

import json
from pathlib import Path

import pytest

from cheaptalk.conformance import BOX_CHECKS, CHECKS
from tests.conftest import Command

LAWS = [check.__name__ for check in (*CHECKS, *BOX_CHECKS)]
IN = "in 7 variants with 1 seed and 2 strategies"


def test_check_goes_through_every_law(cheaptalk: Command) -> None:
    done = cheaptalk("check", "tests.toys:BOX", "--seeds", "1")
    lines = done.out.splitlines()
    told, advice = lines[: len(LAWS)], lines[len(LAWS) : -1]
    assert done.status == 0
    assert [line.split()[:2] for line in told] == [["kept", f"{law}:"] for law in LAWS]
    assert advice[0].startswith("advice  Guessing has no payoff_unit: reports and exported tables")
    kept = f"{len(LAWS)} of {len(LAWS)} laws kept"
    assert lines[-1] == f"guessing: {kept}, {IN}"


def test_a_broken_law_is_told_and_is_the_exit_status(cheaptalk: Command) -> None:
    done = cheaptalk("check", "tests.broken.whole:HASHING", "--seeds", "1")
    assert done.status == 1
    assert "broken  check_processes: two processes play one match in two ways: [" in done.out
    assert f"guessing: {len(LAWS) - 1} of {len(LAWS)} laws kept" in done.out


def test_one_cause_is_told_once_with_all_that_met_it(cheaptalk: Command) -> None:
    done = cheaptalk("check", "tests.broken.whole:DIVIDING", "--seeds", "1")
    lines = done.out.splitlines()
    assert done.status == 1
    assert [line.split()[:2] for line in lines[:1]] == [["broken", "check_seats,"]]
    assert lines[1].startswith(f"        the same in {len(LAWS) - 1} more checks: check_words, ")
    assert lines[-1:] == [f"guessing: 0 of {len(LAWS)} laws kept, {IN}"]


def test_what_was_not_checked_is_told(cheaptalk: Command) -> None:
    done = cheaptalk("check", "tests.broken.whole:SPINNING", "--seeds", "1", "--limit", "0.2")
    assert done.status == 1
    assert f"0 of {len(LAWS)} laws kept and {len(LAWS) - 1} not checked, {IN}" in done.out


def test_check_prints_json(cheaptalk: Command) -> None:
    done = cheaptalk("check", "tests.broken.whole:HASHING", "--seeds", "1", "--json")
    verdicts = json.loads(done.out)
    assert done.status == 1
    assert [one["check"] for one in verdicts] == LAWS
    assert [one["check"] for one in verdicts if one["problem"]] == ["check_processes"]


def test_a_folder_around_a_package_is_told(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "around").mkdir()
    done = cheaptalk("check", "around:BOX")
    assert done.status == 2
    assert "around holds no box called BOX; go into the folder around" in done.said


def test_a_syntax_error_is_told_where_it_stands(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "unwritten.py").write_text("import cheaptalk\n\nclass Game\n")
    done = cheaptalk("check", "unwritten:BOX")
    assert done.status == 2
    assert "SyntaxError in unwritten.py:3: expected ':'" in done.said


@pytest.mark.parametrize(
    ("where", "saying"),
    [
        ("bargainin", 'unknown game "bargainin" (did you mean "bargaining"?)'),
        ("mine", "not installed is named by its module, as in mine:BOX"),
        ("no_such_module:BOX", "no_such_module cannot be imported: ModuleNotFoundError"),
        ("tests.toys:HITS", "tests.toys holds no box called HITS; write MODULE:NAME"),
    ],
)
def test_what_is_no_game_is_refused(where: str, saying: str, cheaptalk: Command) -> None:
    done = cheaptalk("check", where)
    assert (done.status, saying in done.said) == (2, True)
