"""Payments of participants: by visit and platform, up to the maximum bonus."""

from cheaptalk.studies.people.path import Journey, Response
from cheaptalk.studies.people.pay import Due, dues
from cheaptalk.studies.people.protocol import Protocol


def journey(*cents: int, **pay: object) -> Journey:
    """Return the journey of a participant with one visit and one game per amount."""
    protocol = Protocol.model_validate(
        {"path": ["games"], "limits": {"visits": len(cents)}, "pay": {"base": 1, **pay}}
    )
    answered = []
    for visit, amount in enumerate(cents, 1):
        if visit > 1:
            answered.append(Response("end", visit - 1, visit - 1, {"again": True}))
        answered += [
            Response("assignment", visit, visit, {"treatment": "t"}),
            Response("games", visit, visit, {"state": "finished", "cents": amount}),
        ]
    return Journey(protocol, answered)


def test_base_pay_after_first_visit_is_paid_as_bonus() -> None:
    assert dues(journey(30, 40), "seed") == [
        Due("base/1", "base", 100),
        Due("game/1", "bonus", 30),
        Due("base/2", "bonus", 100),
        Due("game/2", "bonus", 40),
    ]


def test_max_bonus_excludes_base_pay() -> None:
    assert dues(journey(30, 40, max=0.5), "seed") == [
        Due("base/1", "base", 100),
        Due("game/1", "bonus", 30),
        Due("base/2", "bonus", 100),
        Due("game/2", "bonus", 20),
    ]
