"""CLI commands that the server runs as subprocesses."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Self

from cheaptalk.calls.commands import ControlError
from cheaptalk.rules.errors import ERROR_FORMAT

MAX_OUTPUT = 16_384
"""Bytes of a command's output that are kept."""
GRACE = 20.0
"""Seconds for calls in flight before a command is interrupted again."""
LAST_GRACE = 10.0
"""Seconds after the second interrupt before a command is killed; recorded matches are safe."""
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no SIGKILL
HALTS = {-signal.SIGTERM, -KILL, *(128 + number for number in (signal.SIGINT, signal.SIGTERM))}
"""Exit statuses of stopped commands."""


class Command:
    """A CLI command that runs in a subprocess.

    The command ends with the server: :meth:`stop` interrupts it, and if the server is killed, the
    command stops when nothing reads its output. API keys come from the server's environment.
    ``status`` is the exit status, or None while the command is running.
    """

    def __init__(self, process: Process) -> None:
        self.status: int | None = None
        self.interrupted = False
        self.error = ""
        self._process = process
        self._output = b""
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, *arguments: str) -> "Command":
        """Start ``cheaptalk`` with arguments; raise OSError if the process cannot be started."""
        return cls(
            await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "cheaptalk",
                *arguments,
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=STDOUT,
                env=os.environ | {"PYTHONUNBUFFERED": "1", ERROR_FORMAT: "json"},
                start_new_session=True,  # Ctrl-C interrupts the server, which stops its commands
            )
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def output(self) -> str:
        return self._output.decode(errors="replace").strip()

    @property
    def stopped(self) -> bool:
        return self.status in HALTS

    @property
    def crash(self) -> str:
        """Last output line of a command that failed without an error message; otherwise empty."""
        if not self.status or self.stopped or self.error:
            return ""
        return self.output.rpartition("\n")[2] or f"the command exited with status {self.status}"

    async def ended(self) -> int:
        await asyncio.shield(self._reading)
        assert self.status is not None
        return self.status

    def interrupt(self) -> None:
        """Interrupt the command like Ctrl-C; model calls in flight are still recorded."""
        self.interrupted = True
        with suppress(ProcessLookupError):
            self._process.terminate()

    async def stop(self) -> None:
        """Stop the command, if necessary by killing it, and wait until it has ended."""
        for grace in (GRACE, LAST_GRACE):
            if self.status is not None:
                return
            self.interrupt()
            with suppress(TimeoutError):
                await asyncio.wait_for(self.ended(), grace)
        with suppress(ProcessLookupError):
            self._process.kill()
        await self.ended()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while chunk := await self._process.stdout.read(MAX_OUTPUT):
            self._output = (self._output + chunk)[-MAX_OUTPUT:]
        status = await self._process.wait()
        before, _, last = self.output.rpartition("\n")
        if status and last.startswith("{"):
            with suppress(ValueError):
                self.error = str(json.loads(last)["error"]).rstrip(".")
                self._output = f"{before}\nerror: {self.error}".encode()
        self.status = status


class Commands:
    """Running CLI commands, at most one per study.

    Leaving the context manager stops them.
    """

    def __init__(self) -> None:
        self.latest: dict[str, Command] = {}
        self._starting: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    @asynccontextmanager
    async def starting(self, name: str) -> AsyncIterator[None]:
        """Lock a study while its command starts; raise ControlError if the server is stopping."""
        async with self._starting[name]:
            if self._closed:
                raise ControlError("the server is stopping")
            yield

    async def begin(self, name: str, *arguments: str) -> Command:
        command = self.latest[name] = await Command.start(*arguments)
        return command

    async def close(self) -> None:
        self._closed = True
        for starting in list(self._starting.values()):
            async with starting:
                pass
        async with asyncio.TaskGroup() as tasks:
            for command in self.latest.values():
                tasks.create_task(command.stop())
