"""Bots complete the presets of classic experiments, from consent to pay."""

from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.records import Store
from cheaptalk.records.people.payouts import balance_of
from cheaptalk.studies import parse_study
from cheaptalk.web import Crowd
from tests.web.participants.test_bots import hurry
from tests.web.served import served_experiment

PRESETS: dict[str, tuple[int, list[dict[str, Any]]]] = {
    "ultimatum-strategy-method": (2, []),
    "trust": (2, []),
    "public-goods-punishment": (
        4,
        [{"game": "public_goods_punishment", "fixed": {"rounds": 1, "punishment_rounds": 1}}],
    ),
}
"""The number of participants, and games that replace longer ones."""


def answers_of(study: ct.Study) -> dict[str, str]:
    """Return the correct answers to the comprehension questions of a study."""
    assert study.people is not None
    steps = (step for step in study.people.path if step.kind == "comprehension")
    items = (item for step in steps for item in getattr(step, "items", ()))
    return {item.name: str(item.correct[0]) for item in items}


@pytest.mark.parametrize("name", PRESETS)
async def test_bots_complete_classic_experiments(name: str, tmp_path: Path) -> None:
    people, games = PRESETS[name]
    written = ct.preset(name).written()
    study = parse_study(written | ({"games": games} if games else {}), name)
    async with served_experiment(tmp_path, study) as site:
        crowd = Crowd(str(site.client.base_url), people, answers=answers_of(study), rest=hurry)
        tally = await crowd.play()
    assert (tally.endings, tally.errors) == ({"complete": people}, {})
    assert study.people is not None
    base = round(100 * study.people.pay.base)
    with Store.open(tmp_path / "s.sqlite") as store:
        (record,) = store.records(study.name, bodies=True)
        assert record.game == study.games[0].game
        payoffs = record.result().game.seat_payoffs(record.result().outcome)
        bonus = round(
            100
            * study.people.pay.bonus[0].rate
            * sum(max(payoff, 0) for payoff in payoffs.values())
        )
        paid = balance_of(store, 1).owed
        assert paid == pytest.approx(people * base + bonus, abs=people)
