"""The papers' studies with people, from the entry to the code, and paid to the cent."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.calls.dispatcher import Models
from cheaptalk.frames.dropout import funnel
from cheaptalk.frames.people import survey_answers
from cheaptalk.games.deal_or_no_deal.rules import DealOrNoDeal
from cheaptalk.papers.glee.human_study import FAMILIES
from cheaptalk.records import Store
from cheaptalk.studies.study import Study
from cheaptalk.web.bots.pages import Form, Page
from cheaptalk.web.rooms import pages
from cheaptalk.web.rooms.limits import Limit
from tests.fakes import Canned
from tests.papers.people import PRESCREENED, UNDERSTOOD, Person, of_preset, scripted
from tests.web.participants.comers import Open, opened

HOUR = 3600.0
EARNED = re.compile(r"Earnings so far: (\S+\d)")
TRUTH = {"bargaining": "10%", "negotiation": "$8,000", "persuasion": "$10,000"}
"""What people who sit first in GLEE's main configurations were told."""


def done(
    folder: Path, study: Study, play: Callable[[Open], Awaitable[Any]], models: Models | None = None
) -> Any:
    """What comes of doing something while a study is open."""

    async def main() -> Any:
        async with opened(folder, study, models) as site:
            return await play(site)

    return asyncio.run(main())


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """What the store's tables have."""
    with Store.open(folder / "s.sqlite") as store, store.reading() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(query)]


def found(folder: Path, *traces: str) -> list[str]:
    """Which of these stand in any file of a folder."""
    whole = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return [one for one in traces if one.encode() in whole]


def owed(folder: Path) -> dict[str, int]:
    """What the only participant is owed, in cents, by what it is for."""
    return {str(key): cents for key, cents in rows(folder, "select key, cents from payments")}


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets so many seconds go by at once."""
    now, gone = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: now() + gone[0])

    def go(seconds: float) -> None:
        gone[0] += seconds

    return go


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets people click as fast as they can."""
    monkeypatch.setattr(pages, "Limit", lambda *_: Limit(10_000, 10_000))


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of the provider whose model plays in the preset."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")


# GLEE


def glee(*families: str) -> Study:
    """The preset in main configurations, with people first."""
    main = {one.game: one for one in reversed(FAMILIES)}
    return scripted(
        "glee-human",
        games=[
            {
                "game": one,
                "cases": [main[one].main],
                "pairing": [["human", "model"]],
                "instances": 9,
            }
            for one in families
        ],
    )


@pytest.mark.parametrize("family", list(TRUTH))
def test_a_visit_to_glee_is_one_game_between_two_checks(tmp_path: Path, family: str) -> None:
    async def go(site: Open) -> Person:
        ada = Person(site, "A2Z", quiz=TRUTH[family])
        await ada.come()
        await ada.finish()
        assert ada.page.ending == "complete"
        assert ada.page.code
        assert all("A game with a partner" in words for words in (ada.seen[0], ada.page.words))
        return ada

    ada = done(tmp_path, glee(family), go)
    steps = ["consent", "first_name", "instructions", "instructions", "quiz", "debrief"]
    assert ada.visited == steps
    (gain,) = rows(tmp_path, "select payoff from plays")[0]
    if family == "persuasion":  # 8 of 20 products sold earn the average bonus of 15 cents
        bonus = Decimal(gain) * 15 / 8
    else:  # 4 of $10,000 do, and half of what is between $8,000 and $12,000
        assert gain == {"bargaining": 5_000, "negotiation": 2_000}[family]
        bonus = {"bargaining": Decimal(5) / 4, "negotiation": Decimal(1)}[family] * 15
    cents = int(bonus.quantize(Decimal(1), ROUND_HALF_UP))
    assert owed(tmp_path) == {"base/1": 33, "game/1": cents}


