"""The papers' studies with participants in a browser: every page on a narrow screen."""

import os
from pathlib import Path

import pytest

from cheaptalk.studies.study import Study
from cheaptalk.web.posted import Limit
from tests.papers.people import PRESCREENED, UNDERSTOOD, of_preset, scripted, visiting

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("study", "people", "games", "answers", "steps"),
    [
        (scripted("glee-human"), 1, 1, {}, {"first_name", "instructions", "quiz"}),
        (scripted("deal-or-no-deal-human"), 1, 2, PRESCREENED, {"screening", "objectives"}),
        (of_preset("chip-trading-human"), 3, 2, UNDERSTOOD, {"check_chips", "games", "survey"}),
    ],
    ids=lambda value: value.name if isinstance(value, Study) else "",
)
def test_participants_complete_study_on_phone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    study: Study,
    people: int,
    games: int,
    answers: dict[str, str],
    steps: set[str],
) -> None:
    monkeypatch.setattr(Limit, "allows", lambda limit, participant: True)
    shots = Path(os.environ.get("SHOTS", tmp_path)) / study.name
    shots.mkdir(parents=True, exist_ok=True)
    visitors = visiting(tmp_path, study, people, games, answers, shots)
    for visitor in visitors:
        assert visitor.failure is None
        assert (visitor.page.ending, bool(visitor.page.code)) == ("complete", True)
        assert (visitor.tab.complaints, visitor.wide) == ([], [])
        assert steps <= {kind.split()[0] for kind in visitor.kinds}
    assert len(list(shots.glob("*.png"))) == len(visitors[0].kinds)
