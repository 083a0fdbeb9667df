"""The mock server plays every game legally, in every format, and deterministically."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

import cheaptalk as ct
from cheaptalk.loopback import listening
from cheaptalk.mock_models import Batches, answer
from cheaptalk.models.http.batches import AnthropicBatches, BatchClient, OpenAIBatches
from cheaptalk.models.model_strings import ModelName
from cheaptalk.records import Store
from tests.attack.wires import WIRES
from tests.conftest import Command
from tests.fakes import Canned, Server, study, with_model

GAMES = sorted(ct.rules.games())
HELLO = {"role": "user", "content": "Hello."}
MESSAGES = [{"role": "user", "content": 'A number from 3 to 900: {"bid": <whole number>}'}]


def collect_kinds(store: Store, name: str) -> set[tuple[str, str]]:
    return {
        (match.status, kind)
        for match in store.records(name)
        for kinds in match.kinds.values()
        for kind in kinds
    }


def collect_verdicts(
    judge: ct.judges.Judge, player: object, store: Store, instances: int = 3
) -> set[str]:
    """Return the mock judge's verdicts on a player's self-play matches; all must be valid."""
    game = (judge.rubric.games or GAMES)[0]
    spec = {"name": game, "instances": instances, "games": [{"game": game}], "pairing": "self"}
    spec["players"] = {"judged": player}
    ct.run(ct.studies.parse_study(spec, game), store, models=Canned())
    judging = ct.judges.judge(store, game, judge, models=Canned())
    assert judging.judged > 0
    assert set(judging.kinds) == {"ok"}
    return set(judging.verdicts)


def test_mock_judge_returns_valid_verdicts(store: Store) -> None:
    for rubric in ["claims", "hallucination", "honesty", "promises"]:
        judge = ct.judges.judge_of(rubric, "vllm/tiny")
        assert collect_verdicts(judge, {"model": "vllm/tiny"}, store) <= set(judge.rubric.labels)
    judge = ct.judges.judge_of("hallucination", "vllm/tiny")
    verdicts = collect_verdicts(judge, {"strategy": "noisy"}, store, instances=8)
    assert verdicts == set(judge.rubric.labels)
    for item in ["move", "seat", "match"]:
        scale = {"low": -2, "high": 1, "low_means": "hostile", "high_means": "warm"}
        fields = {"name": "warmth", "games": ["deal_or_no_deal"], "item": item, "scale": scale}
        scaled = ct.judges.Rubric.model_validate({**fields, "question": "How warm is it?"})
        judge = ct.judges.judge_of(scaled, "vllm/tiny")
        assert collect_verdicts(judge, {"strategy": "noisy"}, store) <= set(scaled.labels)


def test_every_wire_format_is_supported(store: Store) -> None:
    for wire in WIRES.values():
        with Server(paths=[wire.path]) as server:
            spec = with_model()
            spec["players"]["tiny"] = {"model": wire.model(server.root)}
            ct.run(study(**spec), store)
        assert collect_kinds(store, "small") == {("finished", "ok")}


def test_answers_are_deterministic_for_each_seed() -> None:
    assert answer(MESSAGES) == answer(MESSAGES)
    assert len({answer(MESSAGES, seed) for seed in range(10)}) > 5


def test_port_in_use_prints_error(cheaptalk: Command) -> None:
    with listening(0) as taken:
        done = cheaptalk("model mock-server --port", str(taken.getsockname()[1]))
    problem = "cannot be used (Address already in use); choose another port"
    assert problem in done.rejection


@pytest.fixture
def server_process() -> Iterator[subprocess.Popen[str]]:
    """Run the command so that half of its calls fail."""
    command = "-m cheaptalk model mock-server --port 0 --error-rate 0.5"
    with subprocess.Popen(
        [sys.executable, *command.split()], stdout=subprocess.PIPE, text=True
    ) as server:
        yield server
        server.kill()


@pytest.mark.kill
def test_command_serves_until_terminated(server_process: subprocess.Popen[str]) -> None:
    assert server_process.stdout is not None
    port = re.findall(r"vllm/tiny@http://127.0.0.1:(\d+)/v1", server_process.stdout.readline())[0]
    with closing(HTTPConnection("127.0.0.1", int(port), timeout=60)) as client:
        body = {"model": "any", "messages": MESSAGES}
        statuses = [post(client, f"call {number}", body) for number in range(20)]
        number = f"call {statuses.index(200)}"
        broken = send(client, number, {"model": "any"})
        unclear = send(client, number, {"model": "any", "messages": [HELLO]})
    server_process.terminate()
    assert server_process.wait(60) == 0
    assert set(statuses) == {200, 503}
    assert broken[0] == unclear[0] == 400
    assert "expected the JSON of a chat completion" in broken[1]
    assert "finds no answer format in the request: send a JSON schema" in unclear[1]


@pytest.mark.parametrize(
    ("client", "kind"), [(OpenAIBatches, "chat"), (AnthropicBatches, "messages")]
)
def test_batches_report_unclear_requests_as_errors(
    client: Callable[[ModelName], BatchClient], kind: str
) -> None:
    line = Batches().result("line", {"model": "any", "messages": [HELLO]}, kind)
    assert line is not None
    reply = client(ModelName.parse("openai/any@http://127.0.0.1:9/v1")).reply(line)
    assert reply is not None
    assert (reply.status, reply.retry) == (400, False)
    assert "finds no answer format in the request" in (reply.detail or "")


def test_mock_server_runs_in_thread_and_leaves_nothing_behind() -> None:
    before = set(threading.enumerate())
    with ct.mock_server(lambda messages: messages[-1]["content"].upper(), delay=0.01) as url:
        host = urlsplit(url).netloc
        with closing(HTTPConnection(host, timeout=60)) as client:
            status, text = send(client, "call 1", {"model": "any", "messages": MESSAGES})
    assert status == 200
    assert "A NUMBER FROM 3" in text
    assert set(threading.enumerate()) == before
    with closing(HTTPConnection(host)) as client, pytest.raises(ConnectionRefusedError):
        client.connect()


def test_mock_server_fails_at_the_error_rate() -> None:
    with (
        ct.mock_server(error_rate=1) as url,
        closing(HTTPConnection(urlsplit(url).netloc, timeout=60)) as client,
    ):
        assert post(client, "call 1", {"model": "any", "messages": MESSAGES}) == 503


def post(client: HTTPConnection, number: str, body: object) -> int:
    return send(client, number, body)[0]


def send(client: HTTPConnection, number: str, body: object) -> tuple[int, str]:
    client.request("POST", "/v1/chat/completions", json.dumps(body), {"X-Cheaptalk-Call": number})
    with client.getresponse() as response:
        return response.status, response.read().decode()
