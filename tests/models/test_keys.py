"""A key is nowhere but in the environment and on the wire, whatever a server says."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import cheaptalk as ct
from tests.fakes import Server, study, with_model
from tests.model_server import completion

KEY = "sk-very-secret-42"


def telling(status: int) -> Any:
    """A server that repeats the key that it was sent, wherever it can."""

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        said = f"your key: {request.headers['Authorization']}"
        data = completion(body, said) | {"model": said, "system_fingerprint": said}
        if status != 200:
            data["error"] = {"message": said, "code": said}
        return web.json_response(data, status=status, headers={"X-Said": said}, reason=said)

    return handler


@pytest.mark.parametrize("status", [200, 401])
def test_a_store_never_holds_a_key(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("VLLM_API_KEY", KEY)
    with Server(handler=telling(status)) as server:
        with ct.Store.open(tmp_path / "keys.sqlite", create=True) as store:
            progress = ct.run(study(**with_model(server.url) | {"deals": 1}), store)
            records = list(store.records("small", bodies=True))
        assert server.headers["Authorization"] == f"Bearer {KEY}"
    assert len(records) == 2
    assert not any(KEY in str(record.as_json()) for record in records)
    assert KEY not in f"{progress} {caplog.text}"
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"small" in written
    assert KEY.encode() not in written
