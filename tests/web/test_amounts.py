"""Amounts on a participant's screen match the rules and the payout file."""

import asyncio
import html
import re
from collections.abc import Collection
from pathlib import Path

import httpx2
import pytest

from cheaptalk.records import Store
from cheaptalk.records.people.payouts import balance_of
from cheaptalk.rules import Action, games, get_game
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.study import Study
from cheaptalk.styles import style
from cheaptalk.web import demo
from cheaptalk.web.rooms.languages import languages
from cheaptalk.web.rooms.table_templates import TableTemplate
from tests.web.participants.comers import BOT, opened, people_study
from tests.web.test_languages import english_lines
from tests.web.test_screens import one_table
from tests.web.walker import EARNED, Rooms, Walker, visited

BUTTON = re.compile(
    r'<button name="(\w+)" value="(\w+)" class="choice"><b>[^<]*</b><small>([^<]*)</small>'
)
CLAIMS = ("you get %(sum)s", "you gain %(sum)s", "you lose %(sum)s")
COUNTS = (
    (
        "you get %(num)s coin if the plan is accepted",
        "you get %(num)s coins if the plan is accepted",
    ),
    ("you get %(num)s point", "you get %(num)s points"),
)
"""The amounts that buttons promise for their answers."""
DIGITS = re.compile(r"\d[\d.,]*\d|\d")
MONEY = re.compile(r"[$€]|\b(?:[Dd]ollars?|[Ee]uros?|[Cc]ents?)\b")
QUICK = {"bargaining", "persuasion", "pirate_game", "public_goods"}
"""Games whose test is not slow: in turns or simultaneous, with messages or none."""
SOCIAL = ("persuasion", "pirate_game")
"""Games that show other amounts or texts when several people play."""
EUROS = {"currency": "EUR", "bonus": [{"rate": 1}]}


