"""A seat on an OpenEnv server, played by OpenEnv's own client over WebSocket."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Thread
from time import sleep
from typing import Any

import pytest

from cheaptalk.adapters import chat_environment, openenv_app

pytestmark = pytest.mark.lm
SEAT: dict[str, Any] = {"other": "fair", "style": "tagged"}
TAKEN = "[message] Instance. I take 0 books, 0 hats and 0 balls."
PROPOSED = "[propose] (0 books, 0 hats, 0 balls)"


@contextmanager
def serve(app: Any) -> Iterator[str]:
    """Serve an application in this process and yield its URL."""
    uvicorn = import_module("uvicorn")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            sleep(0.01)
        yield "http://{}:{}".format(*listening.getsockname())
        server.should_exit = True
        thread.join()


def test_openenv_client_plays_concurrent_matches_as_locally() -> None:
    client = import_module("openenv").GenericEnvClient
    local = chat_environment("deal_or_no_deal", {"objective": "coop"}, "player_2", **SEAT)
    app = openenv_app("deal_or_no_deal", {"objective": "coop"}, "player_2", **SEAT)
    with (
        serve(app) as url,
        client(base_url=url).sync() as first,
        client(base_url=url).sync() as other,
    ):
        for seed, table in ((7, first), (8, other)):
            reset = table.reset(seed=seed)
            expected = [
                {"role": m.role, "content": m.content} for m in local.reset(str(seed)).messages
            ]
            assert (reset.observation["messages"], reset.done) == (expected, False)
        assert first.reset(seed=8).observation["messages"] == expected
        step = first.step({"text": TAKEN})
        assert (step.observation["kind"], step.done, step.reward) == ("ok", False, None)
        ended = first.step({"text": PROPOSED})
        local.step(TAKEN)
        assert (ended.done, ended.reward) == (True, local.step(PROPOSED).reward)
        assert first.state()["step_count"] == 2
        with pytest.raises(Exception, match="start a match with reset"):
            first.step({"text": TAKEN})
