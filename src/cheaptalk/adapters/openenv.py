"""A seat as an environment of OpenEnv: a server with which trainers play, many matches at once.

OpenEnv's clients, and trainers that build on them (trl, verifiers and others), send each answer and
get the chat that is to be answered next, and at the end the reward.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any
from uuid import uuid4

from cheaptalk.adapters.chat import Observed, chat_environment


def openenv_app(
    game: str,
    parameters: Mapping[str, Any] | None = None,
    seat: str | None = None,
    other: str | Mapping[str, Any] = "random",
    *,
    sessions: int = 64,
    **player: Any,
) -> Any:
    """The server of a seat, for uvicorn; it needs ``[openenv]``.

    An action has a ``text``; an observation has ``messages``, and ``kind``, which says what became
    of the answer before. Equal seeds deal alike.

    Args:
        parameters: those of the game that are not its defaults.
        seat: which seat is played; the first one's if not said.
        other: a strategy that plays all other seats, or it with its settings.
        sessions: matches at once at most.
        player: how the seat is asked, such as ``style="tagged"``.

    Returns:
        An application of FastAPI.

    Raises:
        CheaptalkError: there is no such game or seat, or a setting is wrong.
        ImportError: OpenEnv is not installed.
    """
    core = import_module("openenv.core.env_server")

    class Answer(core.Action):  # type: ignore[misc, name-defined]
        text: str

    class Asked(core.Observation):  # type: ignore[misc, name-defined]
        messages: list[dict[str, str]]
        kind: str | None = None

    def asked(now: Observed) -> Any:
        told = [one.model_dump(include={"role", "content"}) for one in now.messages]
        reward = now.reward if now.over else None
        return Asked(messages=told, kind=now.kind, done=now.over, reward=reward)

    class Seat(core.Environment):  # type: ignore[misc, name-defined]
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self._chat = chat_environment(game, parameters, seat, other, **player)
            self._state = core.State()

        def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> Any:
            self._state = core.State(episode_id=episode_id or uuid4().hex)
            return asked(self._chat.reset(self._state.episode_id if seed is None else str(seed)))

        def step(self, action: Any, timeout_s: float | None = None, **_: Any) -> Any:
            now = self._chat.step(action.text)
            self._state.step_count += 1
            return asked(now)

        @property
        def state(self) -> Any:
            return self._state

    Seat()  # what is wrong is said here, not to the first client
    return core.create_app(
        Seat, Answer, Asked, env_name=f"cheaptalk {game}", max_concurrent_envs=sessions
    )
