"""The papers' studies with participants in a browser: every page on a narrow screen."""

import asyncio
from pathlib import Path

import pytest

from cheaptalk.studies.study import Study
from cheaptalk.web.posted import Limit
from tests.papers.people import PRESCREENED, UNDERSTOOD, Visitor, of_preset, scripted
from tests.reports.browser import browser
from tests.web.served import served_experiment

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
    async def visit() -> list[Visitor]:
        async with (
            served_experiment(tmp_path, study) as site,
            browser(tmp_path / "profile") as opened,
        ):
            visitors = [
                Visitor(site, f"{study.name}-{number}", await opened.tab(), **answers)
                for number in range(people)
            ]
            visits = (visitor.take_part(games) for visitor in visitors)
            assert await asyncio.gather(*visits, return_exceptions=True) == [None] * people
            await asyncio.gather(
                *(visitor.tab.send("Page.navigate", url="about:blank") for visitor in visitors)
            )  # closes the pages' event streams
            return visitors

    monkeypatch.setattr(Limit, "allows", lambda limit, participant: True)
    for visitor in asyncio.run(visit()):
        assert (visitor.page.ending, bool(visitor.page.code)) == ("complete", True)
        assert (visitor.tab.complaints, visitor.wide) == ([], [])
        assert steps <= set(visitor.kinds)