def test_who_misses_glee_s_code_word_plays_no_game_and_gets_no_code(tmp_path: Path) -> None:
    async def go(site: Open) -> Page:
        ada = Person(site, "A2Z", code_word="No questions.")
        await ada.come()
        return await ada.finish()

    page = done(tmp_path, glee("bargaining"), go)
    assert (page.ending, page.code, page.form("page")) == ("failed_attention", "", None)
    assert rows(tmp_path, "select count(*) from matches") == [(0,)]
    assert owed(tmp_path) == {}


def test_of_who_fails_glee_s_quiz_only_how_far_they_came_stays(tmp_path: Path) -> None:
    async def go(site: Open) -> Page:
        ada = Person(site, "A2Z", quiz="20%")
        ada.said = "batti batti"
        await ada.come()
        await ada.play()
        assert found(tmp_path, "Zerlina", ada.said) == ["Zerlina", ada.said]
        await ada.finish()
        assert found(tmp_path, "Zerlina", ada.said) == []
        await ada.come()
        assert ada.page.form("page") is None
        return ada.page

    page = done(tmp_path, glee("bargaining"), go)
    assert (page.ending, page.code) == ("failed_attention", "")
    assert rows(tmp_path, "select ending from participants") == [("failed_attention",)]
    left = [rows(tmp_path, f"select * from {one}") for one in ("matches", "payments")]  # noqa: S608 - ours
    assert left == [[], []]
    told = rows(tmp_path, "select distinct answer from responses where step <> 'ended'")
    assert told == [("{}",)]
    with Store.open(tmp_path / "s.sqlite") as store:
        checks = funnel(store, "glee-human").checks
    assert checks.filter(check="quiz").rows() == [("quiz", 1, 0, 0, 1, 1.0)]

    async def later(site: Open) -> Page:
        ada = Person(site, "A2Z")
        await ada.come()
        return ada.page

    assert done(tmp_path, glee("bargaining"), later).ending == "failed_attention"


def test_who_fails_a_later_quiz_keeps_what_was_earned_before(tmp_path: Path) -> None:
    async def first(site: Open) -> str:
        ada = Person(site, "A2Z")
        await ada.come()
        await ada.play()
        ada.answers["quiz"] = TRUTH[ada.participant.plays[1]["game"]]
        await ada.finish()
        await ada.press(*again(ada.page))
        ada.said = "batti batti"
        await ada.play()
        ada.answers["quiz"] = "2%" if ada.participant.plays[2]["game"] == "bargaining" else "$2,000"
        await ada.finish()
        assert ada.page.ending == "failed_attention"
        return ada.path

    study = glee("bargaining", "negotiation")
    path = done(tmp_path, study, first)
    assert found(tmp_path, "batti batti") == []
    earned = owed(tmp_path)
    assert earned.keys() == {"base/1", "game/1"}
    assert rows(tmp_path, "select state from plays order by number") == [("finished",), ("erased",)]
    assert len(rows(tmp_path, "select id from matches")) == 1

    async def later(site: Open) -> None:
        ada = Person(site, "A2Z")
        ada.path = path
        assert (await ada.look()).ending == "failed_attention"
        assert ada.participant.journey.endings == ["complete", "failed_attention"]

    done(tmp_path, study, later)
    assert owed(tmp_path) == earned


def test_glee_lets_people_play_a_family_every_twelve_hours(
    tmp_path: Path, later: Callable[[float], None]
) -> None:
    async def go(site: Open) -> list[str]:
        ada = Person(site, "A2Z")
        await ada.come()
        for visit in (1, 2, 3):
            await ada.play()
            ada.answers["quiz"] = TRUTH[ada.participant.plays[visit]["game"]]
            await ada.finish()
            if visit == 2:
                assert ada.page.form("page") is None
                assert "You can play another game at" in ada.page.words
                later(12 * HOUR)
                await ada.look()
            if visit < 3:
                await ada.press(*again(ada.page))
        return [play["game"] for play in ada.participant.plays.values()]

    games = done(tmp_path, glee("bargaining", "negotiation"), go)
    assert set(games[:2]) == {"bargaining", "negotiation"}
    cents = {"bargaining": 19, "negotiation": 15}
    bonuses = {f"game/{number}": cents[game] for number, game in enumerate(games, 1)}
    assert owed(tmp_path) == bonuses | {f"base/{visit}": 33 for visit in (1, 2, 3)}


