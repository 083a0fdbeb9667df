"""The papers' human studies from entry to completion code, with exact payments."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest

from cheaptalk.calls.dispatcher import Models
from cheaptalk.frames.people import funnel, read_survey_answers
from cheaptalk.games.deal_or_no_deal.rules import DealOrNoDeal
from cheaptalk.papers.glee.human_study import FAMILIES
from cheaptalk.records import Store
from cheaptalk.studies.study import Study
from cheaptalk.web.bots.pages import Form, Page
from cheaptalk.web.posted import Limit
from cheaptalk.web.rooms import pages
from tests.fakes import Canned
from tests.papers.people import PRESCREENED, UNDERSTOOD, Person, of_preset, scripted
from tests.papers.studies import report
from tests.web.participants.comers import Open, opened

HOUR = 3600.0
EARNED = re.compile(r"Earnings so far: (\S+\d)")
CORRECT_ANSWERS = {"bargaining": "10%", "negotiation": "$8,000", "persuasion": "$10,000"}
"""Quiz answers for the first seat in GLEE's main configurations."""


def run(
    folder: Path, study: Study, play: Callable[[Open], Awaitable[Any]], models: Models | None = None
) -> Any:
    """Return the result of ``play`` while a study is open."""

    async def main() -> Any:
        async with opened(folder, study, models) as site:
            return await play(site)

    return asyncio.run(main())


def query(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query on the study's store."""
    with Store.open(folder / "s.sqlite") as store, store.reading() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(sql)]


def find_traces(folder: Path, *traces: str) -> list[str]:
    """Return the traces that occur in any file of a folder."""
    content = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return [trace for trace in traces if trace.encode() in content]


def payments(folder: Path) -> dict[str, int]:
    """Return the only participant's payments in cents, by key."""
    return {str(key): cents for key, cents in query(folder, "select key, cents from payments")}


@pytest.fixture
def advance_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that advances the clock by some seconds."""
    now, offset = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: now() + offset[0])

    def advance(seconds: float) -> None:
        offset[0] += seconds

    return advance


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the rate limit for clicks."""
    monkeypatch.setattr(pages, "Limit", lambda *_: Limit(10_000, 10_000))


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set an API key for the preset's model."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")


# GLEE


def glee(*families: str) -> Study:
    """Return the preset in main configurations, with participants in the first seat."""
    main = {family.game: family for family in reversed(FAMILIES)}
    return scripted(
        "glee-human",
        games=[
            {
                "game": family,
                "cases": [main[family].main],
                "pairing": [["human", "model"]],
                "instances": 9,
            }
            for family in families
        ],
    )


@pytest.mark.parametrize("family", list(CORRECT_ANSWERS))
def test_glee_visit_has_one_game_between_checks(tmp_path: Path, family: str) -> None:
    async def take_part(site: Open) -> Person:
        ada = Person(site, "A2Z", quiz=CORRECT_ANSWERS[family])
        await ada.come()
        await ada.finish()
        assert ada.page.ending == "complete"
        assert ada.page.code
        assert all("A game with a partner" in words for words in (ada.seen[0], ada.page.words))
        return ada

    ada = run(tmp_path, glee(family), take_part)
    steps = ["consent", "first_name", "instructions", "instructions", "quiz", "debrief"]
    assert ada.visited == steps
    (gain,) = query(tmp_path, "select payoff from plays")[0]
    if family == "persuasion":  # 8 of 20 products sold earn the average bonus of 15 cents
        bonus = Decimal(gain) * 15 / 8
    else:  # 40 % of $10,000 does, or half of the gap from $8,000 to $12,000
        assert gain == {"bargaining": 5_000, "negotiation": 2_000}[family]
        bonus = {"bargaining": Decimal(5) / 4, "negotiation": Decimal(1)}[family] * 15
    cents = int(bonus.quantize(Decimal(1), ROUND_HALF_UP))
    assert payments(tmp_path) == {"base/1": 33, "game/1": cents}


