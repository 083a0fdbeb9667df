"""Highlights: each fault of a player is shown at its decisive turn."""

from pathlib import Path
from typing import Any

import cheaptalk as ct
from cheaptalk.players import RosterEntry
from cheaptalk.profiles.highlights import highlight
from cheaptalk.profiles.profiles import profile_of
from cheaptalk.reports.recipes.parts import Match
from cheaptalk.rules import get_game
from tests.known import known
from tests.profiles.players import FAULTY, FEW, SOUND

BAD = SOUND | {
    "bargaining": FAULTY["vain_bargaining"]["bargaining"],
    "negotiation": FAULTY["leaky"]["negotiation"],
    "deal_or_no_deal": "liar",
    "persuasion": {"alice": "always_recommend", "bob": "trusting"},
}


def decisive_answer(shown: Match) -> dict[str, Any]:
    """Return the answer of the decisive turn."""
    given = next(answer for answer in shown.record.answers if answer.request == shown.decisive)
    return dict(known(given.action))


def test_faults_are_highlighted_at_the_decisive_turn(tmp_path: Path) -> None:
    entry = RosterEntry.model_validate({"strategies": BAD})
    study = FEW.study("bad", entry, "small")
    with ct.Store.open(tmp_path / "s", create=True) as store:
        ct.run(study, store, workers=1)
        profile = profile_of(store, study.name, "bad", entry, FEW, "small")
        highlights = {shown.title: shown for shown in highlight(store, profile)}
    examples = ["Largest effect of messages", "A false statement", "A leaked secret"]
    assert list(highlights) == ["Best match", "Worst match", *examples]
    moved = highlights["Largest effect of messages"]
    assert "against an opponent (flattering)" in moved.about
    assert decisive_answer(moved) == {"decision": "accept"}
    assert decisive_answer(highlights["A leaked secret"])["message"].startswith("It is worth $")
    lie = highlights["A false statement"].record
    result = lie.result()
    statements = get_game(lie.game).assessment.statements(result)
    first = next(statement for statement in statements if not statement.true)
    assert highlights["A false statement"].decisive == first.request
    worst = highlights["Worst match"]
    assert worst.decisive is not None
    assert "the best baseline" in worst.about
