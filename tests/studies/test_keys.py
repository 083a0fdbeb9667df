"""Keys are sent to the provider only."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import cheaptalk as ct
from cheaptalk.records import Store
from tests.fakes import Server, at_home, study, with_model

KEY = "sk-very-secret-42"


async def leak_key(request: web.Request, body: dict[str, Any]) -> web.StreamResponse | None:
    """Repeat the key in errors: for every call of alice, and for the first attempt of others."""
    header = request.headers["Authorization"]
    number = request.headers["X-Cheaptalk-Call"]
    if number.endswith("/1"):
        return web.json_response({"error": {"message": f"{header}: try again"}}, status=503)
    if "/alice/" in number:
        return web.json_response({"error": {"message": f"{header}: no such key"}}, status=400)
    return None


def test_key_repeated_by_server_is_redacted_everywhere(
    store: Store, tmp_path: Path, no_waits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_API_KEY", KEY)
    with Server(handler=leak_key) as server, at_home("vllm", server.url):
        progress = ct.run(study(**with_model(server.url)), store)
    assert server.headers["Authorization"] == f"Bearer {KEY}"
    assert progress.failed > 0
    assert progress.done > 0
    assert any("Bearer [key]: no such key" in problem for problem in progress.problems)
    kept = [repr(record.as_json()) for record in store.records(bodies=True)]
    kept += [repr(store.open_calls(record.id)) for record in store.records()]
    store.close()
    files = [path.read_bytes() for path in tmp_path.iterdir() if path.is_file()]
    assert not any(KEY in text for text in kept)
    assert not any(KEY.encode() in data for data in files)
    assert any("Bearer [key]: try again" in text for text in kept)
