"""Faults on a path: no participant is stuck, nothing is lost, and nothing is paid twice."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from cheaptalk.frames.people import funnel
from cheaptalk.records import Store, StoreError
from cheaptalk.records.ledger.ledger import Ledger
from cheaptalk.rules import Game
from cheaptalk.rules.chance import Stream
from cheaptalk.studies.people.answers import Choices
from cheaptalk.studies.people.items import Item
from cheaptalk.studies.people.steps import QUIZZES, Attention
from cheaptalk.web.participants.supervisor import GONE, MISSED
from cheaptalk.web.rooms.rooms import Stage
from tests.fakes import Canned, broken
from tests.web.participants.comers import BOT, PEOPLE, Comer, NotShown, Open, opened, people_study

CONSENT, GAMES, SURVEY = PEOPLE["path"]


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with Store.open(folder / "s.sqlite") as store, store.reading() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(query)]


def owed(folder: Path) -> dict[str, dict[str, int]]:
    """Return the cents owed to each participant, by code and kind of payment."""
    query = "select code, key, cents from payments join participants p on p.id = participant_id"
    amounts: dict[str, dict[str, int]] = {}
    for code, key, cents in rows(folder, query):
        amounts.setdefault(code, {})[key] = cents
    return amounts


async def seat_pair(site: Open) -> tuple[Comer, Comer]:
    """Seat two participants at a table; return the one with a request first."""
    ada, emmy = await site.enter("Ada"), await site.enter("Emmy")
    for item in (ada, emmy):
        await item.step()
    while not (ada.page.form("answer") or emmy.page.form("answer")):
        await asyncio.gather(ada.look(), emmy.look())
    return (ada, emmy) if ada.page.form("answer") else (emmy, ada)


@contextmanager
def unwritable(patch: pytest.MonkeyPatch, spared: int = 0) -> Iterator[None]:
    """Make the store's disk full after a number of further commits."""
    failures, write = [spared], Ledger.write

    async def refuse(ledger: Ledger, work: Any) -> Any:
        failures[0] -= 1
        if failures[0] < 0:
            raise StoreError("the disk is full")
        return await write(ledger, work)

    with patch.context() as within:
        within.setattr(Ledger, "write", refuse)
        yield


async def test_step_that_cannot_be_stored_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as site:
        statuses = []
        ada, emmy = await site.enter("Ada"), await site.enter("Emmy")
        for item in (ada, emmy):
            form = item.page.form("page")
            assert form is not None
            fields = {"page-number": "0", "statement_0": "yes", "agreed": "yes"}
            for spared in range(5):  # consent, assignment, room, games under way: each fails once
                with unwritable(monkeypatch, spared):
                    statuses.append((await item.send("page", fields)).status_code)
                    response = await site.client.get(item.path)
                    statuses.append(response.status_code)
        await asyncio.gather(ada.look(), emmy.look())
        await asyncio.gather(ada.finish(), emmy.finish())
        assert (ada.page.ending, emmy.page.ending) == ("complete", "complete")
    assert set(statuses) <= {200, 303, 503}
    assert 503 in statuses
    steps = [value for (value,) in rows(tmp_path, "select step from responses")]
    assert sorted(steps) == sorted(2 * ["consent", "assignment", "games", "survey"])
    assert len({value for (value,) in rows(tmp_path, "select match_id from plays")}) == 1


async def test_match_is_settled_once_its_end_can_be_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, people_study(BOT)) as site:
        ada = await site.enter("Ada")
        await ada.to("answer")
        room = ada.participant.visitor.room
        assert room is not None
        settle = site.experiment.settle

        async def fails(*_: Any, **__: Any) -> None:
            raise StoreError("the disk is full")

        monkeypatch.setattr(site.experiment, "settle", fails)
        while room.stage is not Stage.OVER:
            if room.over:
                await asyncio.sleep(0.001)
            else:
                with suppress(NotShown):  # if the end could not be stored before this step
                    await ada.step()
        assert (await site.client.get(ada.path)).status_code == 503
        monkeypatch.setattr(site.experiment, "settle", settle)
        await ada.look()
        assert (await ada.finish()).ending == "complete"
    assert [value for (value,) in rows(tmp_path, "select state from plays")] == ["finished"]


