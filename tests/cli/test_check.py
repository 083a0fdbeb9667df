"""The command that runs the conformance checks on a game."""

from pathlib import Path

from cheaptalk.conformance import CHECKS, SPEC_CHECKS
from tests.conftest import Command

CHECK_NAMES = [check.__name__ for check in (*CHECKS, *SPEC_CHECKS)]
SCOPE = "(7 variants, 1 seed, 2 strategies)"


def test_check_runs_every_check(cheaptalk: Command) -> None:
    done = cheaptalk("game check tests.toys:SPEC --seeds 1")
    lines = done.out.splitlines()
    results, advice = lines[: len(CHECK_NAMES)], lines[len(CHECK_NAMES) : -1]
    assert done.status == 0
    assert [line.split()[:2] for line in results] == [
        ["passed", f"{name}:"] for name in CHECK_NAMES
    ]
    assert advice[0].startswith("advice  Guessing has no payoff_unit; reports and exported tables")
    summary = f"{len(CHECK_NAMES)} of {len(CHECK_NAMES)} checks passed"
    assert lines[-1] == f"guessing: {summary} {SCOPE}"


def test_checks_that_fail_for_one_reason_are_grouped(cheaptalk: Command) -> None:
    done = cheaptalk("game check tests.broken.whole:DIVIDING --seeds 1")
    lines = done.out.splitlines()
    assert done.status == 1
    assert [line.split()[:2] for line in lines[:1]] == [["failed", "check_seats,"]]
    more = f"{len(CHECK_NAMES) - 1} more checks failed for the same reason"
    assert lines[1].startswith(f"        {more}: check_words, ")
    assert lines[-1:] == [f"guessing: 0 of {len(CHECK_NAMES)} checks passed {SCOPE}"]


def test_checks_that_are_not_run_are_counted(cheaptalk: Command) -> None:
    done = cheaptalk("game check tests.broken.whole:SPINNING --seeds 1 --timeout 0.2")
    assert done.status == 1
    assert (
        f"0 of {len(CHECK_NAMES)} checks passed, {len(CHECK_NAMES) - 1} not run {SCOPE}" in done.out
    )


def test_check_prints_json(cheaptalk: Command) -> None:
    done = cheaptalk("game check tests.broken.whole:HASHING --seeds 1 --json")
    verdicts = done.json
    assert done.status == 1
    assert [verdict["check"] for verdict in verdicts] == CHECK_NAMES
    assert [verdict["check"] for verdict in verdicts if verdict["problem"]] == ["check_processes"]


def test_missing_spec_in_a_folder_suggests_where_to_run(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "around").mkdir()
    done = cheaptalk("game check around:SPEC")
    assert "around has no game spec SPEC; run this in the folder around" in done.rejection


def test_syntax_error_is_reported_with_its_line(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "unwritten.py").write_text("import cheaptalk\n\nclass Game\n")
    done = cheaptalk("game check unwritten:SPEC")
    assert "SyntaxError in unwritten.py:3: expected ':'" in done.rejection
