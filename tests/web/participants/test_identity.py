"""Participants' ids: which are accepted, and what knowledge of an id permits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cheaptalk.records.people.identities import Identity
from cheaptalk.records.people.payouts import PayoutLine, balance_of, payout_file
from cheaptalk.studies.people.protocol import Recruitment
from cheaptalk.web.participants.admission.entry import GUESSES
from cheaptalk.web.participants.server import make_experiment
from tests.web.participants.comers import BOT, Open, opened, people_study
from tests.web.walker import LINKS

PROLIFIC = {"source": "prolific"}
PID = "5f0c2d9e8a7b6c5d4e3f2a1b"


@asynccontextmanager
async def recruiting(folder: Path, **recruitment: object) -> AsyncIterator[Open]:
    changes: dict[str, Any] = {"recruitment": recruitment} if recruitment else {}
    async with opened(folder, people_study(BOT, **changes)) as site:
        yield site


def browser(site: Open) -> httpx2.AsyncClient:
    app = make_experiment(site.supervisor, LINKS)
    transport = httpx2.ASGITransport(app, client=("192.0.2.9", 1))
    return httpx2.AsyncClient(transport=transport, base_url="http://test")


async def test_knowing_an_id_does_not_permit_erasing_a_session(tmp_path: Path) -> None:
    async with recruiting(tmp_path) as site:
        ann = await site.enter("ann-known-id")
        await ann.finish()
        assert ann.participant.ending == "complete"
        balance = balance_of(site.experiment.room_manager.store, site.experiment.study_id).owed
        assert balance > 0
        async with browser(site) as client:
            entered = await client.post("/enter", data={"known_by": "ann-known-id"})
            path = entered.headers["location"]
            assert LINKS.visitor(path.rpartition("/")[2]) == ann.code
            page = await client.get(path)
            assert "Delete my data" not in page.text
            assert "in the browser in which you started" in page.text
            key = {"known_by": "ann-known-id", "key": path.rpartition("/")[2]}
            await client.post("/enter", data=key)
            refused = await client.post(f"{path}/withdraw", data={"erase": "yes"})
            assert refused.status_code == 403
        assert ann.code in site.experiment.people
        assert (
            balance_of(site.experiment.room_manager.store, site.experiment.study_id).owed == balance
        )
        assert (
            "Delete my data"
            in (await site.client.get(ann.path, headers={"Cookie": ann.cookies})).text
        )
        assert (await ann.send("withdraw", {"erase": "yes"})).status_code == 303
        assert ann.code not in site.experiment.people


async def test_entry_form_sent_twice_keeps_the_right_to_erase(tmp_path: Path) -> None:
    async with recruiting(tmp_path, source="open") as site:
        page = (await site.client.get("/")).text
        key = page.partition('name="key" value="')[2].partition('"')[0]
        for _ in range(2):
            site.client.cookies.clear()
            entered = await site.client.post("/enter", data={"key": key})
        assert len(site.experiment.people) == 1
        path = entered.headers["location"]
        sent = await site.client.post(f"{path}/withdraw", data={"erase": "yes"})
        assert sent.status_code == 303
        assert not site.experiment.people


@pytest.mark.parametrize("guessed", ["unknown codes", "known ids"])
async def test_guessing_ids_is_rate_limited(tmp_path: Path, guessed: str) -> None:
    async with recruiting(tmp_path, source="code", invited=["ann", "bob"]) as site:
        await site.enter("ann")
        async with browser(site) as client:
            for number in range(GUESSES):
                name = f"guess-{number}" if guessed == "unknown codes" else "ann"
                client.cookies.clear()
                sent = await client.post("/enter", data={"known_by": name})
                assert sent.status_code == (403 if guessed == "unknown codes" else 303)
            client.cookies.clear()
            stopped = await client.post("/enter", data={"known_by": "ann"})
            assert stopped.status_code == 429
            assert "Too many attempts" in stopped.text
        site.client.cookies.clear()
        response = await site.client.post("/enter", data={"known_by": "ann"})
        assert response.status_code == 303


LEGAL = [
    ({"source": "prolific"}, PID), ({"source": "mturk"}, "A2B3C4D5E6F7G8"),
    ({"source": "sona"}, "1017"), ({"source": "sona", "id_parameter": "uid"}, "m.müller@uni-x.de"),
    ({"source": "prolific", "id_parameter": "panel"}, "ab_12-7"),
]  # fmt: skip
ILLEGAL = [
    ({"source": "prolific"}, "x"), ({"source": "prolific"}, f"{PID}\n"),
    ({"source": "prolific"}, f"{PID}\n5f0c2d9e8a7b6c5d4e3f2a1c,1000.00"),
    ({"source": "prolific"}, PID[1:]), ({"source": "mturk"}, "a2b3c4d5e6f7"),
    ({"source": "mturk"}, "A2B3C4D5,1.00"), ({"source": "sona"}, "\uff11\uff12"),
    ({"source": "sona"}, "1" * 25),
    ({"source": "sona", "id_parameter": "uid"}, "a,1"), ({"source": "open"}, "a\r\nb,1000.00"),
    ({"source": "sona", "id_parameter": "uid"}, "=1+1"),
]  # fmt: skip


def test_ids_must_have_the_form_of_their_source() -> None:
    for recruitment, known_by in LEGAL:
        assert Recruitment.model_validate(recruitment).has_form(known_by)
    for recruitment, known_by in ILLEGAL:
        assert not Recruitment.model_validate(recruitment).has_form(known_by)


async def test_invalid_ids_are_rejected_before_any_write(tmp_path: Path) -> None:
    for source, typed in (("prolific", ILLEGAL[2][1]), ("open", "")):
        (tmp_path / source).mkdir()
        async with recruiting(tmp_path / source, source=source) as site:
            looked = await site.client.get("/", params={"PROLIFIC_PID": typed})
            sent = await site.client.post("/enter", data={"known_by": f"x{ILLEGAL[2][1]}"})
            assert (looked.status_code, sent.status_code) == (400 if typed else 200, 400)
            assert not site.experiment.people
            assert not site.experiment.identities.of_study("people")


async def test_other_link_parameters_are_validated(tmp_path: Path) -> None:
    async with recruiting(tmp_path, **PROLIFIC) as site:
        more = "STUDY_ID=a%0Ab,1000.00"
        sent = await site.client.post("/enter", data={"known_by": PID, "more": more})
        assert sent.status_code == 400
        assert (await site.client.get(f"/?PROLIFIC_PID={PID}&{more}")).status_code == 400
        assert not site.experiment.people
        sent = await site.client.post("/enter", data={"known_by": PID, "more": "STUDY_ID=a1"})
        assert sent.status_code == 303


def test_invalid_stored_id_adds_no_payout_line() -> None:
    for end in ["\n", "\r", "\r\n", "\u2028", "\x0b", "\x85"]:
        for form in ["prolific", "mturk", "csv"]:
            bad = Identity("prolific", f"x{end}{PID},1000.00", "c", f"assignmentId=a%0A{PID},9")
            text = payout_file(form, "s", 1, [PayoutLine("c", 100, 50)], {"c": bad})
            assert len(text.splitlines()) == (1 if form == "prolific" else 2)
