"""What an agent in Python may be, and what it answers with."""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeAlias

from cheaptalk.rules.errors import describe

Agent: TypeAlias = Any
"""A function of chat messages, plain or asynchronous, or an object with ``ainvoke``, ``invoke`` or
``run`` that is one, as the agents of LangChain and other libraries have."""
METHODS = ("ainvoke", "invoke", "run")
"""The methods by which an object is asked that is no function itself; the first that it has."""
SAID = ("final_output", "content", "text")
"""Where agents' libraries put what was said."""


def asking(agent: Agent) -> Callable[[list[dict[str, str]]], Any]:
    """The function by which an agent is asked.

    Raises:
        TypeError: there is none.
    """
    methods = (getattr(agent, name, None) for name in METHODS)
    found = agent if inspect.isroutine(agent) else next(filter(callable, methods), agent)
    if not callable(found):
        raise TypeError(
            f"{type(agent).__name__} is no agent: give a function of chat messages, or an object "
            f"with one of the methods {', '.join(METHODS)}"
        )
    return found


async def answered(agent: Agent, question: Mapping[str, Any]) -> dict[str, Any]:
    """What an agent answers to a question, in the form in which agents answer over HTTP.

    What is not asynchronous is asked in a thread of its own.

    Args:
        agent: is given the question's messages, each with its ``role`` and ``content``.
        question: as agents are posted it.

    Returns:
        Its ``text``, or the fields of its ``answer`` where it gave a mapping; ``error`` where it
        failed.
    """
    try:
        ask, messages = asking(agent), question["messages"]
        waits = inspect.iscoroutinefunction(ask)
        said = ask(messages) if waits else await in_a_thread(ask, messages)
        return _answer(await said if inspect.isawaitable(said) else said)
    except Exception as error:  # noqa: BLE001 - whatever an agent does is told as its failure
        return {"error": f"the agent failed: {describe(error)}"}


async def in_a_thread(ask: Callable[[list[dict[str, str]]], Any], asked: Any) -> Any:
    """What a function returns, from a thread that nobody waits for once its time is up."""
    found: Future[Any] = Future()
    found.set_running_or_notify_cancel()

    def work() -> None:
        try:
            found.set_result(ask(asked))
        except BaseException as error:  # noqa: BLE001 - it is raised where it is awaited
            found.set_exception(error)

    Thread(target=work, name="agent", daemon=True).start()
    return await asyncio.wrap_future(found)


def _answer(said: Any) -> dict[str, Any]:
    """What was said, in the form in which agents answer over HTTP.

    >>> _answer("I accept."), _answer({"decision": "accept"})
    ({'text': 'I accept.'}, {'answer': {'decision': 'accept'}})
    """
    if isinstance(said, Mapping):
        return {"answer": dict(said)}
    for name in SAID:
        if not isinstance(said, str):
            said = getattr(said, name, said)
    if isinstance(said, str):
        return {"text": said}
    raise TypeError(
        f"it answered with {type(said).__name__}: return a text, or a mapping of the answer's "
        "fields"
    )
