"""Remote agents in Python: their interface in a run, and agents that are functions or objects."""

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from threading import Thread
from typing import Any, Protocol, TypeAlias

from cheaptalk.models.calls import ModelCall, Models, Reply
from cheaptalk.models.http.agent import body, read
from cheaptalk.models.http.failures import broken, timed_out
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.usage import metered
from cheaptalk.rules import suggest
from cheaptalk.rules.errors import describe

Agent: TypeAlias = Any
"""A synchronous or asynchronous function of chat messages, or an object with a method ``ainvoke``,
``invoke`` or ``run``, such as an agent of LangChain."""
METHODS = ("ainvoke", "invoke", "run")
"""Methods of agent objects; the first that exists is called."""
TEXT_ATTRIBUTES = ("final_output", "content", "text")
"""Attributes in which agent libraries store the text of an answer."""


class RemoteAgents(Models, Protocol):
    """The remote agents of a run, which connect over HTTP or run in this process."""

    def unavailable(self, name: str) -> str | None:
        """Return why a remote agent is unavailable; None if it is available."""

    def begin(self) -> None:
        """Start a run; its calls wait until the remote agents connect."""

    def halt(self) -> None:
        """Cancel calls to agents that have not connected; safe to call from any thread."""

    def conclude(self) -> None:
        """Notify the remote agents that the run is over."""


class Functions:
    """A client for agents in this process, which are always connected.

    Args:
        agents: agents by name, without ``remote/``; see :data:`.Agent`.
    """

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        self.agents = dict(agents)

    def unavailable(self, name: str) -> str | None:
        if name in self.agents:
            return None
        return f"this run has no remote agent {suggest(name, list(self.agents))}"

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Call an agent; return a failure without a retry if it raises an exception."""
        started = time.monotonic()
        agent = self.agents[ModelName.parse(call.model).model]
        try:
            async with asyncio.timeout(deadline):
                answer = await answer_of(agent, body(call, number))
            error = answer.get("error")
            reply = broken(error, retry=False) if error else read(answer)
        except TimeoutError:
            reply = timed_out(deadline)
        seconds = round(time.monotonic() - started, 4)
        return metered(reply, call, alone=False).model_copy(update={"seconds": seconds})

    def begin(self) -> None:
        """Do nothing, because all agents are available."""

    halt = conclude = begin


def as_remote_agents(agents: RemoteAgents | Mapping[str, Agent] | None) -> RemoteAgents | None:
    """Wrap a mapping of agents in a client, and return other values unchanged."""
    return Functions(agents) if isinstance(agents, Mapping) else agents


async def answer_of(agent: Agent, request: Mapping[str, Any]) -> dict[str, Any]:
    """Call an agent and return its answer in the HTTP format.

    Synchronous functions run in their own thread.

    Args:
        agent: receives the request's messages, each with ``role`` and ``content``.
        request: the request in the HTTP format.

    Returns:
        ``text``, or ``answer`` if the agent returned a mapping, or ``error`` if the agent failed.
    """
    try:
        ask, messages = _function_of(agent), request["messages"]
        is_async = inspect.iscoroutinefunction(ask)
        result = ask(messages) if is_async else await _in_a_thread(ask, messages)
        return _answer(await result if inspect.isawaitable(result) else result)
    except Exception as error:  # noqa: BLE001 - any exception is the agent's failure
        return {"error": f"the agent failed: {describe(error)}"}


def _function_of(agent: Agent) -> Callable[[list[dict[str, str]]], Any]:
    methods = (getattr(agent, name, None) for name in METHODS)
    function = agent if inspect.isroutine(agent) else next(filter(callable, methods), agent)
    if not callable(function):
        raise TypeError(
            f"{type(agent).__name__} is not an agent: pass a function of chat messages, or an "
            f"object with one of the methods {', '.join(METHODS)}"
        )
    return function


async def _in_a_thread(ask: Callable[[list[dict[str, str]]], Any], messages: Any) -> Any:
    """Call a function in a daemon thread, which is abandoned after a timeout."""
    result: Future[Any] = Future()
    result.set_running_or_notify_cancel()

    def work() -> None:
        try:
            result.set_result(ask(messages))
        except BaseException as error:  # noqa: BLE001 - raised when awaited
            result.set_exception(error)

    Thread(target=work, name="agent", daemon=True).start()
    return await asyncio.wrap_future(result)


def _answer(result: Any) -> dict[str, Any]:
    """Convert an agent's result to the HTTP format.

    >>> _answer("I accept."), _answer({"decision": "accept"})
    ({'text': 'I accept.'}, {'answer': {'decision': 'accept'}})
    """
    if isinstance(result, Mapping):
        return {"answer": dict(result)}
    for name in TEXT_ATTRIBUTES:
        if not isinstance(result, str):
            result = getattr(result, name, result)
    if isinstance(result, str):
        return {"text": result}
    raise TypeError(
        f"returned {type(result).__name__}; return a text, or a mapping of the answer's fields"
    )
