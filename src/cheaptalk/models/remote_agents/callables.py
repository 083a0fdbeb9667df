"""Agents written in Python: functions or objects, and the conversion of their answers."""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeAlias

from cheaptalk.rules.errors import describe

Agent: TypeAlias = Any
"""A synchronous or asynchronous function of chat messages, or an object with a method ``ainvoke``,
``invoke`` or ``run``, such as an agent of LangChain."""
METHODS = ("ainvoke", "invoke", "run")
"""Methods of agent objects; the first that exists is called."""
TEXT_ATTRIBUTES = ("final_output", "content", "text")
"""Attributes in which agent libraries store the text of an answer."""


def function_of(agent: Agent) -> Callable[[list[dict[str, str]]], Any]:
    """Return an agent's function for answering chat messages; raise TypeError if it has none."""
    methods = (getattr(agent, name, None) for name in METHODS)
    function = agent if inspect.isroutine(agent) else next(filter(callable, methods), agent)
    if not callable(function):
        raise TypeError(
            f"{type(agent).__name__} is not an agent: pass a function of chat messages, or an "
            f"object with one of the methods {', '.join(METHODS)}"
        )
    return function


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
        ask, messages = function_of(agent), request["messages"]
        is_async = inspect.iscoroutinefunction(ask)
        result = ask(messages) if is_async else await in_a_thread(ask, messages)
        return _answer(await result if inspect.isawaitable(result) else result)
    except Exception as error:  # noqa: BLE001 - any exception is the agent's failure
        return {"error": f"the agent failed: {describe(error)}"}


async def in_a_thread(ask: Callable[[list[dict[str, str]]], Any], messages: Any) -> Any:
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
