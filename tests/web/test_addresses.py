"""Addresses of the rooms: in the local network, and behind a proxy that names its clients."""

import asyncio
import re
from pathlib import Path

import pytest

from cheaptalk.loopback import HOST
from cheaptalk.rules import CheaptalkError
from cheaptalk.web import (
    access_note,
    demo,
    listen,
    own_address,
    public_address,
)
from cheaptalk.web.headers import static_path
from cheaptalk.web.rooms import pages
from cheaptalk.web.rooms.addresses import ALL_INTERFACES, Address
from cheaptalk.web.rooms.pages import STATIC
from tests.web.served import served
from tests.web.walker import visited

PUBLIC = "https://play.example.org"
SECURE = "strict-transport-security"


async def test_links_behind_a_proxy_are_public_and_keep_https(tmp_path: Path) -> None:
    async with served(tmp_path, PUBLIC) as (_, client, _):
        headers = {"Host": "play.example.org", "X-Forwarded-Proto": "https"}
        page = await client.get("/", headers=headers)
        assert (page.status_code, SECURE in page.headers) == (200, True)
        plain = await client.get("/", headers={"Host": "play.example.org"})
        assert SECURE not in plain.headers
        assert (await client.get("/", headers={"Host": "evil.example"})).status_code == 400
        game = await client.get("/games/bargaining", headers=headers)
        *_, together = re.findall(r'name="offer" value="([^"]+)"', game.text)
        opened = await client.post("/open", data={"offer": together}, headers=headers)
        lobby = await client.get(opened.headers["location"], headers=headers)
        assert f'href="{PUBLIC}/join/' in lobby.text
        assert "127.0.0.1" not in lobby.text


@pytest.mark.parametrize("url", [PUBLIC, None])
async def test_rate_limits_use_the_client_address_of_a_proxy(
    tmp_path: Path, url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "OPENINGS", (40, 1.0))
    async with served(tmp_path, url) as (_, client, _):

        async def opened(by: str) -> int:
            headers = {"X-Forwarded-For": by, "X-Forwarded-Proto": "https"}
            answer = await client.post("/open", data={"offer": ""}, headers=headers)
            assert (SECURE in answer.headers) is (url is not None)
            return answer.status_code

        fast = [await opened(f"10.{number}.0.1, 203.0.113.5") for number in range(60)]
        assert 429 in fast
        assert await opened("203.0.113.6") == (429 if url is None else 404)
        if url is not None:
            assert 429 in [await opened(f"2001:db8::{number + 1}") for number in range(60)]
            assert await opened("2001:db8:0:1::1") == 404


def test_network_address_of_this_machine_is_shown() -> None:
    with listen(0) as listener, listen(0, ALL_INTERFACES) as open_to_all:
        local, everywhere = own_address(listener), own_address(open_to_all)
    assert local.hosts == (HOST, "localhost")
    assert access_note(local, HOST) == ""
    assert ALL_INTERFACES not in everywhere.url
    assert {HOST, "localhost"} < {*everywhere.hosts, "more"}
    assert "Anyone on this network" in access_note(everywhere, ALL_INTERFACES)
    assert PUBLIC in access_note(public_address(PUBLIC), HOST)
    with pytest.raises(CheaptalkError, match="cannot listen on"):
        listen(0, "192.0.2.77")


def test_invalid_public_addresses_are_rejected() -> None:
    for url in [
        "", "play.example.org", "ftp://a", "https://", "https://a/b", "https://a?b", "https://u@a",
        "https://a:b", "https://*", "https://a b", "https://[::1]", "https://a#b", "https://ä.org",
    ]:  # fmt: skip
        with pytest.raises(CheaptalkError, match="not a valid base URL"):
            public_address(url)


def test_public_addresses_are_normalised() -> None:
    assert public_address("HTTPS://Play.Example.org:8443/") == Address(
        "https://play.example.org:8443", ("play.example.org", HOST, "localhost"), proxied=True
    )


async def test_pages_and_files_send_security_headers(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, client, _):
        page = await client.get("/")
        file = await client.get(static_path(STATIC / "rooms.js"))
        for response in (page, file, await client.get("/static/none"), await client.get("/x")):
            assert "default-src 'none'" in response.headers["content-security-policy"]
            assert "server" not in response.headers
        assert page.headers["cache-control"] == "no-store"
        assert "immutable" in file.headers["cache-control"]


async def test_links_of_mounted_rooms_stay_below_their_root(tmp_path: Path) -> None:
    root = "/s/a-study"
    async with visited(demo(), tmp_path / "s.sqlite", root=root) as rooms:
        client = rooms.client
        pages = [(await client.get(f"{root}/{path}")).text for path in ("", "games/bargaining")]
        host = await rooms.sit("", 2)
        code, token = host.room.code, host.token
        pages.append(await host.page())
        assert f'href="http://test{root}/join/{code}"' in pages[-1]
        response = await client.get(f"{root}/join?code={code.lower()}&lang=en")
        assert response.headers["location"] == f"{root}/join/{code}?lang=en"
        again = await client.get(f"{root}/join/{code}?me={token}")
        assert again.headers["location"] == host.path
        pages.append((await client.get(f"{root}/join/{code}")).text)
        visitor = await rooms.join(code)
        await asyncio.gather(host.play(), visitor.play())
        pages += [*host.seen, *visitor.seen, await host.page()]
        for path in ("static/none", "nowhere", f"p/{token}/nowhere"):
            refused = await client.get(f"{root}/{path}")
            assert refused.status_code in (404, 405)
            pages.append(refused.text)
        sent = await host.post({}, "nowhere")
        pages.append(sent.text)
        for page in pages:
            links = re.findall(r'(?:href|action|src|data-events)="(?!#|data:)([^"]*)', page)
            assert links
            below = (f"{root}/", f"http://test{root}/")
            assert [link for link in links if not link.startswith(below)] == []
        (script,) = set(re.findall(r'src="([^"]+)"', pages[2]))
        file = await client.get(script)
        assert (file.status_code, "immutable" in file.headers["cache-control"]) == (200, True)
        assert (await client.get("/")).status_code == 404
