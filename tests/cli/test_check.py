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


def test_failed_checks_are_grouped_by_reason_and_unrun_ones_counted(cheaptalk: Command) -> None:
    done = cheaptalk("game check tests.broken.whole:DIVIDING --seeds 1")
    first, second, *_, last = done.out.splitlines()
    count, others = len(CHECK_NAMES), len(CHECK_NAMES) - 1
    assert (done.status, first.split()[:2]) == (1, ["failed", "check_seats,"])
    reason = f"        {others} more checks failed for the same reason: check_words, "
    assert second.startswith(reason)
    assert last == f"guessing: 0 of {count} checks passed {SCOPE}"
    done = cheaptalk("game check tests.broken.whole:SPINNING --seeds 1 --timeout 0.2")
    assert done.status == 1
    assert f"0 of {count} checks passed, {others} not run {SCOPE}" in done.out


def test_check_prints_json(cheaptalk: Command) -> None:
    done = cheaptalk("game check tests.broken.whole:HASHING --seeds 1 --json")
    verdicts = done.json
    assert done.status == 1
    assert [verdict["check"] for verdict in verdicts] == CHECK_NAMES
    assert [verdict["check"] for verdict in verdicts if verdict["problem"]] == ["check_processes"]


def test_missing_spec_and_syntax_error_are_reported(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "around").mkdir()
    missing = cheaptalk("game check around:SPEC").rejection
    assert "around has no game spec SPEC; run this in the folder around" in missing
    (tmp_path / "unwritten.py").write_text("import cheaptalk\n\nclass Game\n")
    invalid = cheaptalk("game check unwritten:SPEC").rejection
    assert "SyntaxError in unwritten.py:3: expected ':'" in invalid