async def test_participant_who_cannot_be_stored_can_enter_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, people_study(BOT)) as site:
        with unwritable(monkeypatch):
            refused = await site.client.post("/enter", data={"known_by": "Ada"})
        ada = await site.enter("Ada")
        assert (await ada.finish()).ending == "complete"
        assert refused.status_code == 503
    assert len(rows(tmp_path, "select * from participants")) == 1


async def test_two_tabs_and_double_clicks_count_once(tmp_path: Path) -> None:
    async with opened(tmp_path, people_study(BOT)) as site:
        ada = site.comer("Ada")
        first, second = await asyncio.gather(
            *(site.client.post("/enter", data={"known_by": "Ada"}) for _ in range(2))
        )
        ada.path, other = (item.headers["location"] for item in (first, second))
        assert ada.path.partition(".")[0] == other.partition(".")[0]
        fields = {"page-number": "0", "statement_0": "yes", "agreed": "yes"}
        await asyncio.gather(*(ada.send("page", fields) for _ in range(5)))
        await ada.look()
        await ada.to("done")
        await asyncio.gather(*(ada.send("done") for _ in range(3)))
        fields = {"page-number": str(len(ada.participant.journey.responses)), "feedback": "since"}
        sent = [ada.send("page", fields), *(site.client.get(ada.path) for _ in range(3))]
        await asyncio.gather(*sent, *(ada.send("page", fields) for _ in range(3)))
        await ada.look()
        assert ada.page.ending == "complete"
    steps = [value for (value,) in rows(tmp_path, "select step from responses order by number")]
    assert steps == ["consent", "assignment", "games", "survey"]
    ((amounts),) = owed(tmp_path).values()
    assert amounts.keys() <= {"base/1", "game/1"}


async def test_games_continue_without_a_page_between_them(tmp_path: Path) -> None:
    study = people_study(BOT, path=[CONSENT, {"games": 3}])
    async with opened(tmp_path, study) as site:
        ada = await site.enter("Ada")
        assert (await ada.finish()).ending == "complete"
    plays = rows(tmp_path, "select state, match_id from plays")
    assert [state for state, _ in plays] == 3 * ["finished"]
    assert len({match for _, match in plays}) == 3


