"""Answers of llama.cpp's server to the requests of all games."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from docs.blocks import free_port

import cheaptalk as ct
from cheaptalk.models import AnswerForm, ModelCall, ModelSettings, Reply
from cheaptalk.models.clients import AllModels
from cheaptalk.models.local.files import missing_files, model_files
from tests.fakes import study
from tests.models.test_real_server import wait_for

SERVER = shutil.which("llama-server")
pytestmark = [
    pytest.mark.lm,
    pytest.mark.skipif(SERVER is None, reason="no llama-server is on PATH"),
    pytest.mark.skipif(missing_files("smollm2") is not None, reason="smollm2 is not installed"),
]
SETTINGS = ModelSettings(max_tokens=100, seed=1)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve smollm2 and yield its model string."""
    files, port = model_files("smollm2"), free_port()
    file = str(Path(files.source) / str(files.gguf_file))
    log = tmp_path_factory.mktemp("llamacpp") / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(SERVER), "-m", file, "--threads", "1", "--port", str(port)],
            stdout=output,
            stderr=output,
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/health", process, log)
        yield f"llamacpp/smollm2@http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def test_first_answer_in_each_game_follows_its_schema(model: str) -> None:
    calls = {}
    for game in ct.rules.games():
        match = ct.Match(game, seed="first")
        actor, ask = next(iter(match.table.pending.items()))
        form = AnswerForm(name="Answer", json_schema=ask.schema)
        messages = tuple(ct.players.messages(match.table, actor))
        calls[game] = ModelCall(model=model, messages=messages, settings=SETTINGS, form=form)

    async def replies() -> list[Reply]:
        async with AllModels() as models:
            jobs = [models.call(call, game, 300) for game, call in calls.items()]
            return await asyncio.gather(*jobs)

    for game, reply in zip(calls, asyncio.run(replies()), strict=True):
        assert (reply.failure, reply.route) == (None, "schema"), f"{game}: {reply.detail}"
        assert min(reply.usage.input_tokens, reply.usage.output_tokens) > 0
        if reply.finish == "stop":
            assert not violations(calls[game], reply), f"{game}: {reply.text}"


def violations(call: ModelCall, reply: Reply) -> list[Any]:
    """Return violations of a call's schema; llama.cpp ignores the bounds of numbers."""
    assert call.form is not None
    validator = import_module("jsonschema").Draft202012Validator(call.form.json_schema)
    errors = validator.iter_errors(json.loads(reply.text or ""))
    return [error for error in errors if error.schema.get("type") != "number"]


def test_model_without_free_text_needs_one_call_per_answer(model: str, store: ct.Store) -> None:
    spec = study(
        games=[{"game": "guess_the_average", "fixed": {"rounds": 1}}],
        players={"lm": {"model": model}, "chance": "random"},
        pairing=[{"lm": 2, "chance": 8}],
    )
    ct.run(spec, store)
    for record in store.records("small", bodies=True):
        assert record.status == "finished"
        attempts = [len(answer.calls) for answer in record.answers if answer.calls]
        assert attempts == [1] * record.calls
