"""What people are owed: by visit, by platform, and with no more bonus than there may be."""

from cheaptalk.studies.people.path import Journey, Response
from cheaptalk.studies.people.pay import Due, dues
from cheaptalk.studies.people.protocol import Protocol


def journey(*cents: int, **pay: object) -> Journey:
    """Somebody who came as often as there are amounts, for a game each time."""
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


def test_a_platform_pays_for_one_visit_by_itself_and_all_else_is_bonus() -> None:
    assert dues(journey(30, 40), "seed") == [
        Due("base/1", "base", 100), Due("game/1", "bonus", 30),
        Due("base/2", "bonus", 100), Due("game/2", "bonus", 40),
    ]  # fmt: skip


def test_what_a_visit_pays_for_taking_part_is_no_part_of_the_bonus_s_bound() -> None:
    assert dues(journey(30, 40, max=0.5), "seed") == [
        Due("base/1", "base", 100), Due("game/1", "bonus", 30),
        Due("base/2", "bonus", 100), Due("game/2", "bonus", 20),
    ]  # fmt: skip