def test_failed_checks_end_studies_without_game_or_pay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    cases: list[tuple[Study, dict[str, str], str]] = [
        (glee("bargaining"), {"code_word": "No questions."}, "failed_attention"),
        (dond(), PRESCREENED | {"alone": "no"}, "screened_out"),
    ]
    for study, answers, ending in cases:

        async def take_part(site: Open, answers: dict[str, str] = answers) -> Page:
            ada = Person(site, "A2Z", **answers)
            await ada.come()
            return await ada.finish()

        folder = tmp_path / study.name
        folder.mkdir()
        page = run(folder, study, take_part)
        assert (page.ending, page.form("page")) == (ending, None)
        assert query(folder, "select count(*) from matches") == [(0,)]
        assert payments(folder) == {}


def test_failed_glee_quiz_erases_data_except_progress(tmp_path: Path) -> None:
    async def take_part(site: Open) -> Page:
        ada = Person(site, "A2Z", quiz="20%")
        ada.said = "batti batti"
        await ada.come()
        await ada.play()
        assert find_traces(tmp_path, "Zerlina", ada.said) == ["Zerlina", ada.said]
        await ada.finish()
        assert find_traces(tmp_path, "Zerlina", ada.said) == []
        await ada.come()
        assert ada.page.form("page") is None
        return ada.page

    page = run(tmp_path, glee("bargaining"), take_part)
    assert (page.ending, page.code) == ("failed_attention", "")
    assert query(tmp_path, "select ending from participants") == [("failed_attention",)]
    kept = [query(tmp_path, f"select * from {table}") for table in ("matches", "payments")]  # noqa: S608 - constant names
    assert kept == [[], []]
    answers = query(tmp_path, "select distinct answer from responses where step <> 'ended'")
    assert answers == [("{}",)]
    with Store.open(tmp_path / "s.sqlite") as store:
        checks = funnel(store, "glee-human").checks
    assert checks.filter(check="quiz").rows() == [("quiz", 1, 0, 0, 1, 1.0)]

    async def come_back(site: Open) -> Page:
        ada = Person(site, "A2Z")
        await ada.come()
        return ada.page

    assert run(tmp_path, glee("bargaining"), come_back).ending == "failed_attention"


def test_failed_later_quiz_keeps_earlier_earnings(tmp_path: Path) -> None:
    async def first(site: Open) -> str:
        ada = Person(site, "A2Z")
        await ada.come()
        await ada.play()
        ada.answers["quiz"] = CORRECT_ANSWERS[ada.participant.plays[1]["game"]]
        await ada.finish()
        await ada.press(*next_visit_form(ada.page))
        ada.said = "batti batti"
        await ada.play()
        ada.answers["quiz"] = "2%" if ada.participant.plays[2]["game"] == "bargaining" else "$2,000"
        await ada.finish()
        assert ada.page.ending == "failed_attention"
        return ada.path

    study = glee("bargaining", "negotiation")
    path = run(tmp_path, study, first)
    assert find_traces(tmp_path, "batti batti") == []
    earned = payments(tmp_path)
    assert earned.keys() == {"base/1", "game/1"}
    states = query(tmp_path, "select state from plays order by number")
    assert states == [("finished",), ("erased",)]
    assert len(query(tmp_path, "select id from matches")) == 1

    async def come_back(site: Open) -> None:
        ada = Person(site, "A2Z")
        ada.path = path
        assert (await ada.look()).ending == "failed_attention"
        assert ada.participant.journey.endings == ["complete", "failed_attention"]

    run(tmp_path, study, come_back)
    assert payments(tmp_path) == earned


