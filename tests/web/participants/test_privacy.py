"""A participant's pages reveal nothing of others except their messages at the same table."""

import asyncio
from collections import defaultdict
from itertools import permutations
from pathlib import Path

import httpx2

from cheaptalk.web.bots.pages import Page
from tests.web.participants.comers import PEOPLE, Comer, Open, opened, people_study

NAMES = ("Zerlina", "Elvira", "Ottavio", "Masetto")
STUDY = people_study(path=[
    PEOPLE["path"][0], "first_name", {"games": 1}, PEOPLE["path"][-1],
])  # fmt: skip


class Received(defaultdict[str, str]):
    """All responses sent to each participant, by the token in their link."""

    def __init__(self, site: Open) -> None:
        super().__init__(str)
        site.client.event_hooks["response"].append(self.note)

    async def note(self, response: httpx2.Response) -> None:
        await response.aread()
        token = response.request.url.path.split("/")[2:3]
        if token:
            self[token[0]] += f"{response.headers}\n{response.text}\n"


async def seat_all(site: Open) -> list[Comer]:
    """Seat four participants who enter one after another, two at each table."""
    comers = [site.comer(name) for name in NAMES]
    for comer in comers:
        comer.known_by = f"id-{comer.name}"
        comer.said = f"secret of {comer.name}"
        await comer.come()
        await comer.until(
            lambda page: (
                "Waiting for other players" in page.words
                or page.form("answer")
                or "Rules and what you know" in page.words
            )
        )
    return comers


async def test_pages_reveal_only_messages_at_the_same_table(tmp_path: Path) -> None:
    async with opened(tmp_path, STUDY) as site:
        received = Received(site)
        comers = await seat_all(site)
        tables = {comer.name: comer.participant.visitor.room for comer in comers}
        for item in comers:
            await site.supervisor.send_message(item.participant, f"a word to {item.name}")
        await asyncio.gather(*(comer.to("done") for comer in comers))
        for item in comers:
            await item.step()
            item.said = f"{item.name} to the researchers"
        await asyncio.gather(*(comer.finish() for comer in comers))
        for element, receiver in permutations(comers, 2):
            text = received[element.token]
            assert f"a word to {element.name}" in text
            at_table = tables[receiver.name] is tables[element.name]
            assert (receiver.name in text) is at_table
            private = (f"a word to {receiver.name}", receiver.code, receiver.known_by)
            for secret in (*private, receiver.said):
                assert secret not in text, (element.name, secret)
            if not at_table:
                assert f"secret of {receiver.name}" not in text


async def test_link_gives_no_access_to_another_participant(tmp_path: Path) -> None:
    async with opened(tmp_path, STUDY) as site:
        sender, receiver, *_ = await seat_all(site)
        await site.supervisor.send_message(receiver.participant, "read this")
        notice = receiver.participant.notice
        assert notice is not None
        await sender.send("notice", {"notice": str(notice.id)})
        assert notice.answered is None
        token = sender.token
        code, *signed = token.split(".")
        assert code == sender.code
        forged = ".".join([receiver.code, *signed])
        for path in (f"/p/{forged}", f"/p/{forged}/events", f"/p/{receiver.code}"):
            refused = await site.client.get(path)
            assert refused.status_code == 403
            assert receiver.name not in Page(refused.text).words
        assert (await site.client.post(f"/p/{forged}/withdraw")).status_code == 403
        assert receiver.participant.ending is None
        table = sender.participant.visitor.room
        await receiver.send("withdraw")
        assert receiver.participant.ending == "withdrawn"
        assert table is not None
