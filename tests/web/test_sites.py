"""Sites of studies and laboratories opened from Python, as the command serves them."""

from pathlib import Path

import httpx2
import pytest

import cheaptalk as ct
from cheaptalk.models.http.reach import PUBLIC_ONLY, restricted
from tests.fakes import study
from tests.web.served import running

PEOPLE = {"players": {"visitor": {"person": "browser"}, "fair": "equal_split"}, "pairing": "all"}


async def test_study_with_people_has_rooms(tmp_path: Path) -> None:
    with ct.web.listen(0) as listener:
        address = ct.web.own_address(listener)
        async with (
            ct.web.open_site(study(**PEOPLE), tmp_path / "a.sqlite", address) as site,
            running(ct.web.serve_app(site.app, listener, address)),
            httpx2.AsyncClient() as client,
        ):
            response = await client.get(site.link)
    assert response.status_code == 200
    assert "bargaining" in response.text.casefold()


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
