"""Status lines: their content and how often they are printed."""

import io

import pytest
from rich.console import Console

from cheaptalk.cli.shared import printing as progress
from cheaptalk.cli.shared.printing import StatusLine


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the current time in a list, which a test can change."""
    now = [0.0]
    monkeypatch.setattr("cheaptalk.cli.shared.printing.time.monotonic", lambda: now[0])
    return now


def capture_stderr(monkeypatch: pytest.MonkeyPatch, *, on_terminal: bool) -> io.StringIO:
    """Capture standard error, as a terminal or not."""
    text = io.StringIO()
    console = Console(file=text, width=200, force_terminal=on_terminal)
    monkeypatch.setattr(progress, "err", console)
    monkeypatch.setattr(progress, "on_terminal", lambda: on_terminal)
    return text


def test_lines_are_throttled_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    stderr = capture_stderr(monkeypatch, on_terminal=False)
    status = StatusLine()
    with status.shown("first") as update:
        update("too early")
        clock[0] += progress.MIN_INTERVAL
        update("half")
        update("too early again")
    with status.shown("too early as well"):
        clock[0] += progress.MIN_INTERVAL
    with status.shown("[third]"):
        pass
    assert stderr.getvalue().splitlines() == ["half", "[third]"]


def test_status_line_is_updated_in_place_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    stderr = capture_stderr(monkeypatch, on_terminal=True)
    with StatusLine().shown("a [b]: solving") as update:
        clock[0] += progress.REFRESH_INTERVAL
        update("a [b]: solving, 25 % searched")
    assert "a [b]: solving" in stderr.getvalue()
    assert "25 % searched" in stderr.getvalue()


def test_lines_are_printed_sooner_after_more_progress(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    stderr = capture_stderr(monkeypatch, on_terminal=False)
    status = StatusLine()
    for seconds, share in ((5, 0.01), (5, 0.06), (3, 0.5), (10, 0.08), (20, 0.09)):
        clock[0] += seconds
        status.print(f"{clock[0]:.0f} s, {share:.0%}", share)
    assert stderr.getvalue().splitlines() == ["10 s, 6%", "43 s, 9%"]
    assert not any(ord(character) < 32 for character in stderr.getvalue().replace("\n", ""))
