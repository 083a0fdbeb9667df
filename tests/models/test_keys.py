"""A key is sent only to its own host, and appears in no reply, log, store or export."""

import itertools
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from aiohttp import web

import cheaptalk as ct
from cheaptalk.mock_models.formats import completion
from cheaptalk.models import ChatMessage, ModelCall, ModelName, Reply
from cheaptalk.models.batches import BatchLine
from cheaptalk.models.clients import open_batches
from cheaptalk.models.http.failures import EndpointTrouble
from cheaptalk.models.http.secrets import scrubbed
from cheaptalk.models.http.transport import proxy_of
from tests import batch_server
from tests.attack.secrets import KEY, forms, leaks_in
from tests.conftest import Command
from tests.fakes import Server, at_home, study, with_model
from tests.models.serving import RequestHandler, always, exchange

CHAT = (ChatMessage(role="user", content='Answer as {"price": <amount>}.'),)
WIRES = {"openai": "openai/gpt-4o", "anthropic": "anthropic/claude-opus-4-1", "agent": "keyed/mine"}
"""A model by the name of its provider, one for each wire format."""
ECHOES = [form.decode("latin-1") for form in sorted(forms(KEY))]
ALL = " ".join(ECHOES)


def test_encoded_keys_are_redacted() -> None:
    for echo in ECHOES:
        redacted = scrubbed(f'price: 7\n"{echo}" \\u00e9 100%, as/ever', (KEY,))
        assert not leaks_in(redacted.encode("latin-1"), KEY)
        assert redacted.startswith('price: 7\n"')
        assert redacted.endswith('" \\u00e9 100%, as/ever')
        assert "[key]" in redacted


def test_similar_text_and_short_keys_are_not_redacted() -> None:
    part = b64encode(KEY[:14].encode()).decode()
    text = f"\\u0073k-Attack %73 {part} {KEY[:-1]} {KEY[1:]}"
    assert scrubbed(text, (KEY,)) == text
    for short in ["none", "EMPTY", "secret7"]:
        text = " ".join(form.decode("latin-1") for form in forms(short))
        assert scrubbed(text, (short,)) == text


def test_megabytes_of_backslashes_are_redacted() -> None:
    text = "\\" * 1_000_000 + KEY + "%" * 1_000_000
    assert scrubbed(text, (KEY,)) == "\\" * 1_000_000 + "[key]" + "%" * 1_000_000


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "VLLM", "KEYED"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
    keyed = ct.models.Provider("http://127.0.0.1:9", "KEYED_API_KEY", protocol="agent")
    monkeypatch.setitem(ct.models.PROVIDERS._all(), "keyed", keyed)


def replies(handler: RequestHandler, model: str, *, home: bool = True) -> tuple[Reply, Any]:
    (reply,), received = exchange(handler, f"{model}@{{url}}", home=home, messages=CHAT)
    return reply, received


def echo_answer(wire: str, text: str) -> dict[str, Any]:
    """Return an answer that repeats a text in all fields."""
    if wire == "openai":
        message = {"content": text, "reasoning": text}
        return {"choices": [{"message": message, "finish_reason": text}], "model": text}
    if wire == "anthropic":
        blocks = [{"type": "text", "text": text[:5]}, {"type": "text", "text": text[5:]}]
        return {"content": blocks, "model": text, "stop_reason": text}
    return {"text": text, "model": text}


def test_answers_are_redacted(keys: None) -> None:
    for wire in WIRES:
        reply, received = replies(always(echo_answer(wire, ALL)), WIRES[wire])
        assert KEY in str(received.headers)
        assert (reply.failure, reply.text) == (None, scrubbed(ALL, (KEY,)))
        assert not leaks_in(reply.model_dump_json(), KEY)


def test_error_messages_are_redacted(keys: None) -> None:
    detailed = {"error": {"message": f"no such key: {ALL}", "code": ALL}}
    shapes = [detailed, {"error": KEY}, [KEY], {KEY: {KEY: 1}}, {"error": "x" * 480 + KEY}]
    for status, wire, shape in itertools.product([200, 401], WIRES.values(), shapes):
        reply, _ = replies(always(shape, status), wire)
        assert not leaks_in(reply.model_dump_json(), KEY)
        assert KEY[:8] not in (reply.detail or "")


