"""Hosts that a restricted process may call."""

import socket

import pytest

from cheaptalk.models.calls import Reply
from cheaptalk.models.http.reach import PUBLIC_ONLY, is_public, public_models_only, refusal
from cheaptalk.models.http.transport import HttpTransport

PRIVATE = """
127.0.0.1 127.9.9.9 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 0.0.0.0 100.64.0.1 224.0.0.1
255.255.255.255 ::1 :: fe80::1%eth0 fc00::1 fd00::1 ::ffff:127.0.0.1 ::ffff:169.254.169.254
64:ff9b::7f00:1 2002:7f00:1:: ff02::1 localhost
"""
LOOPBACK = (
    "http://127.0.0.1:{port}",
    "http://localhost:{port}",
    "http://127.1:{port}",
    "http://2130706433:{port}",
    "http://0x7f000001:{port}",
    "http://[::ffff:127.0.0.1]:{port}",
)


def test_only_public_addresses_are_public() -> None:
    for host in [*PRIVATE.split(), ""]:
        assert not is_public(host)
    for host in ["1.1.1.1", "2606:4700:4700::1111", "64:ff9b::101:101"]:
        assert is_public(host)


async def post(url: str) -> Reply:
    wire = HttpTransport()
    try:
        return await wire.post(url, {}, {}, None, 5, lambda _: Reply(text="secret"))
    finally:
        await wire.close()


async def test_restricted_process_rejects_private_addresses() -> None:
    for url in LOOPBACK:
        with socket.create_server(("127.0.0.1", 0)) as listening, public_models_only():
            listening.setblocking(False)
            reply = await post(url.format(port=listening.getsockname()[1]))
            assert reply.failure is not None
            if "localhost" in url or "127.0.0.1" in url:
                assert "private address" in (reply.detail or "")
                assert not reply.retry
            with pytest.raises(BlockingIOError):
                listening.accept()


async def test_dns_rebinding_is_checked_on_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["1.1.1.1", "127.0.0.1"])
    resolve = socket.getaddrinfo

    def rebind(host: str, *args: object, **options: object) -> object:
        target = next(answers) if host == "rebinding.example" else host
        return resolve(target, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", rebind)
    with socket.create_server(("127.0.0.1", 0)) as listening, public_models_only():
        port = listening.getsockname()[1]
        assert is_public(str(socket.getaddrinfo("rebinding.example", port)[0][4][0]))
        reply = await post(f"http://rebinding.example:{port}")
        assert "private address" in (reply.detail or "")


def test_proxy_may_be_private_but_targets_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PUBLIC_ONLY, "1")
    for host in ("127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f000001", "a.localhost"):
        assert refusal(f"http://{host}/v1", "http://127.0.0.1:3128"), host
    for host in ("api.example.org", "1.1.1.1"):
        assert refusal(f"http://{host}/v1", "http://127.0.0.1:3128") is None, host
