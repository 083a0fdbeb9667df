"""A match with a real server: transformers serves a model with random weights."""

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError

import pytest
from docs.blocks import free_port

import cheaptalk as ct
from tests.cli.terminal import unmeasured
from tests.fakes import study
from tests.tiny_model import make_tiny_model

pytestmark = pytest.mark.lm
PATIENCE = 120.0
MAX_TOKENS = 24
"""Maximum tokens of an answer."""


def wait_for(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until a server is healthy."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - our own server
                return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    raise AssertionError(f"the server did not start: {log.read_text()}")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a tiny model and yield its URL."""
    folder = tmp_path_factory.mktemp("models")
    make_tiny_model(folder / "tiny")
    port, log = free_port(), folder / "server.log"
    command = [str(Path(sys.executable).parent / "transformers"), "serve", "tiny"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--device", "cpu", "--port", str(port), "--default-seed", "1"],
            cwd=folder,
            env=unmeasured() | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder)},
            stdout=output,
            stderr=output,
        )
    try:
        wait_for(f"http://localhost:{port}/health", process, log)
        yield f"http://localhost:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def test_babbling_model_forfeits_with_exact_token_counts(url: str, store: ct.Store) -> None:
    tries = 3
    model = {
        "model": f"vllm/tiny@{url}",
        "temperature": 0.8,
        "max_tokens": MAX_TOKENS,
        "tries": tries,
    }
    spec = study(
        games=[{"game": "bargaining", "fixed": {"horizon": 2}}],
        players={"babbler": model, "fair": {"strategy": "equal_split"}},
        pairing=[["babbler", "fair"], ["fair", "babbler"]],
    )
    ct.studies.run(spec, store)
    first, second = store.records("small", bodies=True)
    assert (first.status, first.reason) == ("forfeited", "forfeited by alice")
    assert (second.status, second.reason) == ("forfeited", "forfeited by bob")
    for record in (first, second):
        (answer,) = [given for given in record.answers if given.calls]
        assert answer.kind in {"unparsable", "truncated"}
        assert len(answer.calls) == record.calls == tries
        for call in answer.calls:
            reply, texts = call["reply"], [turn["content"] for turn in call["call"]["messages"]]
            usage = reply["usage"]
            assert reply["model"].partition("@")[0] == "tiny"  # and the revision before 5.24
            assert usage["input_tokens"] == sum(len(text.encode()) + 2 for text in texts) + 1
            assert 0 < usage["output_tokens"] <= MAX_TOKENS
            assert (reply["finish"] == "length") == (usage["output_tokens"] == MAX_TOKENS)
        replies = [call["reply"] for call in answer.calls]
        assert record.input_tokens == sum(turn["usage"]["input_tokens"] for turn in replies)
        assert record.output_tokens == sum(turn["usage"]["output_tokens"] for turn in replies)
        assert len({turn["text"] for turn in replies}) == tries, "nothing was drawn at random"
