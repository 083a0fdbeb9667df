"""OpenEnv environment for a seat: a server for training on many matches in parallel.

OpenEnv's clients, and trainers that build on them (trl, verifiers and others), send each response
and receive the next chat to answer, and the reward at the end.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any
from uuid import uuid4

from cheaptalk.adapters.chat import Observed, chat_environment
from cheaptalk.rules.registry import GameLike


def openenv_app(
    game: GameLike,
    parameters: Mapping[str, Any] | None = None,
    seat: str | None = None,
    other: str | Mapping[str, Any] = "random",
    *,
    sessions: int = 64,
    **player: Any,
) -> Any:
    """Return an OpenEnv server for a seat, to be run by uvicorn; requires ``[openenv]``.

    An action has a ``text``; an observation has ``messages`` and ``kind``, the kind of the previous
    answer. Equal seeds give the same instance.

    Args:
        sessions: maximum number of concurrent matches; see :func:`chat_environment` for the others.

    Returns:
        A FastAPI application.

    Raises:
        CheaptalkError: there is no such game or seat, or a setting is invalid.
        ImportError: OpenEnv isn't installed.
    """
    core = import_module("openenv.core.env_server")

    class Answer(core.Action):  # type: ignore[misc, name-defined]
        text: str

    class ChatObservation(core.Observation):  # type: ignore[misc, name-defined]
        messages: list[dict[str, str]]
        kind: str | None = None

    def observe(now: Observed) -> Any:
        messages = [message.model_dump(include={"role", "content"}) for message in now.messages]
        reward = now.reward if now.over else None
        return ChatObservation(messages=messages, kind=now.kind, done=now.over, reward=reward)

    class Seat(core.Environment):  # type: ignore[misc, name-defined]
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self._chat = chat_environment(game, parameters, seat, other, **player)
            self._state = core.State()

        def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> Any:
            self._state = core.State(episode_id=episode_id or uuid4().hex)
            return observe(self._chat.reset(self._state.episode_id if seed is None else str(seed)))

        def step(self, action: Any, timeout_s: float | None = None, **_: Any) -> Any:
            now = self._chat.step(action.text)
            self._state.step_count += 1
            return observe(now)

        @property
        def state(self) -> Any:
            return self._state

    Seat()  # reports errors before the first client connects
    return core.create_app(
        Seat, Answer, ChatObservation, env_name=f"cheaptalk {game}", max_concurrent_envs=sessions
    )
