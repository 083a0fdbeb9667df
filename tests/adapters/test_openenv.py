"""A seat on an OpenEnv server, played by OpenEnv's own client over its WebSocket."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Thread
from time import sleep
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.adapters import chat_environment, openenv_app

pytestmark = pytest.mark.lm
SEAT: dict[str, Any] = {"other": "fair", "style": "tagged"}
TAKEN = "[message] Instance. I take 0 books, 0 hats and 0 balls."
PROPOSED = "[propose] (0 books, 0 hats, 0 balls)"


@contextmanager
def served(app: Any) -> Iterator[str]:
    """The address of an application that is served by this process."""
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


def test_its_own_client_plays_two_matches_at_once_as_they_are_played_here() -> None:
    client = import_module("openenv").GenericEnvClient
    here = chat_environment("deal_or_no_deal", {"objective": "coop"}, "player_2", **SEAT)
    app = openenv_app("deal_or_no_deal", {"objective": "coop"}, "player_2", **SEAT)
    with (
        served(app) as url,
        client(base_url=url).sync() as one,
        client(base_url=url).sync() as other,
    ):
        for seed, table in ((7, one), (8, other)):
            told = table.reset(seed=seed)
            wanted = [
                {"role": m.role, "content": m.content} for m in here.reset(str(seed)).messages
            ]
            assert (told.observation["messages"], told.done) == (wanted, False)
        assert one.reset(seed=8).observation["messages"] == wanted
        taken = one.step({"text": TAKEN})
        assert (taken.observation["kind"], taken.done, taken.reward) == ("ok", False, None)
        ended = one.step({"text": PROPOSED})
        here.step(TAKEN)
        assert (ended.done, ended.reward) == (True, here.step(PROPOSED).reward)
        assert one.state()["step_count"] == 2
        with pytest.raises(Exception, match="start a match with reset"):
            one.step({"text": TAKEN})


def test_a_wrong_setting_is_said_before_anyone_is_served() -> None:
    with pytest.raises(ct.CheaptalkError, match="no seat"):
        openenv_app("deal_or_no_deal", seat="player_3")