def again(page: Page) -> tuple[Form, dict[str, str]]:
    """The form by which somebody comes again, and what it sends."""
    form = page.form("page")
    assert form is not None
    return form, {one.name: one.value for one in form.blanks} | dict(form.buttons)


# Deal or No Deal


def dond(**changes: Any) -> Study:
    return of_preset("deal-or-no-deal-human", **changes)


def points_paid(objective: float, mine: int, theirs: int) -> int:
    """Cents for a game of Deal or No Deal: 10, and 20, 10 or 30 for a point of its score."""
    score = mine + round(objective) * theirs
    return 10 + {0: 20, 1: 10, -1: 30}[round(objective)] * max(0, score)


def test_deal_or_no_deal_is_played_under_all_objectives_and_paid_as_one_goes(
    tmp_path: Path,
) -> None:
    async def go(site: Open) -> list[str]:
        ada = Person(site, "A2Z", **PRESCREENED)
        await ada.come()
        earned = []
        for _ in range(6):
            await ada.play()
            assert ada.page.form("page")
            earned += EARNED.findall(ada.page.words)
            assert "You can play up to" in ada.page.words
        ada.more = False
        await ada.finish()
        assert ada.page.ending == "complete"
        assert ada.page.code
        assert ada.visited[:5] == [
            "consent", "screening", *["objectives"] * 3,
        ]  # fmt: skip
        return earned

    earned = done(tmp_path, dond(players={"model": "fair"}), go)
    with Store.open(tmp_path / "s.sqlite") as store:
        matches = {one.id: one for one in store.records("deal-or-no-deal-human")}
    expected, kinds = [], set()
    for match, place in rows(tmp_path, "select match_id, seat from plays order by number"):
        game, outcome = matches[match].rules, matches[match].outcome
        assert isinstance(game, DealOrNoDeal)
        assert outcome is not None
        mine, theirs = outcome["points"] or (0, 0)
        if place == "player_2":
            mine, theirs = theirs, mine
        expected.append(points_paid(game.objective, mine, theirs))
        kinds.add((game.objective, place))
    assert len(kinds) == 6
    assert earned == [f"${sum(expected[: number + 1]) / 100:.2f}" for number in range(6)]
    assert max(expected) > 10
    bonuses = {f"game/{number}": cents for number, cents in enumerate(expected, 1)}
    assert owed(tmp_path) == bonuses | {"base/1": 100}


@pytest.mark.usefixtures("key")
def test_a_game_of_deal_or_no_deal_that_the_model_aborts_is_worth_a_quarter(tmp_path: Path) -> None:
    async def go(site: Open) -> None:
        ada = Person(site, "A2Z", **PRESCREENED)
        await ada.come()
        await ada.play()
        ada.more = False
        await ada.finish()
        assert ada.page.ending == "complete"

    done(tmp_path, dond(), go, Canned(lambda call, number: "I say nothing that counts."))
    assert owed(tmp_path) == {"base/1": 100, "game/1": 25}


@pytest.mark.usefixtures("key")
def test_who_fails_the_prescreening_of_deal_or_no_deal_does_not_play(tmp_path: Path) -> None:
    async def go(site: Open) -> Page:
        ada = Person(site, "A2Z", **PRESCREENED | {"alone": "no"})
        await ada.come()
        return await ada.finish()

    assert done(tmp_path, dond(), go).ending == "screened_out"
    assert owed(tmp_path) == {}


# Chip trading


def chips() -> Study:
    return of_preset("chip-trading-human")


