"""Conduct: what a match shows of a player alone."""

from typing import Any

import cheaptalk as ct
from cheaptalk.profiles.conduct import conduct
from tests.fakes import study


def courses(store: ct.Store, *manners: str) -> list[set[tuple[str, str]]]:
    """Return, by manner of the other player, the course of a player that reads no messages."""
    talkers: dict[str, Any] = {
        manner: {"strategy": "talker", "manner": manner, "offers": "greedy"} for manner in manners
    }
    made = study(
        games=[{"game": "deal_or_no_deal", "deals": 12}],
        players={"deaf": {"strategy": "greedy"}} | talkers,
        pairing=[["deaf", manner] for manner in manners],
    )
    ct.run(made, store)
    return [
        {
            (record.deal_key, conduct(record, record.result(), "player_1").course)
            for record in store.records(made.name, bodies=True)
            if record.label("player_2") == manner
        }
        for manner in manners
    ]


def test_a_course_is_the_player_s_own_and_not_what_the_other_states(store: ct.Store) -> None:
    silent, false_claim, sympathy = courses(store, "silent", "false_claim", "sympathy")
    assert len(silent) == 12
    assert silent == false_claim == sympathy
