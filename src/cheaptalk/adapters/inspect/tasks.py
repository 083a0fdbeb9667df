"""Every game as an Inspect task, in which the model plays one seat and scripts the others.

Inspect finds the tasks through the entry point ``inspect_ai``, as ``cheaptalk/NAME``. The model
receives the same chat as in studies.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from cheaptalk.adapters.chat import chat_environment
from cheaptalk.adapters.inspect.messages import NOTHING_ASKED, continued, inspect_part, to_reply
from cheaptalk.adapters.inspect.scores import ACHIEVED, achieved, scorers
from cheaptalk.players import Kind
from cheaptalk.rules import CheaptalkError, games, get_game
from cheaptalk.rules.registry import GameLike


def inspect_task(
    game: GameLike,
    parameters: Mapping[str, Any] | None = None,
    seat: str | None = None,
    other: str | Mapping[str, Any] = "random",
    *,
    instances: int = 10,
    seed: str | int = "inspect",
    **player: Any,
) -> Any:
    """Return a game as a task for ``inspect_ai.eval``; requires ``[inspect]``.

    Each sample is a match on its own instance. Equal seeds give the same instances and the same
    play of other seats.

    Args:
        instances: number of samples, at least 1.
        seed: seed of the instances; see :func:`chat_environment` for the other arguments.

    Returns:
        A ``Task``.

    Raises:
        CheaptalkError: there is no such game or seat, a setting is invalid, or Inspect isn't
            installed.
    """
    if instances < 1:
        raise CheaptalkError(f"instances: must be at least 1, not {instances}")
    ai, dataset = inspect_part("inspect_ai"), inspect_part("inspect_ai.dataset")
    chat = chat_environment(game, parameters, seat, other, **player)
    rules = chat.game
    written = rules.model_dump(mode="json", exclude_unset=True)
    samples = []
    for number in range(1, instances + 1):
        instance = f"{seed} {number}"
        messages = continued((), chat.reset(instance).messages)
        samples.append(
            dataset.Sample(
                id=number, input=messages or NOTHING_ASKED, metadata={"instance": instance}
            )
        )
    seat_name = next(actor.seat for actor in rules.actors if actor.name == chat.seat)
    return ai.Task(
        dataset=dataset.MemoryDataset(samples, name=rules.name),
        solver=_solver()(rules.name, written, chat.seat, other, **player),
        scorer=[make() for make in scorers()],
        version=rules.version,
        metadata={"seat": chat.seat, "unit": rules.payoff_units()[rules.seats[seat_name]]},
    )


@cache
def _solver() -> Callable[..., Any]:
    transcript = inspect_part("inspect_ai.log").transcript

    def play(
        game: str, parameters: Any, seat: str, other: str | Mapping[str, Any], **player: Any
    ) -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            chat = chat_environment(game, parameters, seat, other, **player)
            kinds, history = Counter[Kind](), list[Any]()
            observed = chat.reset(state.metadata["instance"])
            while not observed.over:
                history = continued(history, observed.messages)
                state.messages = list(history)
                state = await generate(state, tool_calls="none")
                observed = chat.step(to_reply(state.output))
                if observed.kind is not None:
                    kinds[observed.kind] += 1
                    transcript().info({"kind": observed.kind.value}, source="cheaptalk")
            table = chat.table
            result = None if table.outcome is None else table.result()
            forfeited = seat in table.forfeited
            outcome = achieved(chat.game, seat, result, kinds, forfeited=forfeited)
            state.store.set(ACHIEVED, outcome)
            return state

        return solve

    decorated: Callable[..., Any] = inspect_part("inspect_ai.solver").solver(play)
    return decorated


@cache
def _tasks() -> dict[str, Any]:
    scorers(), _solver()
    return {name: _task(name) for name in games()}


def _task(game: str) -> Any:
    def made(
        parameters: Any = None,
        seat: Any = None,
        other: Any = "random",
        instances: Any = 10,
        seed: Any = "inspect",
        **player: Any,
    ) -> Any:
        return inspect_task(game, parameters, seat, other, instances=instances, seed=seed, **player)

    made.__doc__ = get_game(game).rules.__doc__
    return inspect_part("inspect_ai").task(name=game)(made)


def __getattr__(name: str) -> Any:
    """Register all games as Inspect tasks when ``TASKS`` is accessed."""
    if name == "TASKS":
        return _tasks()
    raise AttributeError(name)
