"""Sites of studies and laboratories opened from Python, as the command serves them."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import aiohttp
import pytest

import cheaptalk as ct
from cheaptalk.models.http.reach import PUBLIC_ONLY, restricted
from tests.fakes import study

PEOPLE = {"players": {"visitor": {"person": "browser"}, "fair": "equal_split"}, "pairing": "all"}


async def page(opened: Callable[[ct.web.Address], AbstractAsyncContextManager[ct.web.Site]]) -> str:
    with ct.web.listen(0) as listener:
        address = ct.web.own_address(listener)
        async with opened(address) as site, aiohttp.ClientSession() as session:
            serving = asyncio.create_task(ct.web.serve_app(site.app, listener, address))
            async with session.get(site.link) as response:
                assert response.status == 200
                text = await response.text()
            serving.cancel()
            await asyncio.wait([serving])
            return text


def test_study_with_people_has_rooms(tmp_path: Path) -> None:
    spec = study(**PEOPLE)
    text = asyncio.run(page(lambda address: ct.web.open_site(spec, tmp_path / "a.sqlite", address)))
    assert "bargaining" in text.casefold()


async def test_laboratory_is_set_up_with_a_code(tmp_path: Path) -> None:
    address = ct.web.public_address("https://lab.example.org")
    async with ct.web.open_laboratory(tmp_path / "lab", address) as site:
        assert site.link == "https://lab.example.org/console"
        (note,) = site.notes
    assert "one-time code" in note
    assert (tmp_path / "lab").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("private_models", [False, True])
async def test_laboratory_calls_private_models_only_if_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, private_models: bool
) -> None:
    monkeypatch.delenv(PUBLIC_ONLY, raising=False)
    address = ct.web.public_address("https://lab.example.org")
    async with ct.web.open_laboratory(tmp_path, address, private_models=private_models):
        assert restricted() is not private_models
    assert not restricted()
