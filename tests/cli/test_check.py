"""The command that runs the conformance kit on a game."""

import json

import pytest

from cheaptalk.conformance import BOX_CHECKS, CHECKS
from tests.conftest import Command

LAWS = [check.__name__ for check in (*CHECKS, *BOX_CHECKS)]


def test_check_goes_through_every_law(cheaptalk: Command) -> None:
    done = cheaptalk("check", "tests.toys:BOX", "--seeds", "1")
    lines = done.out.splitlines()
    assert (done.status, len(lines)) == (0, len(LAWS) + 1)
    assert [line.split()[:2] for line in lines[:-1]] == [["kept", f"{law}:"] for law in LAWS]
    kept = f"{len(LAWS)} of {len(LAWS)} laws kept"
    assert lines[-1] == f"guessing: {kept}, in 7 variants with 1 seed and 2 strategies"


def test_a_broken_law_is_told_and_is_the_exit_status(cheaptalk: Command) -> None:
    done = cheaptalk("check", "tests.broken.whole:HASHING", "--seeds", "1")
    assert done.status == 1
    assert "broken  check_processes: two processes play one match in two ways: [" in done.out
    assert f"guessing: {len(LAWS) - 1} of {len(LAWS)} laws kept" in done.out


def test_check_prints_json(cheaptalk: Command) -> None:
    done = cheaptalk("check", "tests.broken.whole:HASHING", "--seeds", "1", "--json")
    verdicts = json.loads(done.out)
    assert done.status == 1
    assert [one["check"] for one in verdicts] == LAWS
    assert [one["check"] for one in verdicts if one["problem"]] == ["check_processes"]


@pytest.mark.parametrize(
    ("where", "saying"),
    [
        ("bargainin", 'unknown game "bargainin" (did you mean "bargaining"?)'),
        ("no_such_module:BOX", "no_such_module cannot be imported: ModuleNotFoundError"),
        ("tests.toys:HITS", "tests.toys holds no box called HITS; write MODULE:NAME"),
    ],
)
def test_what_is_no_game_is_refused(where: str, saying: str, cheaptalk: Command) -> None:
    done = cheaptalk("check", where)
    assert (done.status, saying in done.said) == (2, True)
