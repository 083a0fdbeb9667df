"""How far the solving of games is: what is said, and how often."""

import io

import pytest
from rich.console import Console

from cheaptalk.cli import progress, solving
from cheaptalk.cli.solving import Solving


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What is written to standard error, which is no terminal."""
    written = io.StringIO()
    monkeypatch.setattr(solving, "err", Console(file=written, width=200))
    return written


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What time it is; a test sets it."""
    now = [0.0]
    monkeypatch.setattr("cheaptalk.cli.solving.time.monotonic", lambda: now[0])
    return now


def test_off_a_terminal_a_line_comes_now_and_then(said: io.StringIO, clock: list[float]) -> None:
    games = Solving("study", 3)
    with games.game("BG4", 1) as tell:
        tell(0.5)
        clock[0] += progress.EVERY
        tell(0.6)
        tell(0.7)
    with games.game("BG5", 2):
        clock[0] += progress.EVERY
    with games.game("[BG6]", 3):
        pass
    assert said.getvalue().splitlines() == [
        "study: solving BG4, game 1 of 3, 60 % of all sets decided",
        "study: solving [BG6], game 3 of 3",
    ]


def test_a_small_share_still_moves(said: io.StringIO, clock: list[float]) -> None:
    with Solving("noise.csv", 1).game("noise.csv", 1) as tell:
        clock[0] += progress.EVERY
        tell(0.000018)
    assert said.getvalue() == "noise.csv: solving, 0.0018 % of all sets decided\n"


def test_on_a_terminal_it_stays_in_place(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    written = io.StringIO()
    monkeypatch.setattr(solving, "err", Console(file=written, width=200, force_terminal=True))
    with Solving("a [b]", 1).game("a [b]", 1) as tell:
        clock[0] += solving.OFTEN
        tell(0.25)
    assert "a [b]: solving" in written.getvalue()
    assert "25 % of all sets decided" in written.getvalue()