def test_error_pages_and_redirects_are_redacted(keys: None) -> None:
    def page(encoding: str) -> RequestHandler:
        async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
            return web.Response(body=f"<p>{ALL}".encode(encoding), status=500, reason=KEY)

        return handler

    async def redirect(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        location = f"https://me:hunter22@evil.example:81/v1?key={KEY}"
        return web.Response(status=307, headers={"Location": location})

    for wire in WIRES.values():
        for encoding in ("utf-8", "utf-16"):
            reply, _ = replies(page(encoding), wire)
            assert not leaks_in(reply.model_dump_json(), KEY)
        reply, _ = replies(redirect, wire)
        assert reply.detail == (
            "status 307: the server redirects to https://evil.example:81, and redirects are not "
            "followed; use that URL if it is correct"
        )


def test_streams_are_redacted_across_chunks(keys: None) -> None:
    async def stream(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for start in range(0, len(ALL), 5):
            choice = {"delta": {"content": ALL[start : start + 5]}}
            await response.write(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
        end = {"choices": [{"finish_reason": "stop"}]}
        await response.write(f"data: {json.dumps(end)}\n\ndata: [DONE]\n\n".encode())
        return response

    reply, _ = replies(stream, WIRES["openai"])
    assert reply.text == scrubbed(ALL, (KEY,))
    assert not leaks_in(reply.model_dump_json(), KEY)


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
@pytest.mark.parametrize("step", ["create", "results", "look"])
async def test_batches_are_redacted(wire: str, step: str, keys: None) -> None:
    failed, answers = {"message": "x" * 480 + KEY}, {name: echo_answer(name, ALL) for name in WIRES}
    results = [
        {
            "custom_id": "tag-0",
            "response": {"status_code": 200, "body": answers["openai"]},
            "result": {"type": "succeeded", "message": answers["anthropic"]},
        },
        {"custom_id": "tag-1", "error": failed, "result": {"type": "errored", "error": failed}},
    ]
    ended = {
        "errors": {"data": [{"message": ALL}]},
        "status": "failed",
        "created_at": 1 if wire == "openai" else "2026-01-01T00:00:00Z",
        "processing_status": ALL,
        "request_counts": {},
    }
    responses = {
        "create": (400, json.dumps({"error": {"message": ALL}})),
        "results": (200, "\n".join(json.dumps(line) for line in results)),
        "look": (200, json.dumps({"id": "batch_0"} | ended)),
    }

    async def special(now: str, request: web.Request) -> web.StreamResponse | None:
        status, text = responses[step]
        return web.Response(text=text, status=status) if now == step else None

    with batch_server.BatchServer(looks=0, before=special) as endpoint, at_home(wire, endpoint.url):
        call = ModelCall(model=f"{WIRES[wire]}@{endpoint.url}", messages=CHAT)
        server = open_batches(ModelName.parse(call.model))
        try:
            name = await server.submit("tag", [BatchLine("tag-0", call)])
            output = str(await server.look(name))
            if step == "results" or wire == "openai":
                output += str(await server.results(name))
        except EndpointTrouble as trouble:
            output = str(trouble)
        finally:
            await server.close()
    assert "[key]" in output
    assert not leaks_in(output, KEY)
    assert f"x{KEY[:3]}" not in output


def echo_key(status: int) -> Callable[..., Awaitable[web.StreamResponse]]:
    """Return a request handler that repeats the received key in all fields."""

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        data = completion(body, ALL) | {"model": ALL, "system_fingerprint": ALL}
        if status != 200:
            data["error"] = {"message": ALL, "code": ALL}
        return web.json_response(data, status=status, headers={"X-Said": KEY}, reason=KEY)

    return handler


@pytest.mark.parametrize("status", [200, 401])
def test_store_and_export_contain_no_key(
    status: int, tmp_path: Path, keys: None, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        Server(handler=echo_key(status)) as server,
        at_home("vllm", server.url),
        ct.Store.open(tmp_path / "keys.sqlite", create=True) as store,
    ):
        progress = ct.run(study(**with_model(server.url) | {"instances": 1}), store)
        ct.export(store, "small", tmp_path / "out", "jsonl")
        records = [record.as_json() for record in store.records("small", bodies=True)]
    assert len(records) == 2
    assert not leaks_in(f"{progress} {records} {caplog.text}", KEY)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 2
    assert not any(leaks_in(path.read_bytes(), KEY) for path in files)


def test_key_is_sent_only_to_its_scheme_host_and_port(keys: None) -> None:
    for wire in WIRES:
        reply, received = replies(always({"error": "no key"}, 401), WIRES[wire], home=False)
        assert KEY not in str(received.headers)
        explained = "no key is sent to a URL in a model string" in (reply.detail or "")
        assert explained is (wire != "agent")
    assert ModelName.parse("openai/gpt-4o@https://API.openai.com:443/v2").key == KEY
    for url in [
        "http://api.openai.com/v1",
        "https://api.openai.com:8443/v1",
        "https://api.openai.com.gpu/v1",
        "https://gpu/api.openai.com",
    ]:
        assert ModelName.parse(f"openai/gpt-4o@{url}").key is None


def test_key_is_not_sent_over_plain_http(keys: None) -> None:
    for url, error in [
        ("http://gpu/v1", "would be sent over plain http: change its entry's URL to https"),
        ("http://127.0.0.1:81/v1", None),
        ("http://[::1]:81/v1", None),
        ("https://gpu/v1", None),
    ]:
        with at_home("vllm", url):
            problem = ct.models.missing_requirement("vllm/tiny")
            assert (problem is None) if error is None else (error in (problem or ""))
            assert ModelName.parse("vllm/tiny").key == (KEY if error is None else None)


PASSWORD = "pass%2Fword+42"  # noqa: S105 - only for tests


@pytest.mark.parametrize("answers", [True, False])
async def test_proxy_password_is_redacted(
    answers: bool, keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials: list[str] = []

    async def proxy(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        credentials.append(request.headers["Proxy-Authorization"])
        message = f"{credentials[-1]} me:{PASSWORD} {unquote(PASSWORD)}"
        return web.json_response({"error": {"message": message}}, status=407, reason=message)

    with Server(handler=proxy) as server:
        host = server.url.removeprefix("http://").removesuffix("/v1") if answers else "127.0.0.1:9"
        monkeypatch.setenv("http_proxy", f"http://me:{PASSWORD}@{host}")
        monkeypatch.setenv("no_proxy", "")
        proxy_of.cache_clear()
        call = ModelCall(model="vllm/tiny@http://far.example/v1", messages=CHAT)
        async with ct.models.clients.AllModels() as models:
            reply = await models.call(call, "m/0/alice/0/1", 30)
        proxy_of.cache_clear()
    assert bool(credentials) is answers
    assert reply.detail is not None
    for secret in (PASSWORD, unquote(PASSWORD)):
        assert not leaks_in(reply.model_dump_json(), secret)
    if not answers:
        assert (reply.detail or "").startswith("no proxy answers at 127.0.0.1:9 (Connection ref")


STUDY = """
name: small
games: [{game: bargaining}]
players: {tiny: {model: "vllm/tiny@https://h/v1?api_key=hunter22"}}
pairing: self
"""
ROSTER = "players: {tiny: {model: 'vllm/tiny@https://me:hunter22@h/v1'}}"


@pytest.mark.parametrize(
    "command",
    [
        ("run", "quickstart", "--model", "x=https://me:hunter22@h/v1"),
        ("run", "quickstart", "--model", "x={model: vllm/tiny@https://h/gsk_hunter22, x: [}"),
        ("run", "small.yaml"),
        ("run", "quickstart", "--roster", "roster.yaml"),
        ("play", "bargaining", "--opponent", "vllm/tiny@http://me:hunter22@h/v1"),
        ("model", "prompt", "bargaining", "--model", "vllm/tiny@http://me:hunter22@h/v1"),
        ("model", "prices", "vllm/tiny@http://me:hunter22@h/v1"),
    ],
)
def test_commands_reject_secrets_in_urls_without_echo(
    cheaptalk: Command, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "small.yaml").write_text(STUDY)
    (tmp_path / "roster.yaml").write_text(ROSTER)
    done = cheaptalk(*command)
    assert done.status == 2
    assert "hunter" not in done.out + done.err
    assert {path.name for path in tmp_path.iterdir()} == {"small.yaml", "roster.yaml"}


def test_model_strings_with_secrets_are_rejected_without_echo() -> None:
    for model in [
        "vllm/tiny@HTTPS://h/v1#access_token=hunter22",
        "openai-compatible/https://me:hunter22@h/v1",
        "openai-compatible/tiny@http://:hunter22@gpu:8000/v1",
        "vllm/tiny@me:hunter22@h:80/v1",
        "openai/me:hunter22@h.example",
        "vllm/tiny@http://h/v1?x=sk-hunter22hunter22",
        "vllm/tiny@http://me:hunter/22@h/v1",
        "vllm/tiny@h/v1?api_key=hunter22",
        "vllm/tiny@h/sk-hunter22/v1",
        "vllm/tiny@sk-hunter22",
    ]:
        with pytest.raises(ValueError, match=r"remove|URL|port") as caught:
            ModelName.parse(model)
        assert "hunter" not in str(caught.value)


def test_only_secrets_in_urls_are_rejected_without_echo() -> None:
    for segment in [
        "sk-proj-abc123DEF456",
        "sk%2Dant-api03-x_yz",
        "xai-0123456789",
        "AIzaSyA1234567890abcdefgh",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig",
        "9f3c1b7e5a2d4f60" * 4,
        "Zk3vQ9xT1mB7yL5cR2wN8pD4sH6gJ0aF",
    ]:
        with pytest.raises(ValueError, match="remove the key in its path from the URL") as caught:
            ModelName.parse(f"vllm/tiny@https://h/{segment}/v1")
        assert segment not in str(caught.value)
    for path in [
        "gateway.ai.example/v1/023e105f4ecef8ad9ca31a8372d0c353/my-gateway/openai",
        "h/3f2504e0-4f89-11d3-9a0c-0305e82c3301/v1",
        "h/openai/deployments/Meta-Llama-3-1-70B-Instruct-Turbo-2024-08-prod/v1",
        "h/MyCompanyGpt4oProductionDeployment2024/v1",
        "x7k2m9q4w1z8r5t3y6u0p2a4s7d9f1g3.lambda-url.example/v1",
        "h/v1?api-version=2026-01-01",
        "h/v1?model=monkey",
    ]:
        assert ModelName.parse(f"vllm/tiny@https://{path}").url == f"https://{path}"
