"""Python objects as players: functions, objects, classes, and asynchronous versions of these."""

import asyncio
import copy
import inspect
from collections.abc import Awaitable, Callable, Generator
from functools import cache, partial
from threading import Thread
from types import FunctionType
from typing import Any, TypeVar, cast

from cheaptalk.rules.actions import Action
from cheaptalk.rules.errors import CheaptalkError, describe, shown
from cheaptalk.rules.table import Decide, DecisionRequest

T = TypeVar("T")


def decider(player: Any) -> Decide:
    """Return the decision function of a Python player for one seat of one match.

    The player is a function of a decision request; an object that is called with a request, or
    whose method ``answer`` yields calls as :class:`.Player` does; or a class of such objects. A
    class is instantiated and an object copied, so that matches don't share their state. Functions
    may be asynchronous.

    Raises:
        CheaptalkError: the object is not a player, or cannot be copied.
    """
    function = player.func if type(player) is partial else player
    if type(function) is FunctionType and not function.__code__.co_flags & inspect.CO_COROUTINE:
        return cast(Decide, player)  # quickly, because each match of a study passes here
    if not is_player(player):
        raise CheaptalkError(
            f"expected a function of a decision request, or an object or class with such a method, "
            f"not {shown(player)}"
        )
    return _callable(fresh(player))


def fresh(player: Any) -> Any:
    """Return a Python player with its own state: a new object of a class, or a copy of an object.

    Raises:
        CheaptalkError: the object cannot be copied.
    """
    player = player.with_settings() if hasattr(player, "with_settings") else player
    if is_class(player):
        return player()
    return player if isinstance(player, partial | FunctionType) else copied(player)


def copied(player: T) -> T:
    """Return a copy of an object with its state; raise CheaptalkError if it cannot be copied."""
    try:
        return copy.deepcopy(player)
    except Exception as error:
        name = type(player).__name__
        raise CheaptalkError(
            f"{name} cannot be copied for each match ({describe(error)}); pass a function, or a "
            f"class that creates its objects, or define {name}.__deepcopy__"
        ) from error


def bare(player: Any) -> Any:
    """Return the function, object or class of a player or its decision function."""
    while isinstance(player, partial):
        player = player.args[0] if player.func in (_answered, _awaited) else player.func
    return player


def player_name(player: Any) -> str:
    """Return the name of a function, class or strategy; an object has the name of its class.

    >>> player_name(print), player_name(partial(print)), player_name(3), player_name(lambda: 3)
    ('print', 'print', 'int', 'lambda')
    """
    player = bare(player)
    name = player.name if hasattr(player, "with_settings") else getattr(player, "__name__", None)
    return str(name or type(player).__name__).strip("<>")


def is_player(player: Any) -> bool:
    """Return whether an object can be a player: whether :func:`decider` accepts it."""
    if is_class(player) and not makes_calls(player):
        return any("__call__" in vars(kind) for kind in bare(player).__mro__)
    return callable(player) or makes_calls(player)


def is_class(player: Any) -> bool:
    """Return whether a Python player is a class, possibly with some of its arguments."""
    return isinstance(bare(player), type)


def makes_calls(player: Any) -> bool:
    """Return whether a player, or an object of a class of players, implements :class:`.Player`."""
    return callable(getattr(bare(player), "answer", None))


def is_async(player: Any) -> bool:
    """Return whether a player, or an object of a class of players, returns awaitables."""
    function = bare(player)
    if not inspect.isroutine(function):
        function = getattr(function, "__call__", None)  # noqa: B004 - a class is callable, too
    return inspect.iscoroutinefunction(function)


def _callable(player: Any) -> Decide:
    if makes_calls(player):
        return partial(_answered, player)
    return partial(_awaited, player) if is_async(player) else player


def _answered(player: Any, request: DecisionRequest) -> Action:
    """Return the answer of an object that needs no calls."""
    thinking: Generator[Any, Any, Any] = player.answer(request)
    try:
        next(thinking)
    except StopIteration as end:
        action: Action = end.value.action
        return action
    raise CheaptalkError(f"{type(player).__name__} makes calls; play it in a study with ct.run")


def _awaited(function: Callable[[DecisionRequest], Awaitable[T]], request: DecisionRequest) -> T:
    """Call an asynchronous function in the event loop that all matches share."""

    async def call() -> T:
        return await function(request)

    return asyncio.run_coroutine_threadsafe(call(), _event_loop()).result()


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop in a thread, because the caller's may be running, as in a notebook."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="asynchronous players", daemon=True).start()
    return loop
