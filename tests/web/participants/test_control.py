"""Researchers' actions on participants: advance, replace, extend, pause and resume."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from cheaptalk.records import Store
from cheaptalk.records.people import queries
from cheaptalk.records.people.payouts import balance_of
from cheaptalk.records.people.rows import Notice
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies import parse_study
from cheaptalk.studies.study import Study
from cheaptalk.web.participants.control import ADVANCED, REPLACED, Control
from cheaptalk.web.participants.experiment import STOOD_IN
from cheaptalk.web.participants.restoration import session_of
from tests.web.participants.comers import GAMES, PEOPLE, Comer, opened, people_study

AWAY = {"person": "browser", "deadline": 300, "away": {"strategy": "random"}}
SUM = [{"name": "sum", "ask": "1 + 1?", "choices": ["one", "two"], "correct": "two"}]
ASK = [{"name": "sum", "ask": "1 + 1?", "lines": 2}]
PAUSED = "The researchers have paused the study"


def away_study(player: dict[str, Any] = AWAY, **changes: Any) -> Study:
    """Return a study of people who play against each other, with a deadline and a substitute."""
    data = {
        "name": "people", "instances": 10, "games": GAMES, "pairing": [["people", "people"]],
        "players": {"people": player}, "people": PEOPLE | changes,
    }  # fmt: skip
    return parse_study(data, "here")


def notices(path: Path) -> list[Notice]:
    with Store.open(path / "s.sqlite") as store:
        return [*queries.notices_of(store, "people")]


async def test_advance_skips_pages_but_not_consent(tmp_path: Path) -> None:
    path = [{"consent": "We play."}, "first_name", {"instructions": ["One.", "Two."]},
            {"comprehension": SUM}, {"games": 1}]  # fmt: skip
    async with opened(tmp_path, people_study(path=path)) as site:
        ann, control = await site.enter("ann"), Control(site.supervisor)
        with pytest.raises(CheaptalkError, match="only the participant can give consent"):
            await control.advance(ann.participant)
        await ann.step()
        steps = []
        for _ in range(4):
            steps.append(ann.participant.journey.stop.name)
            await control.advance(ann.participant)
        assert steps == ["first_name", "instructions", "instructions", "comprehension"]
        assert "more player" in (await ann.look()).words
        assert ann.participant.flags == [ADVANCED]
    kept = notices(tmp_path)
    assert [(notice.kind, notice.text) for notice in kept] == [("advance", name) for name in steps]


async def test_advance_ends_waiting_with_pay(tmp_path: Path) -> None:
    pay = PEOPLE["pay"] | {"ended": {"timed_out": 0.5}}
    async with opened(tmp_path, people_study(pay=pay)) as site:
        ann, bob = await site.enter("ann"), await site.enter("bob")
        await ann.until(lambda page: "Waiting" in page.words)
        await Control(site.supervisor).advance(ann.participant)
        assert ann.participant.ending == "timed_out"
        store, study = site.experiment.room_manager.store, site.experiment.study_id
        assert balance_of(store, study).owed == 50
        await bob.until(lambda page: "more player" in page.words)


async def test_advance_refuses_to_interrupt_a_match(tmp_path: Path) -> None:
    async with opened(tmp_path, away_study()) as site:
        ann, _ = await playing(site)
        with pytest.raises(CheaptalkError, match="the participant is playing"):
            await Control(site.supervisor).advance(ann.participant)
        await Control(site.supervisor).replace(ann.participant)
        with pytest.raises(CheaptalkError, match="is not playing"):
            await Control(site.supervisor).replace(ann.participant)


async def test_substitute_plays_for_a_replaced_participant(tmp_path: Path) -> None:
    async with opened(tmp_path, away_study()) as site:
        ann, bob = await playing(site)
        await Control(site.supervisor).replace(ann.participant)
        assert "let a computer player take over for you" in (await ann.look()).words
        await bob.finish()
        await ann.until(lambda page: page.form("done") or page.form("page"))
        assert ann.participant.flags == [REPLACED, STOOD_IN]
        assert bob.participant.ending == "complete"


async def test_replacement_requires_a_substitute(tmp_path: Path) -> None:
    async with opened(tmp_path) as site:
        ann, _ = await playing(site)
        with pytest.raises(CheaptalkError, match="no program for this seat"):
            await Control(site.supervisor).replace(ann.participant)
        assert notices(tmp_path) == []


async def test_extension_moves_the_deadline_of_a_decision(tmp_path: Path) -> None:
    async with opened(tmp_path, away_study()) as site:
        ann, bob = await playing(site)
        session = session_of(site.experiment, ann.participant)
        assert session is not None
        before = session.due
        assert before is not None
        await Control(site.supervisor).extend(ann.participant, 10)
        assert session.due == before + 600
        with pytest.raises(CheaptalkError, match="no deadline"):
            await Control(site.supervisor).extend(bob.participant, 10)
        with pytest.raises(CheaptalkError, match="minutes"):
            await Control(site.supervisor).extend(ann.participant, -1)
    (kept,) = notices(tmp_path)
    assert (kept.kind, kept.text, kept.due) == ("extension", "10", before + 600)


async def test_extension_prolongs_waiting(tmp_path: Path) -> None:
    async with opened(tmp_path) as site:
        ann = await site.enter("ann")
        await ann.until(lambda page: "Waiting" in page.words)
        before = site.supervisor.may_leave_at(ann.participant)
        await Control(site.supervisor).extend(ann.participant, 5)
        assert site.supervisor.may_leave_at(ann.participant) == before + 300


async def test_pause_stops_clocks_across_a_restart(tmp_path: Path) -> None:
    player = AWAY | {"deadline": 0.5}
    async with opened(tmp_path, away_study(player)) as site:
        ann, bob = await playing(site)
        await Control(site.supervisor).pause(ann.participant)
        session = session_of(site.experiment, ann.participant)
        assert session is not None
        assert session.due is not None
        left = session.due - (session.stopped_at or 0)
        await asyncio.sleep(0.6)  # the deadline would pass
        assert PAUSED in (await ann.look()).words
        assert ann.page.forms_for("answer")
    async with opened(tmp_path, away_study(player)) as site:
        again, bob = site.comer("ann", ann.path), site.comer("bob", bob.path)
        await again.until(lambda page: page.forms_for("answer"))
        session = session_of(site.experiment, again.participant)
        assert session is not None
        assert session.due is not None
        assert session.due - (session.stopped_at or 0) == pytest.approx(left, abs=1e-3)
        await Control(site.supervisor).resume(again.participant)
        assert session.due - time.time() == pytest.approx(left, abs=0.1)
        await bob.until(lambda page: page.forms_for("answer"))  # a program answers after the rest
    (kept,) = notices(tmp_path)
    assert kept.kind == "pause"
    assert kept.answered is not None
    assert kept.answered - kept.sent > 0.6


async def test_paused_participant_keeps_input_and_waiting_time(tmp_path: Path) -> None:
    path = [{"survey": ASK}, {"games": 1}]
    async with opened(tmp_path, people_study(path=path)) as site:
        ann, control = await site.enter("ann"), Control(site.supervisor)
        await control.pause(ann.participant)
        form = (await ann.look()).form("page")
        assert form is not None
        page = await ann.press(form, {"page-number": "0", "sum": "my long answer"})
        assert PAUSED in page.words
        assert "my long answer" in (await site.client.get(ann.path)).text
        await control.resume(ann.participant)
        assert PAUSED not in (await ann.look()).words
        await ann.until(lambda page: "Waiting" in page.words)
        left = site.supervisor.may_leave_at(ann.participant) - time.time()
        await control.pause(ann.participant)
        await asyncio.sleep(0.2)
        now = site.supervisor.may_leave_at(ann.participant) - time.time()
        assert now == pytest.approx(left, abs=0.05)
    async with opened(tmp_path, people_study(path=path)) as site:
        again = site.comer("ann", ann.path)
        await again.look()
        await Control(site.supervisor).resume(again.participant)
        now = site.supervisor.may_leave_at(again.participant) - time.time()
        assert now == pytest.approx(left, abs=0.05)


async def test_paused_study_admits_no_one_until_it_resumes(tmp_path: Path) -> None:
    async with opened(tmp_path) as site:
        ann = await site.enter("ann")
        await Control(site.supervisor).pause_study()
        assert PAUSED in (await ann.look()).words
    async with opened(tmp_path) as site:
        refused = await site.client.post("/enter", data={"known_by": "bob"})
        assert refused.status_code == 503
        ann = site.comer("ann", ann.path)
        assert PAUSED in (await ann.look()).words
        await Control(site.supervisor).resume_study()
        await site.enter("bob")
        await ann.look()
        await ann.step()
        assert ann.participant.journey.responses


async def test_partner_who_leaves_ends_a_paused_visit(tmp_path: Path) -> None:
    async with opened(tmp_path) as site:
        ann, bob = await playing(site)
        await Control(site.supervisor).pause(ann.participant)
        assert not (await ann.send("leave")).is_error
        assert ann.participant.ending is None  # ignored during the pause
        await bob.send("withdraw")
        await bob.look()
        await ann.send("withdraw")
        assert ann.participant.ending is not None
        await site.supervisor.check(time.time())
    assert all(notice.answered for notice in notices(tmp_path))


async def test_hidden_pages_are_counted(tmp_path: Path) -> None:
    async with opened(tmp_path) as site:
        ann = await site.enter("ann")
        assert f'data-focus="{ann.path}/focus"' in (await site.client.get(ann.path)).text
        for _ in range(2):
            await ann.send("focus", {"hidden": "yes"})
            await asyncio.sleep(0.05)
            await ann.send("focus", {"hidden": "no"})
    with Store.open(tmp_path / "s.sqlite") as store:
        (person,) = queries.participants_of(store, "people")
    assert person.hidden_times == 2
    assert 0.1 <= person.hidden_seconds < 60


async def playing(site: Any) -> tuple[Comer, Comer]:
    """Return two participants in a match; the first one must answer."""
    ann, bob = await site.enter("ann"), await site.enter("bob")
    await ann.until(lambda page: "Waiting" in page.words)
    await bob.until(lambda _: bob.participant.journey.stop.name == "games")
    for first, second in 20 * ((ann, bob), (bob, ann)):
        if (await first.look()).forms_for("answer"):
            return first, second
    raise AssertionError("nobody must answer")
