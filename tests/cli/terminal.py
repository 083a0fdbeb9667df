"""Run `cheaptalk` commands on a pseudo-terminal."""

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

RETRY_INTERVAL = 5.0
"""Seconds between presses of Ctrl-C."""
TIMEOUT = 60.0
"""Seconds to wait for output or for the process to exit."""
ON_A_TERMINAL = """
import os, runpy
os.close(os.open(os.ttyname(0), os.O_RDWR))
runpy.run_module("cheaptalk", run_name="__main__", alter_sys=True)
"""
"""A program that makes stdin the controlling terminal, for Ctrl-C, and runs `cheaptalk`."""


def unmeasured() -> dict[str, str]:
    """Return the environment for a process that a test interrupts.

    It disables coverage, because an interrupt while coverage holds its lock would block it.
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
        """Return the output up to and including a text, without colours."""
        deadline = time.monotonic() + TIMEOUT
        while text not in plain(self.screen):
            if not self._read(deadline):
                raise AssertionError(f"{text!r} was not printed; output: {self.screen}")
        shown, _, rest = plain(self.screen).partition(text)
        self.screen = rest
        return shown + text

    def type(self, line: str) -> None:
        """Type a line."""
        os.write(self.leader, line.encode() + b"\n")

    def press_ctrl_c(self) -> None:
        """Press Ctrl-C until it takes effect; ``input`` can miss one before it starts waiting."""
        shown, deadline = self.screen, time.monotonic() + TIMEOUT
        while plain(self.screen).replace("^C", "") == plain(shown) and time.monotonic() < deadline:
            os.write(self.leader, b"\x03")
            retry_at = time.monotonic() + RETRY_INTERVAL
            while self._read(retry_at) and plain(self.screen).replace("^C", "") == plain(shown):
                pass

    def ends(self) -> tuple[int, str]:
        """Wait for the process to exit; return its exit status and the remaining output."""
        deadline = time.monotonic() + TIMEOUT
        while self._read(deadline):
            pass
        return self.process.wait(timeout=TIMEOUT), plain(self.screen)

    def _read(self, deadline: float) -> bool:
        if not select.select([self.leader], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self.leader, 65536)
        except OSError:  # the command has ended
            return False
        self.screen += data.decode(errors="replace")
        return bool(data)


def plain(screen: str) -> str:
    """Return a screen's text without colours and cursor movements."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen).replace("\r", "")