def test_three_people_trade_chips_twice_with_as_many_colours_and_one_game_is_paid(
    tmp_path: Path,
) -> None:
    async def go(site: Open) -> list[Person]:
        three = [Person(site, name, **UNDERSTOOD) for name in ("a", "b", "c")]
        for one in three:
            await one.come()
        await asyncio.gather(*(one.finish() for one in three))
        for one in three:
            assert not any("Earnings so far" in words for words in one.seen)
            assert not any(re.search(r"You earn \S+ for this game\.", words) for words in one.seen)
            assert (one.page.ending, one.page.code) == ("complete", "CHIPS-DONE")
            back = "https://app.prolific.com/submissions/complete?cc=CHIPS-DONE"
            assert back in one.page.links
            assert one.visited == [
                "consent", *["overview"] * 3, "check_chips", *["gameplay"] * 4, "check_trades",
                "payment", "next_game", "next_game", "survey", "debrief",
            ]  # fmt: skip
        assert sum(site.experiment.quotas.filled.values()) == 3
        assert {one.wanted for one in site.experiment.quotas.treatments} == {24}
        return three

    three = done(tmp_path, chips(), go)
    with Store.open(tmp_path / "s.sqlite") as store:
        games = list(store.records("chip-trading-human"))
        said = survey_answers(store, "chip-trading-human")
        survey = ct.reports.findings(store, "chip-trading-human", "chips").tables["survey"]
    assert len(games) == 2
    assert len({one.rules.model_dump_json() for one in games}) == 1
    assert len(set(rows(tmp_path, "select instance from matches"))) == 2
    of = "join participants p on p.id = participant_id"
    paid = rows(tmp_path, f"select code, key, cents from payments {of}")  # noqa: S608 - ours
    played = rows(tmp_path, f"select code, number, payoff from plays {of}")  # noqa: S608 - ours
    for one in three:
        own = {key: cents for code, key, cents in paid if code == one.code}
        assert own.pop("base/1") == 400
        gained = {
            f"game/{n}": round(100 * payoff) for code, n, payoff in played if code == one.code
        }
        assert len(own) <= 1
        assert own.items() <= gained.items()
        assert own or 0 in gained.values()
        assert bool(own) != ("earned nothing in the game that was selected" in one.page.words)
    assert {"strategy", "background", "context", "experience"} <= {*said.columns}
    assert {row["scale"] for row in survey.rows} == {
        "Competitive", "Certainty", "Satisfaction", "Exertion",
    }  # fmt: skip


def test_who_does_not_understand_chip_trading_is_told_why_once_and_then_let_go(
    tmp_path: Path,
) -> None:
    async def go(site: Open) -> tuple[Page, Page]:
        ada = Person(site, "a", **UNDERSTOOD | {"green": "no"})
        await ada.come()
        told = await ada.until(lambda page: "Not all" in page.words)
        text = (await site.client.get(ada.path)).text
        assert [text.count(f'value="{one}" checked') for one in ("10", "yes", "no")] == [1, 0, 1]
        await ada.finish()
        return told, ada.page

    told, last = done(tmp_path, chips(), go)
    assert (
        told.words.count("A green chip is worth $0.50 to every player.") == 2
    )  # read again, and why
    assert "Each player starts with ten chips of each colour" not in told.words
    assert (last.ending, last.code) == ("screened_out", "CHIPS-CHECK")
    assert owed(tmp_path) == {}


def test_who_waits_for_chip_traders_in_vain_is_paid_after_ten_minutes(
    tmp_path: Path, later: Callable[[float], None]
) -> None:
    async def go(site: Open) -> Page:
        ada = Person(site, "a", **UNDERSTOOD)
        await ada.come()
        await ada.until(lambda page: "more player" in page.words)
        later(600)
        assert (await ada.look()).form("leave") is None, "who went away has not waited"
        for _ in range(19):
            later(30)
            assert (await ada.look()).form("leave") is None
        later(30)
        form = (await ada.look()).form("leave")
        assert form is not None
        return await ada.press(form, {})

    page = done(tmp_path, chips(), go)
    assert (page.ending, page.code) == ("timed_out", "CHIPS-WAIT")
    assert owed(tmp_path) == {"timed_out/1": 100}