def test_glee_allows_each_family_every_twelve_hours(
    tmp_path: Path, advance_clock: Callable[[float], None]
) -> None:
    async def take_part(site: Open) -> list[str]:
        ada = Person(site, "A2Z")
        await ada.come()
        for visit in (1, 2, 3):
            await ada.play()
            ada.answers["quiz"] = CORRECT_ANSWERS[ada.participant.plays[visit]["game"]]
            await ada.finish()
            if visit == 2:
                assert ada.page.form("page") is None
                assert "To play another game, come back to this page after" in ada.page.words
                advance_clock(12 * HOUR)
                await ada.look()
            if visit < 3:
                await ada.press(*next_visit_form(ada.page))
        return [play["game"] for play in ada.participant.plays.values()]

    games = run(tmp_path, glee("bargaining", "negotiation"), take_part)
    assert set(games[:2]) == {"bargaining", "negotiation"}
    cents = {"bargaining": 19, "negotiation": 15}
    bonuses = {f"game/{number}": cents[game] for number, game in enumerate(games, 1)}
    assert payments(tmp_path) == bonuses | {f"base/{visit}": 33 for visit in (1, 2, 3)}


def next_visit_form(page: Page) -> tuple[Form, dict[str, str]]:
    """Return the form that starts another visit, and its fields."""
    form = page.form("page")
    assert form is not None
    return form, {blank.name: blank.value for blank in form.blanks} | dict(form.buttons)


# Deal or No Deal


def dond(**changes: Any) -> Study:
    return of_preset("deal-or-no-deal-human", **changes)


def points_paid(objective: float, points: int, partner_points: int) -> int:
    """Return the cents for a game of Deal or No Deal: 10, plus 20, 10 or 30 per point of score."""
    score = points + round(objective) * partner_points
    return 10 + {0: 20, 1: 10, -1: 30}[round(objective)] * max(0, score)


def test_deal_or_no_deal_covers_all_objectives_and_shows_earnings(tmp_path: Path) -> None:
    async def take_part(site: Open) -> list[str]:
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
        assert ada.visited[:5] == ["consent", "screening", *["objectives"] * 3]
        return earned

    earned = run(tmp_path, dond(players={"model": "fair"}), take_part)
    with Store.open(tmp_path / "s.sqlite") as store:
        matches = {record.id: record for record in store.records("deal-or-no-deal-human")}
    expected, kinds = [], set()
    for match, place in query(tmp_path, "select match_id, seat from plays order by number"):
        game, outcome = matches[match].rules, matches[match].outcome
        assert isinstance(game, DealOrNoDeal)
        assert outcome is not None
        points, partner_points = outcome["points"] or (0, 0)
        if place == "player_2":
            points, partner_points = partner_points, points
        expected.append(points_paid(game.objective, points, partner_points))
        kinds.add((game.objective, place))
    assert len(kinds) == 6
    assert earned == [f"${sum(expected[: number + 1]) / 100:.2f}" for number in range(6)]
    assert max(expected) > 10
    bonuses = {f"game/{number}": cents for number, cents in enumerate(expected, 1)}
    assert payments(tmp_path) == bonuses | {"base/1": 100}


@pytest.mark.usefixtures("key")
def test_game_aborted_by_model_pays_25_cents(tmp_path: Path) -> None:
    async def take_part(site: Open) -> None:
        ada = Person(site, "A2Z", **PRESCREENED)
        await ada.come()
        await ada.play()
        ada.more = False
        await ada.finish()
        assert ada.page.ending == "complete"

    run(tmp_path, dond(), take_part, Canned(lambda call, number: "I say nothing that counts."))
    assert payments(tmp_path) == {"base/1": 100, "game/1": 25}


# Chip trading


def chips() -> Study:
    return of_preset("chip-trading-human")


