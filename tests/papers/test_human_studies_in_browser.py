"""The papers' studies with people in a browser: every page of the path, clicked on a phone."""

import os
from pathlib import Path

import pytest

from cheaptalk.studies.study import Study
from cheaptalk.web.rooms.limits import Limit
from tests.papers.people import PRESCREENED, UNDERSTOOD, of_preset, scripted, visiting

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("study", "people", "more", "answers", "steps"),
    [
        (scripted("glee-human"), 1, 1, {}, {"first_name", "instructions", "quiz"}),
        (scripted("deal-or-no-deal-human"), 1, 2, PRESCREENED, {"screening", "objectives"}),
        (of_preset("chip-trading-human"), 3, 2, UNDERSTOOD, {"check_chips", "games", "survey"}),
    ],
    ids=lambda one: one.name if isinstance(one, Study) else "",
)
def test_a_phone_takes_everybody_to_the_code(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    study: Study,
    people: int,
    more: int,
    answers: dict[str, str],
    steps: set[str],
) -> None:
    monkeypatch.setattr(Limit, "allows", lambda limit, participant: True)
    shots = Path(os.environ.get("SHOTS", tmp_path)) / study.name
    shots.mkdir(parents=True, exist_ok=True)
    came = visiting(tmp_path, study, people, more, answers, shots)
    for one in came:
        assert one.failure is None
        assert (one.page.ending, bool(one.page.code)) == ("complete", True)
        assert (one.tab.complaints, one.wide) == ([], [])
        assert steps <= {kind.split()[0] for kind in one.kinds}
    assert len(list(shots.glob("*.png"))) == len(came[0].kinds)
