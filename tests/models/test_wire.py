"""Retry-After headers, proxies and connection errors of the HTTP transport."""

from datetime import UTC, datetime

import aiohttp
import pytest
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from cheaptalk.models import Failure
from cheaptalk.models.http.failures import broken, complaint, retry_after
from cheaptalk.models.http.transport import lost_connection, proxy_of

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def test_retry_after_header_is_parsed() -> None:
    for headers, seconds in [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, 30),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": "Fri, 31 Dec 99999999999 23:59:59 GMT"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
    ]:
        assert retry_after(headers, NOW) == seconds


def test_error_message_is_one_line_without_repetitions() -> None:
    reply = broken("first\n  second" + "x" * 1000, retry=False)
    assert (reply.failure, len(reply.detail or "")) == (Failure.PROVIDER_ERROR, 500)
    assert (reply.detail or "").startswith("first second")
    for message, detail in [
        ("404: no such model", "status 404: no such model"),
        ("404", "status 404"),
        ("no model 404", "status 404: no model 404"),
    ]:
        assert complaint({"error": {"message": message}}, 404).detail == detail


def test_proxy_from_environment_respects_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "localhost,internal.example")
    proxy_of.cache_clear()
    assert proxy_of("https://api.example/v1") == "http://proxy.example:3128"
    assert proxy_of("https://internal.example/v1") is None
    assert proxy_of("http://api.example/v1") is None
    proxy_of.cache_clear()


def test_proxy_error_contains_no_password() -> None:
    for status, retry in [(407, False), (502, True)]:
        info = aiohttp.RequestInfo(
            URL("http://me:hunter22@proxy:3128"), "CONNECT", CIMultiDictProxy(CIMultiDict())
        )
        error = aiohttp.ClientHttpProxyError(info, (), status=status, message="hunter22")
        reply = lost_connection(error, "https://api.example/v1")
        assert "hunter22" not in reply.model_dump_json()
        assert (reply.status, reply.retry, reply.unreached) == (status, retry, True)
        assert reply.detail == (
            f"the proxy refused to connect (status {status}): check the user and the password in "
            "the environment's HTTPS_PROXY or HTTP_PROXY"
        )
