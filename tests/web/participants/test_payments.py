"""Participants' payments on their pages, in the store and against the budget."""

import asyncio
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml

from cheaptalk.records import Store
from cheaptalk.records.people.payouts import balance_of, pay_out
from cheaptalk.studies import payment_forecast
from cheaptalk.studies.study import Study
from cheaptalk.web.bots.pages import Page
from tests.conftest import Command
from tests.web.laboratory.lab import site
from tests.web.participants.comers import BOT, PEOPLE, Comer, Open, opened, people_study
from tests.web.participants.test_bots import run_bots

SUM = {"name": "sum", "ask": "1 + 1?", "choices": ["one", "two"], "correct": "two"}
PATH = [
    {"consent": {"text": "We play."}},
    {"comprehension": [SUM]},
    {"games": {"max": 2}},
    "payment",
    {"debrief": "Thanks."},
]
PAY = {
    "currency": "EUR", "points": True, "show_up": 1.5, "base": 2, "bonus": [{"rate": 0.013}],
    "tasks": {"steps": ["comprehension"], "amount": 0.25}, "paid_games": 1, "paid_rounds": 1,
}  # fmt: skip
PROLIFIC = PEOPLE["recruitment"]
ROUNDS = [{"game": "public_goods", "fixed": {"players": 2, "rounds": 3, "tokens": 100}}]


def rounds_study(**changes: Any) -> Study:
    return people_study(BOT, games=ROUNDS, **({"path": PATH, "pay": PAY} | changes))


def rows(folder: Path, query: str, store: str = "s") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / f"{store}.sqlite")) as connection:
        return connection.execute(query).fetchall()


async def seen_pages(comer: Comer) -> list[str]:
    """Complete the study, and return the words of all pages."""
    comer.answers["sum"] = "two"
    seen: list[str] = []
    while not comer.page.ending:
        seen.append(comer.page.words)
        await comer.step()
    return [*seen, comer.page.words]


async def test_payment_is_explained_recorded_and_secret_until_the_end(tmp_path: Path) -> None:
    async with opened(tmp_path, rounds_study()) as site:
        *before, shown, debriefing, end = await seen_pages(await site.enter("a" * 24))
    assert not any(re.search("You earn|Earnings so far|selected at random: ", x) for x in before)
    assert "round counts as your result" in " ".join(before)
    assert "Your payment if you complete the study" in shown
    assert "Thanks." in debriefing
    plays = rows(tmp_path, "select number, paid, paid_rounds, cents from plays")
    ((drawn, rounds, amount),) = [(n, json.loads(r), c) for n, paid, r, c in plays if paid]
    assert [paid for _, paid, _, _ in plays].count(0) == 1
    for page in (shown, end):
        words = " ".join(page.split())
        assert f"Game {drawn}, selected at random Round selected at random: {rounds[0]}" in words
        assert f"Game {3 - drawn}, not selected\u2013" in words
        assert "10 tokens are worth \u20ac0.13." in words
        assert "Show-up fee \u20ac1.50 For completing the study \u20ac2.00" in words
        assert f"Total\u20ac{(375 + amount) / 100:.2f}" in words
    games = rows(tmp_path, "select game, answer from responses where step = 'games'")
    (answer,) = [json.loads(answer) for game, answer in games if game == drawn]
    assert answer["rounds"] == rounds
    assert amount == round(1.3 * answer["result"] + 1e-9)
    kinds = rows(tmp_path, "select kind, sum(cents) from payments group by kind")
    assert dict(kinds) == {"base": 200, "bonus": 175 + amount}


async def test_payment_page_explains_limits(tmp_path: Path) -> None:
    pay = PAY | {"bonus": [{"rate": 0.5, "max": 3}], "max": 2, "max_total": 4}
    async with opened(tmp_path, rounds_study(pay=pay)) as site:
        end = (await seen_pages(await site.enter("a" * 24)))[-1]
    words = " ".join(end.split())
    assert "1 token is worth \u20ac0.50.This is the maximum for a game.\u20ac3.00" in words
    assert "Limit of all bonuses: \u20ac2.00\u2212\u20ac1.25" in words
    assert "Limit of all payments: \u20ac4.00\u2212\u20ac1.50" in words
    assert "Total\u20ac4.00" in words


async def test_payment_page_is_translated(tmp_path: Path) -> None:
    async with opened(tmp_path, rounds_study()) as site:
        site.client.headers["Accept-Language"] = "de"
        end = (await seen_pages(await site.enter("a" * 24)))[-1]
    words = " ".join(end.split())
    assert "Antrittsgeld 1,50 €" in words
    assert "10 Spielmarken sind 0,13 \u20ac wert." in words
    assert not re.search("Show-up|Exchange|selected|Total", words)


