"""A key goes to its own host, and is nowhere but there and in the environment."""

import asyncio
import json
import re
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from aiohttp import web

import cheaptalk as ct
from cheaptalk.mock_server.formats import completion
from cheaptalk.models import ChatMessage, ModelCall, ModelName, Reply
from cheaptalk.models.batch.protocol import BatchLine, BatchServer
from cheaptalk.models.clients import open_batches
from cheaptalk.models.http.failures import EndpointTrouble
from cheaptalk.models.http.secrets import scrubbed
from cheaptalk.models.http.transport import proxy_of
from tests import batch_server
from tests.conftest import Command
from tests.fakes import Server, at_home, study, with_model
from tests.models.serving import Answering, always, exchange

KEY = "sk-very/secret+42_Ω".replace("_Ω", "x")
ASKED = (ChatMessage(role="user", content='Answer as {"price": <amount>}.'),)
WIRES = {
    "openai": "openai/gpt-4o", "anthropic": "anthropic/claude-opus-4-1", "agent": "keyed/mine",
}  # fmt: skip
"""A model of each wire, by its provider's name."""


def escaped(key: str) -> str:
    return "".join(f"\\u{ord(one):04x}" for one in key)


ECHOES: dict[str, Callable[[str], str]] = {
    "as it is": lambda key: key,
    "in capitals": str.upper,
    "in JSON's escapes": escaped,
    "in JSON's escapes in part": lambda key: escaped(key[:3]) + key[3:],
    "in JSON's escapes in capitals": lambda key: escaped(key).upper(),
    "with escaped slashes": lambda key: key.replace("/", "\\/"),
    "in JSON in JSON": lambda key: json.dumps(escaped(key)),
    "in a URL": lambda key: "".join(f"%{ord(one):02X}" for one in key),
    "in a URL in a URL": lambda key: "".join(f"%25{ord(one):02x}" for one in key),
    "in UTF-16": lambda key: key.encode("utf-16-le").decode(),
    "in UTF-16 the other way": lambda key: key.encode("utf-16").decode("latin-1"),
    "in UTF-16 in escapes": lambda key: "\\u0000".join(key),
    "in base64": lambda key: b64encode(key.encode()).decode(),
    "in base64 behind one": lambda key: b64encode(b":" + key.encode() + b":1").decode(),
    "in base64 behind two": lambda key: b64encode(b"u:" + key.encode() + b"22").decode(),
    "in base64 for URLs": lambda key: urlsafe_b64encode(key.encode()).decode().rstrip("="),
    "in base64 of UTF-16": lambda key: b64encode(key.encode("utf-16-le")).decode(),
    "over two lines": lambda key: f"{key[:6]}\n{key[6:]}",
    "over two lines in JSON": lambda key: f"{key[:6]}\\n{key[6:]}",
    "with nothing between in JSON": lambda key: f"{key[:6]}\\u200b{key[6:]}",
}
"""How a server may repeat a key."""


