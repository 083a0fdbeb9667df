"""Connections that visitors or attackers open: how many, and for how long."""

import asyncio
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import pytest

from cheaptalk.web.rooms import connections
from cheaptalk.web.rooms.connections import Connections, HeaderTimeoutProtocol, Streams
from tests.fakes import PATIENCE
from tests.web.participants.comers import Open, people_study
from tests.web.served import served, served_experiment


async def path_of(site: Open, known_by: str) -> str:
    entered = await site.client.post("/enter", data={"known_by": known_by})
    assert entered.status_code == 303
    return str(entered.headers["location"])


async def test_streams_beyond_the_caps_are_rejected_and_released(tmp_path: Path) -> None:
    async with served_experiment(tmp_path, people_study()) as site:
        site.client.timeout = 20
        paths = [await path_of(site, name) for name in ("ann", "bob")]
        async with AsyncExitStack() as streams:
            statuses, held = [], []
            for _ in range(connections.STREAMS_OF_VISITOR + 5):
                stream = site.client.stream("GET", f"{paths[0]}/events")
                response = await streams.enter_async_context(stream)
                if response.status_code == 200:
                    held.append(response.aiter_bytes())
                    await anext(held[-1])
                statuses.append(response.status_code)
            assert statuses == [200] * connections.STREAMS_OF_VISITOR + [429] * 5
            stream = site.client.stream("GET", f"{paths[1]}/events")
            assert (await streams.enter_async_context(stream)).status_code == 200
            assert (await site.client.get(paths[0])).status_code == 200
        async with asyncio.timeout(20):
            while True:
                async with site.client.stream("GET", f"{paths[0]}/events") as again:
                    if again.status_code == 200:
                        return
                await asyncio.sleep(0.05)  # the server notices the closed streams


def test_each_address_has_its_own_stream_cap() -> None:
    streams = Streams(of_visitor=2, of_address=3)
    with streams.counting("ann", "a"), streams.counting("ann", "a"):
        assert not streams.have_room("ann", "b")
        assert streams.have_room("bob", "a")
        with streams.counting("bob", "a"):
            assert not streams.have_room("emmy", "a")
            assert streams.have_room("emmy", "b")
    assert not streams.open


@pytest.mark.parametrize("url", [None, "https://play.example.org"])
async def test_connections_beyond_the_cap_of_an_address_are_closed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str | None
) -> None:
    monkeypatch.setattr(Connections.__init__, "__defaults__", ("", 3))

    async def is_open(port: int) -> tuple[bool, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST)
        try:
            return bool(await reader.readline()), writer
        except ConnectionResetError:
            return False, writer

    async with served(tmp_path, url) as site, asyncio.timeout(20):
        port = site.client.base_url.port
        assert port is not None
        held = [await is_open(port) for _ in range(5)]
        capped = [True] * 3 + [False] * 2
        assert [accepted for accepted, _ in held] == (capped if url is None else [True] * 5)
        for _, writer in held:
            writer.transport.abort()
        while True:  # the server notices the closed connections
            opened, writer = await is_open(port)
            writer.close()
            if opened:
                return
            await asyncio.sleep(0.01)


REQUEST = b"GET /static/nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


async def test_connections_with_incomplete_requests_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert HeaderTimeoutProtocol.seconds < 15
    monkeypatch.setattr(HeaderTimeoutProtocol, "seconds", 0.2)
    async with served_experiment(tmp_path, people_study()) as site, asyncio.timeout(PATIENCE):
        port = site.client.base_url.port
        for before, sent in ((b"", b"G"), (b"", REQUEST[:-2]), (REQUEST, b"GET / HT")):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            if before:
                writer.write(before)
                assert b"404" in await reader.readline()
            writer.write(sent)
            with suppress(ConnectionResetError):
                await reader.read()
            writer.close()
        assert (await site.client.get("/gone")).status_code == 200


async def test_header_timeout_does_not_cut_off_slow_responses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HeaderTimeoutProtocol, "seconds", 0.05)
    async with served_experiment(tmp_path, people_study()) as site:
        path = await path_of(site, "ann")
        async with site.client.stream("GET", f"{path}/events") as response:
            parts = response.aiter_bytes()
            await anext(parts)
            waiting = asyncio.ensure_future(anext(parts))
            _, pending = await asyncio.wait({waiting}, timeout=0.3)
            assert pending
            site.experiment.people[next(iter(site.experiment.people))].visitor.notifier.notify()
            assert b"moved" in await waiting
