"""The stand-in answers every game legally, in every format, and always alike."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from threading import Thread

import pytest

import cheaptalk as ct
from cheaptalk.loopback import listening
from cheaptalk.mock_server import answer, serve
from cheaptalk.records import Store
from tests.attack.wires import WIRES, Wire
from tests.conftest import Command
from tests.fakes import Canned, Server, study, with_model

GAMES = sorted(ct.rules.games())
QUESTION = [{"role": "user", "content": 'A number from 3 to 900: {"bid": <whole number>}'}]


def kinds_of(store: Store, name: str) -> set[tuple[str, str]]:
    """How the matches of a study ended, and the kinds of answers in them."""
    return {
        (match.status, kind)
        for match in store.records(name) for kinds in match.kinds.values() for kind in kinds
    }  # fmt: skip


@pytest.mark.parametrize("game", GAMES)
def test_it_plays_every_game_legally(game: str, store: Store) -> None:
    players = {"pretended": {"model": "vllm/tiny"}}
    told = {"name": game, "games": [{"game": game}], "players": players, "pairing": "self"}
    ct.run(ct.studies.parse_study(told, game), store, models=Canned())
    assert kinds_of(store, game) == {("finished", "ok")}


def verdicts_of(judge: ct.judges.Judge, player: object, store: Store) -> set[str]:
    """The stand-in's verdicts of a player's matches with itself, each at the first asking."""
    game = (judge.rubric.games or GAMES)[0]
    told = {"name": game, "instances": 10, "games": [{"game": game}], "pairing": "self"}
    told["players"] = {"judged": player}
    ct.run(ct.studies.parse_study(told, game), store, models=Canned())
    judging = ct.judges.judge(store, game, judge, models=Canned())
    assert judging.judged > 0
    assert set(judging.kinds) == {"ok"}
    return set(judging.verdicts)


@pytest.mark.parametrize("rubric", ["claims", "hallucination", "honesty", "promises"])
def test_it_gives_verdicts(rubric: str, store: Store) -> None:
    judge = ct.judges.judge_of(rubric, "vllm/tiny")
    assert verdicts_of(judge, {"model": "vllm/tiny"}, store) <= set(judge.rubric.labels)


def test_it_gives_every_verdict_of_a_rubric(store: Store) -> None:
    judge = ct.judges.judge_of("hallucination", "vllm/tiny")
    assert verdicts_of(judge, {"strategy": "noisy"}, store) == set(judge.rubric.labels)


@pytest.mark.parametrize("item", ["move", "seat", "match"])
def test_it_judges_on_a_scale(item: str, store: Store) -> None:
    scale = {"low": -2, "high": 1, "low_means": "hostile", "high_means": "warm"}
    told = {"name": "warmth", "games": ["deal_or_no_deal"], "item": item, "scale": scale}
    rubric = ct.judges.Rubric.model_validate({**told, "question": "How warm is it?"})
    judge = ct.judges.judge_of(rubric, "vllm/tiny")
    assert verdicts_of(judge, {"strategy": "noisy"}, store) <= set(rubric.labels)


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_it_answers_in_every_format(wire: Wire, store: Store) -> None:
    with Server(paths=[wire.path]) as server:
        told = with_model()
        told["players"]["tiny"] = {"model": wire.model(server.root)}
        ct.run(study(**told), store)
    assert kinds_of(store, "small") == {("finished", "ok")}


def test_it_answers_alike_but_for_another_seed() -> None:
    assert answer(QUESTION) == answer(QUESTION)
    assert len({answer(QUESTION, seed) for seed in range(10)}) > 5


def test_a_number_lies_between_the_bounds_that_the_question_names() -> None:
    bids = [json.loads(answer(QUESTION, seed)[26:-4])["bid"] for seed in range(50)]
    assert min(bids) < 100 < 800 < max(bids)
    assert all(3 <= bid <= 900 for bid in bids)


def test_a_port_that_is_taken_is_one_sentence(cheaptalk: Command) -> None:
    with listening(0) as taken:
        done = cheaptalk("model", "mock-server", "--port", str(taken.getsockname()[1]))
    assert done.status == 2
    assert "cannot be used (Address already in use); choose another with --port" in done.err


@pytest.fixture
def command() -> Iterator[subprocess.Popen[str]]:
    """The command, with half of its calls failing."""
    words = [
        sys.executable,
        "-m",
        "cheaptalk",
        "model",
        "mock-server",
        "--port",
        "0",
        "--error-rate",
        "0.5",
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        yield server
        server.kill()


@pytest.mark.kill
def test_the_command_serves_until_it_is_stopped(command: subprocess.Popen[str]) -> None:
    assert command.stdout is not None
    port = re.findall(r"vllm/tiny@http://127.0.0.1:(\d+)/v1", command.stdout.readline())[0]
    with closing(HTTPConnection("127.0.0.1", int(port), timeout=60)) as there:
        asked = {"model": "any", "messages": QUESTION}
        statuses = [posted(there, f"call {number}", asked) for number in range(20)]
        broken = posted(there, f"call {statuses.index(200)}", {"model": "any"})
    command.terminate()
    assert command.wait(60) == 0
    assert set(statuses) == {200, 503}
    assert broken == 400


def test_it_serves_in_a_thread() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as there:
        Thread(target=serve, args=(there,), daemon=True).start()
        with closing(HTTPConnection("127.0.0.1", there.getsockname()[1], timeout=60)) as client:
            assert posted(client, "call 1", {"model": "any", "messages": QUESTION}) == 200


def posted(there: HTTPConnection, number: str, body: object) -> int:
    """The status of the answer to a call."""
    there.request("POST", "/v1/chat/completions", json.dumps(body), {"X-Cheaptalk-Call": number})
    with there.getresponse() as response:
        response.read()
        return response.status