async def test_budget_pauses_recruitment_before_it_could_be_exceeded(tmp_path: Path) -> None:
    """Each participant can earn €6: two fit the budget, and a third after one has earned less."""
    pay = PAY | {"max_total": 6, "budget": 15}

    async def is_refused(site: Open, name: str) -> bool:
        entered = await site.client.post("/enter", data={"known_by": name * 24})
        site.client.cookies.clear()
        return entered.status_code == 503

    async with opened(tmp_path, rounds_study(pay=pay)) as site:
        first, second = await site.enter("a" * 24), await site.enter("b" * 24)
        assert site.experiment.forecast_payments().committed == 1200
        assert await is_refused(site, "c")
        assert len(site.experiment.people) == 2
        await seen_pages(first)
        await second.send("withdraw")
        forecast = site.experiment.forecast_payments()
        assert forecast.committed == forecast.owed <= 900
        assert not await is_refused(site, "c")
    with Store.open(tmp_path / "s.sqlite") as store:
        stored = payment_forecast(store, "people")
    assert stored is not None
    assert stored.committed == forecast.owed + 600


async def test_forecast_has_an_interval_and_follows_payouts(tmp_path: Path) -> None:
    study = rounds_study(pay=PAY | {"max_total": 8}, recruitment={"source": "open", "places": 8})
    async with opened(tmp_path, study) as site:
        comers = [await site.enter("") for _ in range(6)]
        await asyncio.gather(*map(seen_pages, comers[:5]))
        forecast = site.experiment.forecast_payments()
        amounts = [total for (total,) in rows(
            tmp_path, "select sum(cents) from payments group by participant_id"
        )]  # fmt: skip
        assert (forecast.completed, forecast.open_places) == (5, 3)
        assert forecast.mean == sum(amounts) / 5
        assert forecast.low is not None
        assert forecast.mean is not None
        assert forecast.high is not None
        assert forecast.low < forecast.mean < forecast.high
        assert forecast.expected is not None
        assert forecast.expected[0] == sum(amounts) + round(3 * forecast.mean)
        assert forecast.maximum == sum(amounts) + 3 * 635, "one of them is taken"
        await site.experiment.write(pay_out(1, "csv", "owner"))
        later = site.experiment.forecast_payments()
        assert (later.paid, later.owed) == (sum(amounts), 0)
        assert later.expected == forecast.expected


async def test_bots_are_paid_for_tasks_and_drawn_games(tmp_path: Path) -> None:
    games = {"max": 2, "lobby": {"minutes": 0.0001, "substitutes": True}}
    pay = {"show_up": 1, "base": 2, "game": 0.5, "paid_games": 1,
           "tasks": {"steps": ["comprehension"], "amount": 0.25}}  # fmt: skip
    path = [*PATH[:2], {"games": games}]
    tally = await run_bots(tmp_path, {"sum": "two"}, path=path, pay=pay)
    assert (tally.endings, tally.errors) == ({"complete": 4}, {})
    with Store.open(tmp_path / "s.sqlite") as store:
        assert balance_of(store, 1).owed == 4 * (100 + 200 + 50 + 25)
    assert rows(tmp_path, "select sum(paid), count(*) from plays") == [(4, 8)]


async def test_console_and_status_forecast_payments_and_warn_about_the_budget(
    tmp_path: Path, cheaptalk: Command
) -> None:
    study = rounds_study(pay=PAY | {"budget": 15}, recruitment=PROLIFIC | {"places": 4})
    text = yaml.safe_dump(study.model_dump(mode="json", exclude_defaults=True), sort_keys=False)
    async with site(tmp_path) as lab:
        await lab.open_study(text)
        await lab.log_in()
        await seen_pages(await lab.comer("a" * 24))
        before = Page((await lab.get("/studies/people/pay")).text).words
        await lab.comer("b" * 24)
        pages = [
            " ".join(Page((await lab.get(f"/studies/people/{tab}")).text).words.split())
            for tab in ("pay", "overview", "participants")
        ]
        ((earned,),) = rows(tmp_path, "select sum(cents) from payments", "people")
    assert "Recruitment is paused because of the budget" not in before
    assert all("Recruitment is paused because of the budget." in page for page in pages)
    expected = f"{earned * 4 / 100:.2f}"
    assert f"Expected total{expected} EUR" in pages[0]
    assert f"Expected total{expected} EUR" in pages[1]
    assert f"Maximum total{(earned + 3 * 635) / 100:.2f} EUR, if nobody drops out" in pages[0]
    assert f"Committed{(earned + 635) / 100:.2f} EUR" in pages[0]
    store = tmp_path / "people.sqlite"
    shown = cheaptalk(f"status --store {store}").out
    assert f"0.00 paid, {earned / 100:.2f} owed, about {expected} in total" in shown
    assert "Recruitment is paused: another participant could exceed the budget of 15.00" in shown
    (stored,) = cheaptalk(f"status --store {store} --json").json["studies"]
    assert stored["payments"]["owed"] == earned
    assert stored["payments"]["expected"] == earned * 4
