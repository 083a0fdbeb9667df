"""A terminal for tests: a command runs on a pty, as it does for a person."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

AGAIN = 5.0
"""Seconds after which Ctrl-C is pressed again."""
PATIENCE = 60.0
"""Seconds after which a text that does not come is given up."""
ON_A_TERMINAL = """
import os, runpy
os.close(os.open(os.ttyname(0), os.O_RDWR))
runpy.run_module("cheaptalk", run_name="__main__", alter_sys=True)
"""
"""A program that makes standard input the terminal whose Ctrl-C it hears, and is `cheaptalk`."""


def unmeasured() -> dict[str, str]:
    """The environment for a process that is to be interrupted.

    Its coverage is not measured: an interrupt while coverage holds its lock would block it.
    """
    return {key: text for key, text in os.environ.items() if not key.startswith("COVERAGE_")}


class Terminal:
    """A `cheaptalk` command on a terminal of 100 columns. Use as a context manager."""

    def __init__(
        self, *arguments: str, folder: Path, environment: Mapping[str, str] = os.environ
    ) -> None:
        self.screen = ""
        self.leader, follower = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", ON_A_TERMINAL, *arguments],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            cwd=folder,
            env=dict(environment) | {"COLUMNS": "100", "TERM": "xterm"},
            start_new_session=True,
        )
        os.close(follower)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.leader)

    def read_until(self, text: str) -> str:
        """What is printed up to a text, without colours."""
        until = time.monotonic() + PATIENCE
        while text not in plain(self.screen):
            if not self._read(until):
                raise AssertionError(f"{text!r} was never printed; all there was: {self.screen}")
        shown, _, rest = plain(self.screen).partition(text)
        self.screen = rest
        return shown + text

    def type(self, line: str) -> None:
        """Type a line."""
        os.write(self.leader, line.encode() + b"\n")

    def press_ctrl_c(self) -> None:
        """Press Ctrl-C until it is heard: ``input`` misses one between its prompt and its wait."""
        shown, until = self.screen, time.monotonic() + PATIENCE
        while plain(self.screen).replace("^C", "") == plain(shown) and time.monotonic() < until:
            os.write(self.leader, b"\x03")
            again = time.monotonic() + AGAIN
            while self._read(again) and plain(self.screen).replace("^C", "") == plain(shown):
                pass

    def ends(self) -> tuple[int, str]:
        """Wait for the end: the exit status and what was still printed."""
        until = time.monotonic() + PATIENCE
        while self._read(until):
            pass
        return self.process.wait(timeout=PATIENCE), plain(self.screen)

    def _read(self, until: float) -> bool:
        if not select.select([self.leader], [], [], max(0.0, until - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self.leader, 65536)
        except OSError:  # the command has ended
            return False
        self.screen += data.decode(errors="replace")
        return bool(data)


def plain(screen: str) -> str:
    """A screen without colours and cursor movements."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen).replace("\r", "")