async def test_withdrawal_as_a_match_ends_keeps_its_payoff(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A match is over before its end is stored; a withdrawal in between counts as played."""
    async with opened(tmp_path, people_study(BOT)) as site:
        ada = await site.enter("Ada")
        await ada.to("answer")
        room, finish = ada.participant.visitor.room, Ledger.finish
        assert room is not None
        waiting = asyncio.Event()

        async def late(ledger: Ledger, *arguments: Any) -> None:
            await waiting.wait()
            await finish(ledger, *arguments)

        monkeypatch.setattr(Ledger, "finish", late)
        while not room.over:
            await ada.step()
        going = asyncio.create_task(ada.send("withdraw"))
        while not going.done() and site.experiment.people[ada.code].lock.locked():
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting.set()
        await going
        assert (await ada.look()).ending == "withdrawn"
    ((state, payoff, cents),) = rows(tmp_path, "select state, payoff, cents from plays")
    assert (state, cents) == ("finished", round(payoff + 1e-9))


@pytest.mark.parametrize("erase", [False, True])
async def test_leaving_partner_ends_the_study_without_fault(tmp_path: Path, erase: bool) -> None:
    async with opened(tmp_path) as site:
        active, waiting = await seat_pair(site)
        await active.send("withdraw", {"erase": "yes"} if erase else {})
        await waiting.until(lambda page: page.form("done"))
        await waiting.finish()
        await site.supervisor.check(0.0)
        assert (active.code in site.experiment.people) is not erase
        response = await waiting.look()
        assert response.ending == "partner_left"
        code = waiting.code
    assert owed(tmp_path)[code] == {"partner_left/1": 50}
    assert len(rows(tmp_path, "select * from participants")) == 2 - erase
    states = dict(
        rows(tmp_path, "select code, state from plays join participants p on p.id = participant_id")
    )
    assert states[code] == "partner_left"
    if not erase:
        ((kinds,),) = rows(tmp_path, "select kinds from matches")
        assert '"left":1' in kinds
        with Store.open(tmp_path / "s.sqlite") as store:
            steps = funnel(store, "people").steps
        assert steps.filter(step="games").select("people", "stopped").rows() == [(2, 2)]


async def test_lobby_survives_a_pause_and_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as site:
        ada = await site.enter("Ada")
        await ada.step()
        await site.supervisor.recruit("paused")
        closed = await site.client.post("/enter", data={"known_by": "Emmy"})
        assert closed.status_code == 503
    async with opened(tmp_path) as site:
        ada = site.comer("Ada", ada.path)
        assert (await site.client.post("/enter", data={"known_by": "Emmy"})).status_code == 503
        await site.supervisor.recruit("open")
        emmy = await site.enter("Emmy")
        await emmy.step()
        room = emmy.participant.visitor.room
        assert room is not None
        assert room.stage is Stage.WAITING, "the server has not seen Ada yet"
        await ada.look()
        await asyncio.gather(ada.finish(), emmy.finish())
        assert (ada.page.ending, emmy.page.ending) == ("complete", "complete")


async def test_absent_participant_times_out_of_the_lobby(tmp_path: Path) -> None:
    async with opened(tmp_path) as site:
        ada = await site.enter("Ada")
        await ada.step()
        await site.supervisor.check(ada.participant.visitor.seen + GONE - 1)
        assert ada.participant.ending is None
        await site.supervisor.check(ada.participant.visitor.seen + GONE + 1)
        assert ada.participant.ending == "timed_out"
        assert site.experiment.quotas.filled.total() == 0


async def test_broken_match_can_be_given_up_without_fault(tmp_path: Path) -> None:
    failing = Canned(lambda call, number: broken(retry=False))
    model = {"model": "vllm/tiny@http://127.0.0.1:9/v1"}
    study = people_study([["people", "bot"]], bot=model)

    async with opened(tmp_path, study, models=failing) as site:
        ada = await site.enter("Ada")
        await ada.until(lambda page: page.form("give_up"))
    async with opened(tmp_path, study, models=failing) as site:
        ada = site.comer("Ada", ada.path)
        await ada.look()
        assert ada.page.form("again")
        await asyncio.gather(*(ada.send("give_up") for _ in range(2)))
        assert (await ada.look()).ending == "technical"
    ((amounts),) = owed(tmp_path).values()
    assert amounts == {"technical/1": 70}
    ((state, match),) = rows(tmp_path, "select state, match_id from plays")
    assert (state, bool(match)) == ("technical", True)


async def test_page_opened_before_a_restart_can_be_answered_after_it(tmp_path: Path) -> None:
    async with opened(tmp_path, people_study(BOT)) as site:
        ada = await site.enter("Ada")
        await ada.to("done")
        await ada.step()
        assert ada.page.form("page")
        number = str(len(ada.participant.journey.responses))
    async with opened(tmp_path, people_study(BOT)) as site:
        ada = site.comer("Ada", ada.path)
        assert ada.participant.begun < ada.participant.went_on
        sent = await ada.send("page", {"page-number": number, "feedback": "a long text"})
        assert sent.status_code == 303
        assert (await ada.look()).ending == "complete"
    ((answer,),) = rows(tmp_path, "select answer from responses where step = 'survey'")
    assert json.loads(answer) == {"feedback": "a long text"}


async def test_prompts_survive_restarts_before_and_after_they_are_due(tmp_path: Path) -> None:
    games = {"games": {"attention": {"after": [99, 99], "seconds": 300}}}
    study = people_study(BOT, path=[CONSENT, games, SURVEY])

    async with opened(tmp_path, study) as site:
        ada = await site.enter("Ada")
        await ada.to("answer")
        assert ada.participant.prompt_due is not None
    async with opened(tmp_path, study) as site:
        ada = site.comer("Ada", ada.path)
        await ada.look()
        await ada.to("answer")
        prompt = ada.participant.prompt_due
        assert prompt is not None
        await site.supervisor.check(prompt)
        notice = ada.participant.notice
        assert notice is not None
        assert notice.due is not None
        due = notice.due
    async with opened(tmp_path, study) as site:
        ada = site.comer("Ada", ada.path)
        notice = ada.participant.notice
        assert notice is not None
        assert notice.due is not None
        await site.supervisor.check(due + 0.001)
        assert MISSED not in ada.participant.flags
        assert ada.participant.prompt_due is None  # it has been shown
        await site.supervisor.check(notice.due)
        assert (await ada.look()).ending == "failed_attention"


def ask(game: Game, seat: str, events: Any, rng: Stream, formats: Any) -> Item:
    options = Choices(options=["this", "that"])
    return Item(name="quiz", ask="Which?", answer=options, correct=["this"])


async def test_quiz_about_an_erased_match_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(QUIZZES._here, "bargaining", ask)
    monkeypatch.setattr(QUIZZES, "_merged", None)
    study = people_study(path=[CONSENT, {"games": {"after": ["quiz"]}}, SURVEY])
    async with opened(tmp_path, study) as site:
        ada, emmy = await seat_pair(site)
        await asyncio.gather(ada.to("done"), emmy.to("done"))
        for item in (ada, emmy):
            await item.step()
            assert "Which?" in item.page.words
        await ada.send("withdraw", {"erase": "yes"})
        assert ada.code not in site.experiment.people
        await emmy.look()
        assert "Why?" in emmy.page.words
        assert (await emmy.finish()).ending == "complete"
    assert len(owed(tmp_path)) == 1


async def test_changed_path_is_reported_to_current_participants(tmp_path: Path) -> None:
    async with opened(tmp_path, people_study(BOT)) as site:
        ada = await site.enter("Ada")
        await ada.step()
    changed = people_study(BOT, path=["first_name", *PEOPLE["path"]])
    async with opened(tmp_path, changed) as site:
        by_link, by_id = [
            await site.client.get(ada.path),
            await site.client.post("/enter", data={"known_by": "Ada"}),
        ]
    assert (by_link.status_code, by_id.status_code) == (409, 409)
    assert "has changed" in by_id.text


async def test_interrupted_erasure_is_completed_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as site:
        ada = await site.enter("Ada")
        await ada.step()
        forget = site.experiment.identities.forget

        def cut_short(code: str) -> None:
            forget(code)
            raise StoreError("the server was killed")

        monkeypatch.setattr(site.experiment.identities, "forget", cut_short)
        assert (await ada.send("withdraw", {"erase": "yes"})).status_code == 503
    async with opened(tmp_path) as site:
        await site.supervisor.check(0.0)
        assert (len(site.experiment.people)) == 0
    assert rows(tmp_path, "select * from participants") == []


async def test_language_link_keeps_the_participant_id(tmp_path: Path) -> None:
    async with opened(tmp_path) as site:
        page = (await site.client.get("/?PROLIFIC_PID=a b&STUDY_ID=1")).text
        assert 'href="/?PROLIFIC_PID=a+b&amp;STUDY_ID=1&amp;lang=de"' in page


async def test_attention_check_is_shown_before_a_message(tmp_path: Path) -> None:
    async with opened(tmp_path) as site:
        ada, _ = await seat_pair(site)
        await site.supervisor.send_message(ada.participant, "Take your time.")
        await site.supervisor.prompt(ada.participant, Attention())
        assert "the word \u201chere\u201d" in (await ada.look()).words
        await ada.step()
        assert "Take your time." in ada.page.words
        assert ada.page.ending == ""
