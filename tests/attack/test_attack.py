"""Every attack in a short form; ``make attack`` goes on for as long as one likes."""

import random

import pytest

from tests.attack.rounds import ROUNDS, Round

pytestmark = [pytest.mark.hostile, pytest.mark.kill]


@pytest.mark.parametrize("attack", ROUNDS, ids=lambda attack: attack.__name__)
def test_no_promise_breaks(attack: Round) -> None:
    short, _ = ROUNDS[attack]
    found = attack(random.Random(attack.__name__), short)
    assert found.done.total() >= short
    assert found.breaches == []