def held(said: str | bytes, key: str = KEY) -> list[str]:
    """The ways in which a text or a file holds a key, found by undoing them one after the other."""
    text = said if isinstance(said, str) else said.decode("latin-1")
    found = []
    for _ in range(4):
        if key.casefold() in text.casefold():
            found.append("plain")
        for run in re.findall(r"[A-Za-z0-9+/_-]{16,}", text):
            for start in range(4):
                whole = run[start:].replace("+", "-").replace("/", "_")
                bytes_ = urlsafe_b64decode(whole[: len(whole) // 4 * 4])
                if key.encode() in bytes_.replace(b"\0", b""):
                    found.append("base64")
        undone = re.sub(r"\\[uU]00(..)", lambda one: chr(int(one[1], 16)), unquote(text))
        text = re.sub(r"\\u200b|\\n|[\\\0\r\n]", "", undone)
    return found


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_a_key_is_taken_out_however_it_is_written_and_nothing_else(
    echo: Callable[[str], str],
) -> None:
    assert held(echo(KEY))
    said = scrubbed(f'price: 7\n"{echo(KEY)}" \\u00e9 100%, as/ever', (KEY,))
    assert not held(said)
    assert said.startswith('price: 7\n"')
    assert said.endswith('" \\u00e9 100%, as/ever')
    assert "[key]" in said


def test_what_only_looks_like_a_key_is_left_alone() -> None:
    said = f"\\u0073k-very %73 {b64encode(b'sk-very/secret').decode()} {KEY[:-1]} {KEY[1:]}"
    assert scrubbed(said, (KEY,)) == said


@pytest.mark.parametrize("short", ["none", "EMPTY", "secret7"])
def test_a_key_that_is_only_a_word_is_no_secret(short: str) -> None:
    said = f"there is {short}, {escaped(short)}"
    assert scrubbed(said, (short,)) == said


def test_a_megabyte_of_backslashes_is_read_once() -> None:
    said = "\\" * 1_000_000 + KEY + "%" * 1_000_000
    assert scrubbed(said, (KEY,)) == "\\" * 1_000_000 + "[key]" + "%" * 1_000_000


ALL = " ".join(echo(KEY) for echo in ECHOES.values())


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "VLLM", "KEYED"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
    keyed = ct.models.Provider("http://127.0.0.1:9", "KEYED_API_KEY", protocol="agent")
    monkeypatch.setitem(ct.models.PROVIDERS._all(), "keyed", keyed)


def replies(answering: Answering, model: str, *, home: bool = True) -> tuple[Reply, Any]:
    def call(url: str) -> ModelCall:
        return ModelCall(model=f"{model}@{url}", messages=ASKED)

    (reply,), heard = exchange(answering, call, home=home)
    return reply, heard


def whole(wire: str, said: str) -> dict[str, Any]:
    """An answer that repeats something wherever it can."""
    if wire == "openai":
        message = {"content": said, "reasoning": said}
        return {"choices": [{"message": message, "finish_reason": said}], "model": said}
    if wire == "anthropic":
        blocks = [{"type": "text", "text": said[:5]}, {"type": "text", "text": said[5:]}]
        return {"content": blocks, "model": said, "stop_reason": said}
    return {"text": said, "model": said}


@pytest.mark.parametrize("wire", WIRES)
def test_no_answer_repeats_the_key(wire: str, keys: None) -> None:
    reply, heard = replies(always(whole(wire, ALL)), WIRES[wire])
    assert KEY in str(heard.headers)
    assert (reply.failure, reply.text) == (None, scrubbed(ALL, (KEY,)))
    assert not held(reply.model_dump_json())


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_no_complaint_repeats_the_key(wire: str, status: int, keys: None) -> None:
    shapes: list[Any] = [
        {"error": {"message": f"no such key: {ALL}", "code": ALL}}, {"error": KEY}, KEY, [KEY],
        {KEY: {KEY: 1}}, {"error": {"message": "x" * 480 + KEY}},
    ]  # fmt: skip
    for shape in shapes:
        reply, _ = replies(always(shape, status), WIRES[wire])
        assert not held(reply.model_dump_json())
        assert KEY[:8] not in (reply.detail or "")


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_no_page_repeats_the_key(wire: str, encoding: str, keys: None) -> None:
    async def page(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(body=f"<p>{ALL}".encode(encoding), status=500, reason=KEY)

    reply, _ = replies(page, WIRES[wire])
    assert not held(reply.model_dump_json())


def test_no_stream_repeats_the_key_piece_by_piece(keys: None) -> None:
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
    assert not held(reply.model_dump_json())


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
@pytest.mark.parametrize("step", ["create", "results", "look"])
def test_no_batch_repeats_the_key(wire: str, step: str, keys: None) -> None:
    async def special(now: str, request: web.Request) -> web.StreamResponse | None:
        if now != step:
            return None
        if step == "create":
            return web.json_response({"error": {"message": ALL}}, status=400)
        lines: dict[str, dict[str, Any]] = {
            "openai": {"response": {"status_code": 200, "body": whole(wire, ALL)}},
            "anthropic": {"result": {"type": "succeeded", "message": whole(wire, ALL)}},
        }
        if step == "results":
            failed: dict[str, Any] = {"type": "errored", "error": {"message": "x" * 480 + KEY}}
            more: dict[str, dict[str, Any]] = {
                "openai": {"error": failed["error"]},
                "anthropic": {"result": failed},
            }
            each = [{"custom_id": "tag-0"} | lines[wire], {"custom_id": "tag-1"} | more[wire]]
            return web.Response(text="\n".join(json.dumps(one) for one in each))
        shown: dict[str, dict[str, Any]] = {
            "openai": {"errors": {"data": [{"message": ALL}]}, "status": "failed"},
            "anthropic": {
                "created_at": "2026-01-01T00:00:00Z",
                "processing_status": ALL,
                "request_counts": {},
            },
        }
        return web.json_response({"id": "batch_0"} | shown[wire])

    async def work(server: BatchServer) -> str:
        name = await server.submit("tag", [BatchLine("tag-0", call)])
        found = str(await server.look(name))
        return found if "[key]" in found else f"{found} {await server.results(name)}"

    async def go() -> str:
        server = open_batches(ModelName.parse(call.model))
        try:
            return await work(server)
        except EndpointTrouble as trouble:
            return str(trouble)
        finally:
            await server.close()

    with batch_server.BatchServer(looks=0, before=special) as there, at_home(wire, there.url):
        call = ModelCall(model=f"{WIRES[wire]}@{there.url}", messages=ASKED)
        said = asyncio.run(go())
    assert "[key]" in said
    assert not held(said)
    assert not held(said.replace("\\\\", "\\"))
    assert f"x{KEY[:3]}" not in said


def highlight(status: int) -> Callable[..., Awaitable[web.StreamResponse]]:
    """A server that repeats the key that it was sent, wherever it can."""

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        data = completion(body, ALL) | {"model": ALL, "system_fingerprint": ALL}
        if status != 200:
            data["error"] = {"message": ALL, "code": ALL}
        return web.json_response(data, status=status, headers={"X-Said": KEY}, reason=KEY)

    return handler


@pytest.mark.parametrize("status", [200, 401])
def test_neither_store_nor_export_holds_a_key(
    status: int, tmp_path: Path, keys: None, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        Server(handler=highlight(status)) as server,
        at_home("vllm", server.url),
        ct.Store.open(tmp_path / "keys.sqlite", create=True) as store,
    ):
        progress = ct.run(study(**with_model(server.url) | {"instances": 1}), store)
        ct.export(store, "small", tmp_path / "out", "jsonl")
        records = [record.as_json() for record in store.records("small", bodies=True)]
    assert len(records) == 2
    assert not held(f"{progress} {records} {caplog.text}")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 2
    assert not any(held(path.read_bytes()) for path in files)


@pytest.mark.parametrize("wire", WIRES)
def test_a_url_of_one_s_own_is_sent_no_key_and_told_so(wire: str, keys: None) -> None:
    reply, heard = replies(always({"error": "no key"}, 401), WIRES[wire], home=False)
    assert KEY not in str(heard.headers)
    assert "no key is sent to a URL in a model string" in (reply.detail or "") or wire == "agent"


@pytest.mark.parametrize(
    "url",
    ["http://api.openai.com/v1", "https://api.openai.com:8443/v1", "https://api.openai.com.gpu/v1",
     "https://gpu/api.openai.com", "https://api.openai.co/v1"],
)  # fmt: skip
def test_a_key_goes_to_its_own_scheme_host_and_port(url: str, keys: None) -> None:
    assert ModelName.parse("openai/gpt-4o@https://API.openai.com:443/v2").key == KEY
    assert ModelName.parse(f"openai/gpt-4o@{url}").key is None


@pytest.mark.parametrize("wire", WIRES)
def test_a_redirect_is_not_followed_and_named_without_its_secrets(wire: str, keys: None) -> None:
    async def elsewhere(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        place = f"https://me:hunter22@evil.example:81/v1?key={KEY}"
        return web.Response(status=307, headers={"Location": place})

    reply, heard = replies(elsewhere, WIRES[wire])
    assert len(heard.paths) == 1
    assert not reply.retry
    assert reply.detail == (
        "status 307: the server redirects to https://evil.example:81, and redirects are not "
        "followed; use that URL if it is correct"
    )


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://gpu/v1", "would be sent over plain http: change its entry's URL to https"),
        ("http://127.0.0.1:81/v1", None),
        ("http://[::1]:81/v1", None),
        ("https://gpu/v1", None),
    ],
)
def test_a_key_is_not_sent_in_the_open(url: str, why: str | None, keys: None) -> None:
    with at_home("vllm", url):
        said = ct.models.missing("vllm/tiny")
        assert (said is None) if why is None else (why in (said or ""))
        assert ModelName.parse("vllm/tiny").key == (KEY if why is None else None)


PASSWORD = "pass%2Fword+42"  # noqa: S105 - of a test


@pytest.mark.parametrize("answers", [True, False])
def test_a_proxy_s_password_is_nowhere(
    answers: bool, keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def proxying(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        asked.append(request.headers["Proxy-Authorization"])
        said = f"{asked[-1]} me:{PASSWORD} {unquote(PASSWORD)}"
        return web.json_response({"error": {"message": said}}, status=407, reason=said)

    with Server(handler=proxying) as server:
        where = server.url.removeprefix("http://").removesuffix("/v1") if answers else "127.0.0.1:9"
        monkeypatch.setenv("http_proxy", f"http://me:{PASSWORD}@{where}")
        monkeypatch.setenv("no_proxy", "")
        proxy_of.cache_clear()
        call = ModelCall(model="vllm/tiny@http://far.example/v1", messages=ASKED)

        async def once() -> Reply:
            async with ct.models.clients.open_models() as models:
                return await models.call(call, "m/0/alice/0/1", 30)

        reply = asyncio.run(once())
        proxy_of.cache_clear()
    assert bool(asked) is answers
    assert reply.detail is not None
    for secret in (PASSWORD, unquote(PASSWORD)):
        assert not held(reply.model_dump_json(), secret)
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
        ("run", "quickstart", "--model", "x=vllm/tiny@http://me:hunter22@h/v1"),
        ("run", "quickstart", "--model", "x={model: vllm/tiny@https://h/v1?key=hunter22}"),
        ("run", "quickstart", "--model", "x=vllm/tiny@HTTPS://h/v1#access_token=hunter22"),
        ("run", "quickstart", "--model", "x=https://me:hunter22@h/v1"),
        ("run", "quickstart", "--model", "x=openai-compatible/https://me:hunter22@h/v1"),
        ("run", "quickstart", "--model", "x=vllm/tiny@me:hunter22@h:80/v1"),
        ("run", "quickstart", "--model", "x=openai/me:hunter22@h.example"),
        ("run", "quickstart", "--model", "x=vllm/tiny@http://h/v1?x=sk-hunter22hunter22"),
        ("run", "quickstart", "--model", "x=vllm/tiny@http://me:hunter/22@h/v1"),
        ("run", "quickstart", "--model", "x=vllm/tiny@h/v1?api_key=hunter22"),
        ("run", "quickstart", "--model", "x=vllm/tiny@https://h/sk-hunter22/v1"),
        ("run", "quickstart", "--model", "x=vllm/tiny@h/sk-hunter22/v1"),
        ("run", "quickstart", "--model", "x=vllm/tiny@sk-hunter22"),
        (
            "run",
            "quickstart",
            "--model",
            "x={model: vllm/tiny@https://h/gsk_hunter22, x: [}",
        ),
        ("run", "small.yaml"),
        ("run", "quickstart", "--roster", "roster.yaml"),
        ("play", "bargaining", "--opponent", "vllm/tiny@http://me:hunter22@h/v1"),
        ("model", "prompt", "bargaining", "--model", "vllm/tiny@http://me:hunter22@h/v1"),
        ("model", "prices", "vllm/tiny@http://me:hunter22@h/v1"),
    ],
)
def test_a_secret_in_a_url_is_refused_and_not_repeated_before_anything_is_written(
    command: tuple[str, ...], cheaptalk: Command, tmp_path: Path
) -> None:
    (tmp_path / "small.yaml").write_text(STUDY)
    (tmp_path / "roster.yaml").write_text(ROSTER)
    done = cheaptalk(*command)
    assert done.status == 2
    assert "hunter" not in done.out + done.err
    assert {path.name for path in tmp_path.iterdir()} == {"small.yaml", "roster.yaml"}


@pytest.mark.parametrize(
    "segment",
    [
        "sk-proj-abc123DEF456", "sk%2Dant-api03-x_yz", "xai-0123456789",
        "AIzaSyA1234567890abcdefgh", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig",
        "9f3c1b7e5a2d4f60" * 4,
        "Zk3vQ9xT1mB7yL5cR2wN8pD4sH6gJ0aF",
    ],
)  # fmt: skip
def test_a_key_in_a_url_s_path_is_refused_and_not_repeated(segment: str) -> None:
    with pytest.raises(ValueError, match="remove the key in its path from the URL") as caught:
        ModelName.parse(f"vllm/tiny@https://h/{segment}/v1")
    assert segment not in str(caught.value)


@pytest.mark.parametrize(
    "path",
    [
        "gateway.ai.example/v1/023e105f4ecef8ad9ca31a8372d0c353/my-gateway/openai",
        "h/3f2504e0-4f89-11d3-9a0c-0305e82c3301/v1",
        "h/openai/deployments/Meta-Llama-3-1-70B-Instruct-Turbo-2024-08-prod/v1",
        "h/MyCompanyGpt4oProductionDeployment2024/v1",
        "h/v1/projects/my-project-123456/locations/us-central1/endpoints/openapi",
        "x7k2m9q4w1z8r5t3y6u0p2a4s7d9f1g3.lambda-url.example/v1",
    ],
)
def test_a_url_s_path_may_be_long(path: str) -> None:
    assert ModelName.parse(f"vllm/tiny@https://{path}").url == f"https://{path}"


@pytest.mark.parametrize("query", ["version=2", "api-version=2026-01-01", "model=monkey", "max=9"])
def test_a_url_may_hold_any_other_query(query: str) -> None:
    name = ModelName.parse(f"vllm/tiny@https://h/v1?{query}")
    assert name.endpoint("chat/completions") == f"https://h/v1/chat/completions?{query}"
