"""Assignment of participants in the order of arrival."""

from cheaptalk.rules import Chance
from cheaptalk.studies.people.assignment import Treatment, assign

TREATMENTS = [Treatment(name, "bargaining", 2, 10) for name in "abc"]


def test_no_treatment_is_repeated_while_another_is_open() -> None:
    filled = {"a": 1}  # a match needs another participant
    for number in range(20):
        treatment = assign(TREATMENTS, filled, {"a": 1}, Chance("s")("assignment", number))
        assert treatment is not None
        assert treatment.name != "a"
        new = assign(TREATMENTS, filled, {}, Chance("s")("assignment", number))
        assert new is not None
        assert new.name == "a"
    full = {"b": 20, "c": 20}
    assert assign(TREATMENTS, full, {"a": 1}, Chance("s")("assignment")) == TREATMENTS[0]