def visible(page: str) -> str:
    body = re.sub(r"<script.*?</script>", "", page.partition("<body")[2], flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", " ", body))


class Accountant(Walker):
    """A player who checks each amount beside a button that ends the match against the rules."""

    def __init__(self, rooms: Rooms, path: str, code: str) -> None:
        super().__init__(rooms, path)
        self.code = code
        self.checked: list[str] = []

    async def answer(self, page: str) -> httpx2.Response:
        language = self.rooms.room_manager.languages[self.code]
        claims = [*map(language.text, CLAIMS)]
        claims += [language.words.ngettext(*texts, count) for texts in COUNTS for count in (1, 2)]
        texts = [claim.partition("%")[0].strip() for claim in claims]
        for field, value, about in BUTTON.findall(page):
            claim = DIGITS.search(about)
            if claim is None or not html.unescape(about).startswith(tuple(texts)):
                continue
            payoff = self.payoff({field: value})
            assert payoff is not None, about
            writing = language.writing
            shown = (writing.dollars(abs(payoff)), writing.number(abs(payoff)))
            amounts = [DIGITS.findall(amount)[0] for amount in shown]
            assert claim[0] in amounts, (self.room.match.configuration.game.name, about, payoff)
            self.checked.append(about)
        return await super().answer(page)

    def payoff(self, fields: dict[str, str]) -> float | None:
        """Return the seat's payoff after an answer, or None if the match continues."""
        table, seat = self.table.clone(), self.question.call.seat
        kind: type[Action] = table.request(seat).ask.action
        table.answer(seat, kind.model_validate(fields))
        if table.outcome is None:
            return None
        return table.game.seat_payoffs(table.outcome)[self.room.seat_of(self.visitor)]


def euro_study(names: Collection[str], *, points: bool = False) -> Study:
    """Return a study of games, with two rounds at most, that pays participants in euros."""
    study, grids = demo(), []
    for grid in [grid for grid in study.games if grid.game in names]:
        short = {"rounds": 2} if "rounds" in get_game(grid.game).rules.model_fields else {}
        grids.append(grid.model_copy(update={"fixed": grid.fixed | short}))
    people = Protocol.model_validate({"path": ["games"], "pay": EUROS | {"points": points}})
    return study.model_copy(update={"people": people, "games": grids})


async def seat_all(rooms: Rooms, table_template: TableTemplate, code: str) -> list[Accountant]:
    first = await rooms.sit(table_template)
    walkers = [first, *[await rooms.join(first.room.code) for _ in table_template.human_seats[1:]]]
    return [Accountant(rooms, walker.path, code) for walker in walkers]


async def play_every_game(rooms: Rooms, code: str) -> list[list[Accountant]]:
    """Play in every role of all games in a language, and return the players of each table."""
    tables = []
    for table_template in rooms.room_manager.table_templates.values():
        if len(table_template.human_seats) > 1 and table_template.game.name not in SOCIAL:
            continue
        players = await seat_all(rooms, table_template, code)
        tables.append(players)
        await asyncio.gather(*(player.play() for player in players))
        files = re.findall(r'(?:href|src)="(/static/[^"]+)"', players[0].seen[0])
        brought = [(await rooms.client.get(path)).content for path in files]
        assert len(players[0].seen[0].encode()) + sum(map(len, brought)) <= 60_000
        for player in players:
            shown = visible("".join(player.seen))
            assert {*MONEY.findall(shown)} <= {"€"}, table_template.game.name
            money = re.findall(r"€\s?[\d.,]*\d|\d[\d.,]*\s?€(?!\d)", shown)
            assert [item.startswith("€") for item in money] == [code == "en"] * len(money)
            if code != "en" and len(players) < len(table_template.seated):
                assert english_lines(player.seen) == set()
    return tables


@pytest.mark.parametrize(
    "names", [QUICK, pytest.param({*games()} - QUICK, marks=pytest.mark.slow)], ids=["some", "rest"]
)
async def test_every_game_is_played_alike_in_each_language(tmp_path: Path, names: set[str]) -> None:
    tables = {}
    for code in ("en", "de", "es"):
        async with visited(euro_study(names), tmp_path / code, language=code) as rooms:
            tables[code] = await play_every_game(rooms, code)
    for code, tables_in_language in tables.items():
        checked = {
            player.room.match.configuration.game.name
            for players in tables_in_language
            for player in players
            if player.checked
        }
        promising = {"bargaining", "item_bargaining", "negotiation", "pirate_game"}
        assert checked >= promising & names, code
    played = set()
    with Store.open(tmp_path / "en") as english, Store.open(tmp_path / "de") as german:
        for (first, *others), (second, *_) in zip(tables["en"], tables["de"], strict=True):
            record = english.find(first.room.match.id)
            place = first.room.seat_of(first.visitor)
            earned = EARNED.search(first.seen[-1])
            assert earned is not None
            assert record.payoffs is not None
            assert record.payoffs[place] == pytest.approx(
                float(earned[1].replace(",", "")), abs=0.00501
            )
            assert record.replay().over
            played.add(record.game)
            if 1 + len(others) < len(record.seats):
                other = german.find(second.room.match.id)
                assert other.payoffs == record.payoffs
                specs = [item.seats[place]["spec"] for item in (record, other)]
                assert [spec["style"] for spec in specs] == ["en", "de"]
                words = [style(record.game, spec["style"]).digest for spec in specs]
                assert [spec["words"] for spec in specs] == words
    assert played == names


async def test_study_in_points_shows_no_currency(tmp_path: Path) -> None:
    study = euro_study({"bargaining", "negotiation", "persuasion"}, points=True)
    async with visited(study, tmp_path / "s.sqlite", language="en") as rooms:
        for players in await play_every_game(rooms, "en"):
            for player in players:
                shown = visible("".join(player.seen))
                assert not MONEY.search(shown)
                assert "\xa0points" in shown
                assert 'aria-current="true">English' in player.seen[0]


@pytest.mark.parametrize("code", ["en", "de"])
async def test_item_bargaining_shows_discounted_amounts_in_later_rounds(
    code: str, tmp_path: Path
) -> None:
    """An outside option and a bundle are worth half as much in round 2 as in round 1."""
    study = one_table("item_bargaining", "tough", discount=0.5, rounds=3)

    async with visited(study, tmp_path / "s.sqlite", language=code) as rooms:
        (table_template,) = rooms.room_manager.table_templates.values()
        (player,) = await seat_all(rooms, table_template, code)
        turn = f">{languages()[code].text('Your turn')}<"
        key = await player.key(turn)
        briefing = player.table.request(player.question.call.seat).briefing
        nothing = ", ".join("0" for _ in briefing.quantities)
        await player.post({"question": key, "action": "COUNTEROFFER", "offer": nothing})
        page = await player.until(turn)
        shown, outside = visible(page), 0.5 * briefing.outside
    label = {"en": "you get {}", "de": "Sie bekommen {}"}[code]
    points = languages()[code].text("Your points if either player walks away")
    written = languages()[code].writing.number(outside)
    assert label.format(written) in shown
    assert f"{points} {written}" in " ".join(shown.split())


async def test_stopping_pays_the_amount_on_the_page(tmp_path: Path) -> None:
    """The page shows the sum of the finished games, the payment for withdrawing, and the cap."""
    study = people_study(
        BOT,
        path=[{"games": {"max": 3, "can_stop": True}}],
        pay={"currency": "EUR", "game": 1.5, "ended": {"withdrawn": 2}, "max": 3.1},
    )

    async with opened(tmp_path, study) as site:
        comer = await site.enter("5f0c0e0e0e0e0e0e0e0e0e0e")
        before = (await comer.to("answer")).words
        await comer.until(lambda page: page.form("page") and comer.participant.journey.games)
        between = comer.page.words
        await comer.send("withdraw")
        after = (await comer.look()).words
    assert "If you stop now, you will be paid €2.00 for this session." in before
    assert "If you stop now, you will be paid €3.10 for this session." in between
    assert "€3.10" in after
    with Store.open(tmp_path / "s.sqlite") as store:
        assert balance_of(store, 1).owed == 310


PAY: dict[str, object] = {"currency": "EUR", "base": 1}
BONUS = {
    "de": "Ihr Bonus für dieses Spiel hängt von Ihrem Ergebnis ab. Ein Ergebnis von 10\xa0€ ist "
    "0,13\xa0€ wert. Der Bonus beträgt höchstens 4,00\xa0€. Ihre Boni betragen zusammen "
    "höchstens 9,00\xa0€.",
    "en": "Your bonus for this game depends on your result. A result of €1 is worth €0.02. The "
    "bonus is at least €0.50. If your result is zero or negative, your bonus is €0.10.",
}


@pytest.mark.parametrize(
    ("code", "bonus", "note"),
    [
        ("de", [{"rate": 0.013, "max": 4}], BONUS["de"]),
        ("en", [{"rate": 0.02, "min": 0.5, "at_zero": 0.1}], BONUS["en"]),
        ("en", [{"rate": 1}], "Your bonus for this game equals your result."),
        ("de", [], "Ihr Ergebnis in diesem Spiel hat keinen Einfluss auf Ihre Bezahlung."),
        ("en", [{"rate": 1, "game": "negotiation"}],
         "Your result in this game does not affect your payment."),
        ("en", [{"rate": 1, "metric": "rounds_played"}], None),
    ],
)  # fmt: skip
async def test_game_page_explains_how_amounts_become_pay(
    tmp_path: Path, code: str, bonus: list[dict[str, object]], note: str | None
) -> None:
    path = [{"games": {"max": 1}}]
    study = people_study(
        BOT, path=path, pay=PAY | {"bonus": bonus} | ({"max": 9} if code == "de" else {})
    )

    async with opened(tmp_path, study) as site:
        site.client.headers["Accept-Language"] = code
        comer = await site.enter("5f0c0e0e0e0e0e0e0e0e0e0e")
        words = (await comer.to("answer")).words
    if note is None:
        assert not re.search("Your bonus for this game|does not affect", words)
    else:
        assert " ".join(note.split()) in " ".join(words.split())
