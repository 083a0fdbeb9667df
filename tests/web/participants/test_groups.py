"""Participants who met in a visit's first game stay together if the study requires it."""

import asyncio
from pathlib import Path

import pytest

from cheaptalk.studies.study import StudyError
from tests.web.participants.comers import Comer, Open, opened, people_study
from tests.web.participants.test_faults import owed, rows

TOGETHER = people_study(
    path=[{"games": {"max": 3, "same_treatment": True, "fixed_groups": True}}],
    pay={"base": 1, "ended": {"partner_left": 0.5}},
)


async def come(site: Open, *names: str) -> list[Comer]:
    """Enter participants one after another, so that they meet in pairs."""
    return [await site.enter(name) for name in names]


async def test_fixed_groups_play_all_games_together(tmp_path: Path) -> None:
    async with opened(tmp_path, TOGETHER) as site:
        comers = await come(site, "Ada", "Emmy", "Kurt", "Sofia")
        for order in (comers, comers[::-1], [comers[1], comers[2], comers[0], comers[3]]):
            await asyncio.gather(*(item.to("done") for item in order))
            for element in order:  # in the new order
                await element.step()
        for comer in comers:
            await comer.finish()
        ada, emmy, kurt, sofia = comers
    assert {item.page.ending for item in (ada, emmy, kurt, sofia)} == {"complete"}
    met: dict[str, set[str]] = {}
    join = "join participants p on p.id = participant_id"
    for match, code in rows(tmp_path, f"select match_id, code from plays {join}"):  # noqa: S608 - ours
        met.setdefault(match, set()).add(code)
    assert len(met) == 6
    pairs = [{ada.code, emmy.code}, {kurt.code, sofia.code}]
    assert all(list(met.values()).count(pair) == 3 for pair in pairs)


@pytest.mark.parametrize("when", ["before the next", "while the other waits"])
async def test_remaining_group_member_ends_without_fault(tmp_path: Path, when: str) -> None:
    async with opened(tmp_path, TOGETHER) as site:
        ada, emmy, kurt = await come(site, "Ada", "Emmy", "Kurt")
        await asyncio.gather(ada.to("done"), emmy.to("done"))
        if when == "before the next":
            await emmy.send("withdraw")
            await ada.step()
        else:
            await ada.step()
            assert "more player" in ada.page.words  # Kurt also waits, without a group
            await emmy.send("withdraw")
            await site.supervisor.check(0)
        await ada.look()
        assert "more player" in (await kurt.look()).words
        code, ending = ada.code, ada.page.ending
    assert ending == "partner_left"
    assert owed(tmp_path)[code]["partner_left/1"] == 50


def test_fixed_groups_require_the_same_treatment() -> None:
    with pytest.raises(StudyError, match="fixed_groups requires same_treatment"):
        people_study(path=[{"games": {"max": 2, "fixed_groups": True}}])
