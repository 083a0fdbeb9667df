"""Every attack in a short round; ``make attack`` runs them for longer."""

import random

import pytest

from tests.attack.rounds import ROUNDS, Round

pytestmark = [pytest.mark.hostile, pytest.mark.kill]


@pytest.mark.parametrize("attack", ROUNDS, ids=lambda attack: attack.__name__)
def test_no_promise_breaks(attack: Round) -> None:
    short, _ = ROUNDS[attack]
    assert attack(random.Random(attack.__name__), short) == []
