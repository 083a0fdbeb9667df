"""A participant's pages hold nothing of others but what these say at the same table."""

import asyncio
from collections import defaultdict
from pathlib import Path

import httpx2

from cheaptalk.web.bots.pages import Page
from tests.web.participants.comers import PEOPLE, Comer, Open, opened, people_study

NAMES = ("Zerlina", "Elvira", "Ottavio", "Masetto")
STUDY = people_study(path=[
    PEOPLE["path"][0], "first_name", {"games": 1}, PEOPLE["path"][-1],
])  # fmt: skip


class Heard(defaultdict[str, str]):
    """All that was sent to each participant, by the token in their link."""

    def __init__(self, there: Open) -> None:
        super().__init__(str)
        there.client.event_hooks["response"].append(self.note)

    async def note(self, response: httpx2.Response) -> None:
        """Note a response with its headers."""
        await response.aread()
        token = response.request.url.path.split("/")[2:3]
        if token:
            self[token[0]] += f"{response.headers}\n{response.text}\n"


async def seated(there: Open) -> list[Comer]:
    """Four people who have come one after the other, so that two each sit at a table."""
    comers = [there.comer(name) for name in NAMES]
    for one in comers:
        one.name = f"{one.name}"
        one.said = f"secret of {one.name}"
        await one.come()
        await one.until(lambda page: "Waiting for others" in page.words or page.form("answer")
                        or "The rules, and what you know" in page.words)  # fmt: skip
    return comers


def test_nobody_reads_of_those_at_other_tables(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path, STUDY) as there:
            heard = Heard(there)
            comers = await seated(there)
            tables = {one.name: one.who.guest.room for one in comers}
            for one in comers:
                await there.supervisor.tell(one.who, f"a word to {one.name}")
            await asyncio.gather(*(one.finish() for one in comers))
            for one in comers:
                mine = heard[one.path.rpartition("/")[2]]
                assert f"a word to {one.name}" in mine
                for other in comers:
                    if other is one:
                        continue
                    at_table = tables[other.name] is tables[one.name]
                    assert (other.name in mine) is at_table
                    for secret in (f"a word to {other.name}", other.code, f"id-{other.name}"):
                        assert secret not in mine, (one.name, secret)
                    if not at_table:
                        assert other.said not in mine

    asyncio.run(main())


def test_answers_outside_the_game_reach_nobody_at_the_table(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path, STUDY) as there:
            heard = Heard(there)
            one, other, *_ = await seated(there)
            await asyncio.gather(one.to("done"), other.to("done"))
            await one.step()
            one.said = "for the researchers alone"
            await one.finish()
            await other.finish()
            assert one.said not in heard[other.path.rpartition("/")[2]]

    asyncio.run(main())


def test_a_link_opens_nothing_of_another(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path, STUDY) as there:
            one, other, *_ = await seated(there)
            await there.supervisor.tell(other.who, "read this")
            notice = other.who.notice
            assert notice is not None
            await one.send("notice", {"notice": str(notice.id)})
            assert notice.answered is None
            token = one.path.rpartition("/")[2]
            code, *signed = token.split(".")
            assert code == one.code
            forged = ".".join([other.code, *signed])
            for path in (f"/p/{forged}", f"/p/{forged}/events", f"/p/{other.code}"):
                refused = await there.client.get(path)
                assert refused.status_code == 403
                assert other.name not in Page(refused.text).words
            assert (await there.client.post(f"/p/{forged}/withdraw")).status_code == 403
            assert other.who.ending is None
            table = one.who.guest.room
            await other.send("withdraw")
            assert other.who.ending == "withdrawn"
            assert table is not None

    asyncio.run(main())
