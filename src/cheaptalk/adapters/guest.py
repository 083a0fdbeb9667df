"""An agent's side of a guest's seat: look, answer, and play on until it is over."""

import asyncio
import os
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import aiohttp

from cheaptalk.models.guests import Agent, answered
from cheaptalk.rules import CheaptalkError

VARIABLE = "CHEAPTALK_GUEST_TOKEN"
"""The environment variable of an agent's own token."""
PATIENCE = 600.0
"""Seconds for which a guest tries again where nobody answers: a run that was killed is resumed."""
WAIT = 20.0
"""Seconds that one look waits for a question."""
LONGEST_PAUSE = 2.0
"""Seconds of the longest pause between two tries."""
FAREWELL = 5.0
"""Seconds within which what is under way comes back once it is over; nothing is open any more."""
SLACK = 30.0
"""Seconds that a request may take beyond what it waits for."""


class GuestError(CheaptalkError):
    """A guest is turned away, with the reason and the cure.

    Attributes:
        status: the HTTP status; None where nobody answers.
    """

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


def guest_token(token: str | None = None) -> str:
    """A guest's token: by default that of the environment variable ``CHEAPTALK_GUEST_TOKEN``.

    Raises:
        GuestError: there is none.
    """
    found = (token or os.environ.get(VARIABLE, "")).strip()
    if not found:
        raise GuestError(
            f"a guest needs its token, which was shown when the run began: set {VARIABLE}"
        )
    return found


class Guest:
    """A guest's seat, as the guest has it. Use it as an asynchronous context manager.

    Args:
        url: where the guest looks and answers, as it was shown when the run began.
        token: shown there, too; by default that of the environment variable
            ``CHEAPTALK_GUEST_TOKEN``.
        patience: seconds for which it tries again where nobody answers, as while a run that was
            killed is resumed.

    Raises:
        GuestError: there is no token.
    """

    def __init__(self, url: str, token: str | None = None, patience: float = PATIENCE) -> None:
        found = guest_token(token)
        if not url.startswith(("http://", "https://")):
            raise GuestError(f'"{url}" is no URL: write http://HOST:PORT/guests/NAME')
        self.url = url.rstrip("/")
        self.patience = patience
        self._headers = {"Authorization": f"Bearer {found}"}
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> "Guest":
        self._session = aiohttp.ClientSession(headers=self._headers)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def look(self, wait: float = 0, most: int = 64, after: str = "") -> dict[str, Any]:
        """What is asked now.

        Args:
            wait: seconds to wait for a question where none is open, at most 60.
            most: questions that are shown, at most 64.
            after: the mark of an earlier look, to see later questions alone.

        Returns:
            The ``state`` (``asked``, ``waiting`` or ``over``), the ``questions`` that are open, and
            the mark to look on ``after`` them.

        Raises:
            GuestError: the token is not that of this guest, or nobody answers.
        """
        query = {"wait": f"{wait:g}", "most": f"{most}", "after": after}
        return await self._said("GET", self.url, SLACK + wait, params=query)

    async def answer(self, call: str, said: Mapping[str, Any]) -> None:
        """Answer a question.

        Args:
            call: the question's number.
            said: ``{"answer": {...}}``, ``{"text": "..."}`` or ``{"error": "..."}``, as agents
                answer over HTTP.

        Raises:
            GuestError: it is no answer, the question is not open any more, or nobody answers.
        """
        await self._said("POST", f"{self.url}/answers", SLACK, json={"call": call, **said})

    async def _said(self, method: str, url: str, patience: float, **request: Any) -> dict[str, Any]:
        """What the run says; where nobody answers, it is tried again for a while."""
        assert self._session is not None, "use it as an asynchronous context manager"
        until, pause = time.monotonic() + self.patience, 0.1
        limit = aiohttp.ClientTimeout(total=patience)
        while True:
            try:
                asked = self._session.request(method, url, timeout=limit, **request)
                async with asked as response:
                    data = await response.json(content_type=None)
                    if response.status < 500:
                        return _checked(data, response.status, url)
                    problem: Exception = GuestError(f"status {response.status}", response.status)
            except (aiohttp.ClientError, TimeoutError, ValueError, OSError) as error:
                problem = error
            if time.monotonic() + pause > until:
                raise GuestError(
                    f"nobody answers at {url} ({problem or type(problem).__name__}): has the run "
                    "begun, and is that its port?"
                ) from None
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)


def _checked(data: Any, status: int, url: str) -> dict[str, Any]:
    said = data if isinstance(data, dict) else {}
    if status != 200 or "state" not in said:
        why = said.get("error") or f"what answers at {url} is no run of cheaptalk"
        raise GuestError(str(why), status)
    return said


async def play_as_guest_async(
    url: str,
    agent: Agent,
    token: str | None = None,
    *,
    at_once: int = 8,
    patience: float = PATIENCE,
) -> int:
    """What :func:`play_as_guest` does, to be awaited."""
    try:
        async with Guest(url, token, patience) as guest:
            return await _play(guest, agent, at_once)
    except BaseExceptionGroup as group:
        raise _first(group) from None


async def _play(guest: Guest, agent: Agent, at_once: int) -> int:
    """Answer questions as they come; how many answers were taken."""
    taken, after = 0, ""
    room = asyncio.Semaphore(at_once)

    async def answer(question: Mapping[str, Any]) -> None:
        nonlocal taken
        try:
            said = await answered(agent, question)
            try:
                await guest.answer(question["call"], said)
                taken += "error" not in said
            except GuestError as refused:
                if refused.status in (None, 401):
                    raise
                if refused.status in (400, 413):
                    await guest.answer(question["call"], {"error": str(refused)})
        finally:
            room.release()

    async with asyncio.TaskGroup() as group:
        under_way: set[asyncio.Task[None]] = set()
        while True:
            await room.acquire()
            seen = await guest.look(WAIT, 1, after)
            after = seen["after"]
            if seen["state"] == "over":
                break
            if seen["questions"]:
                task = group.create_task(answer(seen["questions"][0]))
                under_way.add(task)
                task.add_done_callback(under_way.discard)
            else:
                room.release()
        if under_way:
            await asyncio.wait(under_way, timeout=FAREWELL)
        for task in under_way:
            task.cancel()
    return taken


def play_as_guest(
    url: str,
    agent: Agent,
    token: str | None = None,
    *,
    at_once: int = 8,
    patience: float = PATIENCE,
) -> int:
    """Let an agent play as a guest of a run until it is over.

    What the agent raises is told to the run, whose match fails for that reason.

    Args:
        url: where the guest looks and answers, as it was shown when the run began.
        agent: a function of chat messages, plain or asynchronous, which returns a text or a mapping
            of the answer's fields; or an object with ``ainvoke``, ``invoke`` or ``run`` that does.
        token: shown there, too; by default that of the environment variable
            ``CHEAPTALK_GUEST_TOKEN``.
        at_once: questions that it answers at once.
        patience: seconds for which it tries again where nobody answers, as while a run that was
            killed is resumed.

    Returns:
        How many answers were taken.

    Raises:
        GuestError: the token is not that of this guest, or nobody answers.
    """
    playing = play_as_guest_async(url, agent, token, at_once=at_once, patience=patience)
    return asyncio.run(playing)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
