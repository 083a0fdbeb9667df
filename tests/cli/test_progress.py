"""Lines that say how far something is: what is said, and how often."""

import io

import pytest
from rich.console import Console

from cheaptalk.cli.shared import progress
from cheaptalk.cli.shared.progress import StatusLine


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What time it is; a test sets it."""
    now = [0.0]
    monkeypatch.setattr("cheaptalk.cli.shared.progress.time.monotonic", lambda: now[0])
    return now


def written(monkeypatch: pytest.MonkeyPatch, *, on_terminal: bool) -> io.StringIO:
    """What is written to standard error, a terminal or none."""
    text = io.StringIO()
    console = Console(file=text, width=200, force_terminal=on_terminal)
    monkeypatch.setattr(progress, "err", console)
    monkeypatch.setattr(progress, "on_terminal", lambda: on_terminal)
    return text


def test_off_a_terminal_a_line_comes_now_and_then(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    said = written(monkeypatch, on_terminal=False)
    status = StatusLine()
    with status.shown("first") as tell:
        tell("too early")
        clock[0] += progress.MIN_INTERVAL
        tell("half")
        tell("too early again")
    with status.shown("too early as well"):
        clock[0] += progress.MIN_INTERVAL
    with status.shown("[third]"):
        pass
    assert said.getvalue().splitlines() == ["half", "[third]"]


def test_on_a_terminal_it_stays_in_place(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    said = written(monkeypatch, on_terminal=True)
    with StatusLine().shown("a [b]: solving") as tell:
        clock[0] += progress.REFRESH_INTERVAL
        tell("a [b]: solving, 25 % searched")
    assert "a [b]: solving" in said.getvalue()
    assert "25 % searched" in said.getvalue()


def test_a_line_comes_sooner_where_more_is_done(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    said = written(monkeypatch, on_terminal=False)
    status = StatusLine()
    for seconds, share in ((5, 0.01), (5, 0.06), (3, 0.5), (10, 0.08), (20, 0.09)):
        clock[0] += seconds
        status.print(f"{clock[0]:.0f} s, {share:.0%}", share)
    assert said.getvalue().splitlines() == ["10 s, 6%", "43 s, 9%"]
    assert not any(ord(one) < 32 for one in said.getvalue().replace("\n", ""))
