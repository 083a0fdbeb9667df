"""Commands of cheaptalk that a server starts as processes of their own, and looks after."""

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Self

from cheaptalk.calls.orders import ControlError

KEPT = 16_384
"""Bytes of its last output that are kept of a command."""
GRACE = 20.0
"""Seconds for calls in flight to come back; then a command is told once more to stop."""
LAST_GRACE = 10.0
"""Seconds that it then has; what does not end by itself is killed, and loses nothing recorded."""
ERROR = re.compile(r"^error: (.*)", re.MULTILINE | re.DOTALL)
"""What a command says that fails, behind all else."""
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no SIGKILL
HALTS = {-signal.SIGTERM, -KILL, *(128 + one for one in (signal.SIGINT, signal.SIGTERM))}
"""Exit statuses of commands that were stopped."""


class Command:
    """A command under way, or one that has ended.

    It ends with the server: :meth:`stop` tells it to, and where the server was killed, it stops by
    itself as soon as nobody reads what it says. Keys of models come from the server's environment.

    Attributes:
        status: its exit status; None while it is under way.
        told: whether it was told to stop.
    """

    def __init__(self, process: Process) -> None:
        self.status: int | None = None
        self.told = False
        self._process = process
        self._said = b""
        self._attending = asyncio.create_task(self._attend())

    @classmethod
    async def start(cls, *words: str) -> "Command":
        """Start ``cheaptalk`` with these words behind it.

        Raises:
            OSError: no process can be started.
        """
        return cls(
            await asyncio.create_subprocess_exec(
                sys.executable, "-m", "cheaptalk", *words, stdin=DEVNULL, stdout=PIPE,
                stderr=STDOUT, env=os.environ | {"PYTHONUNBUFFERED": "1"},
                start_new_session=True,  # Ctrl-C is for the server, which then tells its commands
            )
        )  # fmt: skip

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @property
    def said(self) -> str:
        """The last lines of its output."""
        return self._said.decode(errors="replace").strip()

    @property
    def stopped(self) -> bool:
        """Whether it has ended because it was told to."""
        return self.status in HALTS

    @property
    def error(self) -> str:
        """Why it failed, in the sentence that it printed; empty where it printed none."""
        said = ERROR.search(self.said) if self.status else None
        return said[1].rstrip(".") if said else ""

    @property
    def crash(self) -> str:
        """How it failed without such a sentence; empty where it did not, or was stopped."""
        if not self.status or self.stopped or self.error:
            return ""
        return self.said.rpartition("\n")[2] or f"it ended with exit status {self.status}"

    async def ended(self) -> int:
        """Wait until it has ended; its exit status."""
        await asyncio.shield(self._attending)
        assert self.status is not None
        return self.status

    def interrupt(self) -> None:
        """Tell it to stop as Ctrl-C does: calls in flight come back and are recorded."""
        self.told = True
        with suppress(ProcessLookupError):
            self._process.terminate()

    async def stop(self) -> None:
        """Let it stop, at last by force, and wait until it has ended."""
        for patience in (GRACE, LAST_GRACE):
            if self.status is not None:
                return
            self.interrupt()
            with suppress(TimeoutError):
                await asyncio.wait_for(self.ended(), patience)
        with suppress(ProcessLookupError):
            self._process.kill()
        await self.ended()

    async def _attend(self) -> None:
        """Read what it says until it ends."""
        assert self._process.stdout is not None
        while said := await self._process.stdout.read(KEPT):
            self._said = (self._said + said)[-KEPT:]
        self.status = await self._process.wait()


class Commands:
    """The commands of a laboratory's studies, one of each at a time.

    Use as a context manager: at the end they are stopped.
    """

    def __init__(self) -> None:
        self.latest: dict[str, Command] = {}
        self._beginning: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @asynccontextmanager
    async def beginning(self, name: str) -> AsyncIterator[None]:
        """Nobody else begins something of this study meanwhile.

        Raises:
            ControlError: the server is stopping.
        """
        async with self._beginning[name]:
            if self._closed:
                raise ControlError("the server is stopping")
            yield

    async def begin(self, name: str, *words: str) -> Command:
        """Start a study's command, with these words behind ``cheaptalk``.

        Raises:
            OSError: no process can be started.
        """
        command = self.latest[name] = await Command.start(*words)
        return command

    async def close(self) -> None:
        """Stop all commands, and begin no more."""
        self._closed = True
        for beginning in list(self._beginning.values()):
            async with beginning:
                pass
        async with asyncio.TaskGroup() as stopping:
            for command in self.latest.values():
                stopping.create_task(command.stop())
