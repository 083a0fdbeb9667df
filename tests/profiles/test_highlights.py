"""The matches that tell most: a player of many faults shows each where it happened."""

from pathlib import Path
from typing import Any

import cheaptalk as ct
from cheaptalk.players import RosterEntry
from cheaptalk.profiles.batteries import battery
from cheaptalk.profiles.highlights import Highlight, highlight
from cheaptalk.profiles.metrics.statements import statements
from cheaptalk.profiles.profiles import profile_of
from tests.profiles.faulty import FAULTY, SOUND, leaky, vain

BAD = SOUND | {
    "bargaining": vain, "negotiation": leaky, "deal_or_no_deal": "liar",
    "persuasion": {"alice": FAULTY["liar"]["persuasion"]["alice"], "bob": "trusting"},
}  # fmt: skip


def answered(one: Highlight) -> dict[str, Any]:
    """The answer of the decisive turn, as it was given."""
    given = next(answer for answer in one.record.answers if answer.request == one.decisive)
    assert given.action is not None
    return dict(given.action)


def test_each_fault_is_shown_at_the_turn_that_decided(tmp_path: Path) -> None:
    standard, entry = battery(), RosterEntry.model_validate({"strategies": BAD})
    study = standard.study("bad", entry, "small")
    with ct.Store.open(tmp_path / "s", create=True) as store:
        ct.run(study, store, workers=1)
        profile = profile_of(store, study.name, "bad", entry, standard, "small")
        found = {one.title: one for one in highlight(store, profile)}
    assert list(found) == [
        "Best match", "Worst match", "Largest effect of messages", "A false statement",
        "A leaked secret"
    ]  # fmt: skip
    moved = found["Largest effect of messages"]
    assert "against an opponent (flattering)" in moved.about
    assert answered(moved) == {"decision": "accept"}
    assert answered(found["A leaked secret"])["message"].startswith("It is worth $")
    lie = found["A false statement"].record
    result = lie.result()
    first = next(one for one in statements(result) if not one.true)
    assert found["A false statement"].decisive == first.request
    worst = found["Worst match"]
    assert worst.decisive is not None
    assert "the best baseline" in worst.about