def test_three_participants_trade_twice_and_one_game_is_paid(tmp_path: Path) -> None:
    async def take_part(site: Open) -> list[Person]:
        traders = [Person(site, name, **UNDERSTOOD) for name in ("a", "b", "c")]
        for trader in traders:
            await trader.come()
        await asyncio.gather(*(trader.finish() for trader in traders))
        for trader in traders:
            assert not any("Earnings so far" in words for words in trader.seen)
            assert not any(re.search(r"You earn \S+ for this game\.", text) for text in trader.seen)
            assert (trader.page.ending, trader.page.code) == ("complete", "CHIPS-DONE")
            back = "https://app.prolific.com/submissions/complete?cc=CHIPS-DONE"
            assert back in trader.page.links
            assert trader.visited == [
                "consent",
                *["overview"] * 3,
                "check_chips",
                *["gameplay"] * 4,
                "check_trades",
                "payment",
                "next_game",
                "next_game",
                "survey",
                "debrief",
            ]
        assert sum(site.experiment.quotas.filled.values()) == 3
        assert {treatment.wanted for treatment in site.experiment.quotas.treatments} == {24}
        return traders

    traders = run(tmp_path, chips(), take_part)
    with Store.open(tmp_path / "s.sqlite") as store:
        games = list(store.records("chip-trading-human"))
        answers = read_survey_answers(store, "chip-trading-human")
        survey = report(store, "chips", "Survey").tables["survey"]
    assert len(games) == 2
    assert len({record.rules.model_dump_json() for record in games}) == 1
    assert len(set(query(tmp_path, "select instance from matches"))) == 2
    of = "join participants p on p.id = participant_id"
    paid = query(tmp_path, f"select code, key, cents from payments {of}")  # noqa: S608 - constant names
    played = query(tmp_path, f"select code, number, payoff from plays {of}")  # noqa: S608 - constant names
    for trader in traders:
        bonus = {key: cents for code, key, cents in paid if code == trader.code}
        assert bonus.pop("base/1") == 400
        gained = {
            f"game/{n}": round(100 * payoff) for code, n, payoff in played if code == trader.code
        }
        assert len(bonus) <= 1
        assert bonus.items() <= gained.items()
        assert bonus or 0 in gained.values()
        assert "not selected" in trader.page.words
    assert {"strategy", "background", "context", "experience"} <= {*answers.columns}
    assert {row["scale"] for row in survey.rows} == {
        "Competitive",
        "Certainty",
        "Satisfaction",
        "Exertion",
    }


def test_failed_chip_trading_check_explains_once_then_screens_out(tmp_path: Path) -> None:
    async def take_part(site: Open) -> tuple[Page, Page]:
        ada = Person(site, "a", **UNDERSTOOD | {"green": "no"})
        await ada.come()
        feedback = await ada.until(lambda page: "Not all" in page.words)
        text = (await site.client.get(ada.path)).text
        assert [text.count(f'value="{key}" checked') for key in ("10", "yes", "no")] == [1, 0, 1]
        await ada.finish()
        return feedback, ada.page

    feedback, last = run(tmp_path, chips(), take_part)
    assert (
        feedback.words.count("A green chip is worth $0.50 to every player.") == 2
    )  # read again, and why
    assert "Each player starts with ten chips of each colour" not in feedback.words
    assert (last.ending, last.code) == ("screened_out", "CHIPS-CHECK")
    assert payments(tmp_path) == {}


def test_waiting_chip_trader_is_paid_after_ten_minutes(
    tmp_path: Path, advance_clock: Callable[[float], None]
) -> None:
    async def take_part(site: Open) -> Page:
        ada = Person(site, "a", **UNDERSTOOD)
        await ada.come()
        await ada.until(lambda page: "more player" in page.words)
        advance_clock(600)
        assert (await ada.look()).form("leave") is None, "time away counts as waiting"
        for _ in range(19):
            advance_clock(30)
            assert (await ada.look()).form("leave") is None
        advance_clock(30)
        form = (await ada.look()).form("leave")
        assert form is not None
        return await ada.press(form, {})

    page = run(tmp_path, chips(), take_part)
    assert (page.ending, page.code) == ("timed_out", "CHIPS-WAIT")
    assert payments(tmp_path) == {"timed_out/1": 100}
