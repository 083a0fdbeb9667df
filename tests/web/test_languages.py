"""Languages of the pages: complete catalogues, and the language that each person reads."""

import asyncio
import html
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.games.chip_trading.rules import PALETTE
from cheaptalk.rules import Chance, Table, games, get_game, play, strategy_named
from cheaptalk.rules.game_spec import LANGUAGES, LOCALE
from cheaptalk.rules.registry import GAMES, OURS
from cheaptalk.studies import parse_study
from cheaptalk.styles import CODECS, Unparsable
from cheaptalk.web import demo
from cheaptalk.web.rooms.languages import SENTENCE_END, languages, with_gaps
from cheaptalk.web.rooms.screens import introduced
from cheaptalk.web.typed_numbers import BadNumber, plain_number
from tests import catalogues
from tests.web.test_screens import one_table
from tests.web.walker import LINKS, Rooms, Walker, visited

GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}
PLACEHOLDER = re.compile(r"%\(\w+\)s|\{\d?\}")
NOUNS = re.compile(
    r"%\((?:num|count|number|rounds|turns|games|minutes)\)s\s(?:more\s)?[^\W\d_]+s\b"
)
"""A number before an English plural; all games have at least two players."""
SINGULAR_LOOKS_PLURAL = re.compile(
    r"\b1\s(?:more\s|gold\s|computer\s|of\s1\s)?(?:rounds|coins|points|tokens|players|products|minutes|cents"
    r"|people|games|attempts|characters|Runden|Goldstücke|Punkte|Spielmarken|Produkte|Minuten|Personen"
    r"|Spiele|Versuche)\b"
)
PLURAL_LOOKS_SINGULAR = re.compile(
    r"\b[02]\s(?:more\s|gold\s|computer\s)?(?:round|coin|point|token|player|product|minute|cent|person|game"
    r"|attempt|character|Runde|Goldstück|Punkt|Spielmarke|Produkt|Minute|Person|Spiel|Versuch)\b"
)


def as_tuple(text: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return a text, or its singular and plural, as a tuple."""
    return (text,) if isinstance(text, str) else tuple(text or [""])


def numbered(text: str) -> str:
    """Return a composed sentence with the numbers of its gaps, as in its translations."""
    first, *others = text.split("{}")
    return first + "".join(f"{{{number}}}{part}" for number, part in enumerate(others))


@pytest.mark.parametrize(
    ("language", "name"),
    [(code, name) for code in LANGUAGES[1:] for name in catalogues.names_of(code)],
)
def test_catalogue_translates_exactly_the_texts_of_its_pages(language: str, name: str) -> None:
    assert not catalogues.is_stale(language, name), "run: make catalogues"
    catalogue = catalogues.catalogue(language, name)
    for message in filter(lambda entry: entry.id, catalogue):
        sources, texts = as_tuple(message.id), as_tuple(message.string)
        if name == "console":
            sources = tuple(map(numbered, sources))
        assert all(texts), f"{message.id} is not translated"
        assert not message.fuzzy
        assert not list(message.check(catalogue))
        placeholders = {name for text in sources for name in PLACEHOLDER.findall(text)}
        for text in texts:
            assert {*PLACEHOLDER.findall(text)} <= placeholders, text
        if name != "refusals":  # some translations need no name
            assert {*PLACEHOLDER.findall(texts[-1])} == {*PLACEHOLDER.findall(sources[-1])}, texts


def test_english_wording_replaces_only_existing_texts() -> None:
    texts = set().union(*catalogues.texts().values())
    for path in LOCALE.glob("en/*.po"):
        assert catalogues.listed(path.stem, "en") <= texts


def test_counts_before_nouns_have_a_singular_and_a_plural() -> None:
    messages = set().union(*catalogues.texts().values())
    texts = {text for _, text in messages if isinstance(text, str)}
    assert [text for text in texts if NOUNS.search(text)] == []


def expect_agreement(shown: str) -> None:
    assert not SINGULAR_LOOKS_PLURAL.search(shown), shown
    assert not PLURAL_LOOKS_SINGULAR.search(shown), shown


def test_counts_agree_with_their_nouns() -> None:
    messages = set().union(*catalogues.texts().values())
    texts = [text for _, text in messages if isinstance(text, tuple)]
    assert texts
    names = {name for text in texts for name in re.findall(r"%\((\w+)\)s", text[1])}
    values = dict.fromkeys(names, "seven")
    for count in (0, 1, 2):
        for language in map(languages().get, ("en", "de")):
            assert language is not None
            for text in texts:
                shown = language.words.ngettext(text[0], text[1], count)
                expect_agreement(shown % (values | {"num": str(count)}))


def test_introductions_agree_with_the_number_of_rounds() -> None:
    for rounds in (1, 2):
        for language in languages().values():
            for spec in games().values():
                if "rounds" in spec.rules.model_fields:
                    game = spec.rules.model_validate({"rounds": rounds})
                    expect_agreement(str(introduced(language, game, "about") or ""))


def test_numbers_use_a_minus_sign_and_non_breaking_units() -> None:
    for language in languages().values():
        for shown in (
            language.writing.number(-2.5), language.writing.dollars(-3), language.fixed(-2, 1),
            language.writing.percent(-0.5),
        ):  # fmt: skip
            assert shown.startswith("\u2212")
        assert "3\xa0" in language.words.ngettext("%(num)s player", "%(num)s players", 3) % {
            "num": 3
        }


async def test_pages_are_in_the_reader_s_language(rooms: Rooms) -> None:
    client = rooms.client
    for headers, chosen, code, heading in (
        ({}, "", "en", "Choose a game"),
        (GERMAN, "", "de", "Wählen Sie ein Spiel"),
        (GERMAN, "?lang=en", "en", "Choose a game"),
        ({}, "?lang=de", "de", "Wählen Sie ein Spiel"),
        ({}, "?lang=xx", "en", "Choose a game"),
    ):
        page = await client.get(f"/{chosen}", headers=headers)
        assert f'<html lang="{code}" dir="ltr">' in page.text
        assert heading in page.text
    page = await client.get("/?lang=de")
    game = re.search(r'href="(/games/chip_trading[^"]*)"', page.text)
    assert game is not None
    page = await client.get(game[1])
    assert "Chips tauschen" in page.text
    assert "Spieler beginnen mit den gleichen Chips" in page.text
    action = re.search(r'action="(/open[^"]*)"', page.text)
    assert action is not None
    offer = LINKS.table_template(rooms.table("chip_trading", 3).name)
    opened = await client.post(action[1], data={"offer": offer})
    walker = Walker(rooms, opened.headers["location"])
    assert "Warten auf andere Spieler" in await walker.page()
    assert "Spieler 1 (Sie)" in await walker.page()
    missing = await client.get("/join/NOCODE?lang=de")
    assert "Es gibt kein Spiel" in missing.text
    late = await walker.post({}, "dance")
    assert "Diese Seite gibt es nicht" in late.text


ENGLISH = re.compile(
    r"\b(the|you|your|and|of|with|each|rounds|players|are|have|has|will|dollars|points|is|to|for|from"
    r"|this|that|it|not|if|at|by|gets?|answer|offer)\b",
    re.IGNORECASE,
)
"""Words that appear in most English sentences, and in no German one."""


def english_lines(pages: Iterable[str]) -> set[str]:
    """Return the English lines of pages, without the messages of players."""
    lines = set()
    for page in pages:
        shown = re.sub(
            r'<(div class="said"|textarea).*?</(div|textarea)>',
            "",
            page.partition("<body")[2],
            flags=re.DOTALL,
        )
        text = re.sub("\u201e[^\u201c]*\u201c", "", html.unescape(re.sub("<[^>]*>", " ", shown)))
        lines |= {line.strip() for line in text.splitlines() if ENGLISH.search(line)}
    return lines


async def test_prompt_style_of_the_study_is_kept(tmp_path: Path) -> None:
    written = {
        "name": "people", "games": [{"game": "bargaining"}], "pairing": [["you", "bot"]],
        "players": {"you": {"person": "browser", "style": "plain"}, "bot": {"strategy": "random"}},
    }  # fmt: skip
    async with visited(parse_study(written, "here"), tmp_path / "s.sqlite", language="de") as rooms:
        walker = await rooms.sit("bargaining")
        page = await walker.until("Sie sind an der Reihe")
        assert "You are Player 1." in page
        assert walker.room.match.id == walker.room.table_template.match(0, 0).id


async def test_players_keep_their_own_languages_after_a_restart(tmp_path: Path) -> None:
    async with visited(demo(), tmp_path / "s.sqlite") as rooms:
        waiting = await rooms.sit("", 3)
        assert "waiting for other players" in await waiting.page()
        chosen = await rooms.client.get(f"{waiting.path}?lang=de")
        assert (chosen.status_code, chosen.headers["location"]) == (303, waiting.path)
        assert "Warten auf andere Spieler" in await waiting.page()
        first = await rooms.sit("negotiation", 2)
        rooms.client.headers["Accept-Language"] = "de"
        second = await rooms.join(first.room.code)
        await first.until("Your turn")
        match = first.room.match.id
    async with visited(demo(), tmp_path / "s.sqlite") as rooms:
        assert "Warten auf andere Spieler" in await Walker(rooms, waiting.path).page()
        first, second = Walker(rooms, first.path), Walker(rooms, second.path)
        assert "You are Player 1 and sell a product" in await first.until("Your turn")
        page = await second.until("Warten auf Spieler 1")
        assert "Sie sind Spieler 2 und kaufen ein Produkt" in page
        await asyncio.gather(first.play(), second.play())
        assert first.room.match.id == match


def test_unambiguous_numbers_are_parsed_and_others_rejected() -> None:
    for language, written, meant in [
        ("de", "1.000,50", 1000.5), ("de", "2.500 $", 2500.0), ("de", "1.000", 1000.0),
        ("de", "1 000", 1000.0), ("en", "1,000.50", 1000.5), ("en", "$2,500", 2500.0),
        ("en", "0.125", 0.125), ("de", "0,125", 0.125), ("en", "-5", -5.0), ("de", "1,000", None),
        ("de", "1.5", None), ("de", "1,000.50", None), ("de", "1.00", None), ("en", "1.000", None),
        ("en", "1,5", None), ("en", "1.000,50", None), ("en", "1 5", None), ("en", "007", None),
        ("en", "1,00,000", None), ("en", "5-3", None), ("en", "1..5", None),
        ("de", "1.500", 1500.0), ("de", "7,5", 7.5), ("de", "2.500\u00a0€", 2500.0),
        ("en", "€.5", 0.5), ("de", "1_0", None), ("en", "1_0", None), ("en", "1e3", None),
        ("en", "nan", None), ("de", "inf", None), ("en", "0x10", None), ("en", "seven", None),
        ("en", "\uff11\uff12", None), ("en", "٣", None), ("en", "5.", None), ("en", "$", None),
        ("en", "$5$", None),
    ]:  # fmt: skip
        writing = languages()[language].writing
        if meant is None:
            with pytest.raises(BadNumber):
                plain_number(written, writing)
        else:
            assert float(plain_number(written, writing)) == meant


@given(value=st.floats(-1e6, 1e6), language=st.sampled_from(list(languages())))
def test_displayed_amounts_can_be_typed_back(value: float, language: str) -> None:
    writing = languages()[language].writing
    shown = writing.dollars(value)
    assert float(plain_number(shown, writing)) == pytest.approx(value, abs=0.0051)


async def test_ambiguous_number_is_rejected_and_kept_in_the_form(rooms: Rooms) -> None:
    rooms.client.headers["Accept-Language"] = "de"
    walker = await rooms.sit("negotiation")
    await walker.until("Sie sind an der Reihe")
    key = walker.question.key
    await walker.post({"question": key, "price": "9,000", "message": "Hallo"})
    page = await walker.page()
    assert "9,000 ist keine eindeutige Zahl; schreiben Sie Zahlen in der Form 1.234,5" in page
    assert 'value="9,000"' in page
    assert walker.question.key == key
    await walker.post({"question": key, "price": "-9.000", "message": "Hallo"})
    page = await walker.until("der Preis muss zwischen 0 und 1.000.000 liegen")
    await walker.post({"question": walker.question.key, "price": "neun", "message": ""})
    await walker.until("„Preis“ muss eine Zahl sein")


ILLEGAL: list[tuple[str, dict[str, Any]]] = [
    ("bargaining", {"alice_gain": 1, "bob_gain": 1, "message": ""}),
    ("bargaining", {"alice_gain": -1, "bob_gain": 10_001, "message": ""}),
    ("bargaining", {"alice_gain": "much", "message": "x" * 5_000}),
    ("negotiation", {"price": -1, "message": ""}),
    ("deal_or_no_deal", {"books": 1, "hats": 0, "balls": 0}),
    ("deal_or_no_deal", {"books": 1}),
    ("deal_or_no_deal", {"books": 1, "hats": 0, "balls": 0, "message": ""}),
    ("item_bargaining", {"action": "ACCEPT"}),
    ("item_bargaining", {"action": "COUNTEROFFER"}),
    ("item_bargaining", {"action": "WALK", "offer": [1, 0, 0]}),
    ("item_bargaining", {"action": "COUNTEROFFER", "offer": [100, 0, 0]}),
    ("item_bargaining", {"action": "COUNTEROFFER", "offer": [1]}),
    ("item_bargaining", {"action": "COUNTEROFFER", "offer": [0, 0, "many"]}),
    ("chip_trading", {"give": "red", "give_amount": 1, "want": "red", "want_amount": 1}),
    ("chip_trading", {"give": "red", "give_amount": 99, "want": "blue", "want_amount": 1}),
    ("chip_trading", {"give": "grau", "give_amount": 1, "want": "blue", "want_amount": 1}),
    ("chip_trading", {"give": "red", "give_amount": 0, "want": "blue", "want_amount": 1}),
    ("battle_royale", {"action": "shoot"}),
    ("battle_royale", {"action": "shoot", "target": "player_1"}),
    ("battle_royale", {"action": "shoot", "target": "Jim"}),
    ("battle_royale", {"action": "miss", "target": "player_2"}),
    ("pirate_game", {"proposal": {"player_1": 1}}),
    ("pirate_game", {"proposal": {"player_99": 1}}),
    ("pirate_game", {"proposal": {f"player_{number}": 1 for number in range(1, 6)}}),
    ("pirate_game", {"proposal": {"player_1": -1}}),
    ("guess_the_average", {"chosen_number": 1_000}),
    ("guess_the_average", {"chosen_number": "viele"}),
    ("guess_the_average", {}),
    ("divide_the_dollar", {"bid_amount": 10_000}),
    ("public_goods", {"tokens_contributed": -1}),
    ("sealed_bid_auction", {"bid": -1}),
    ("ultimatum_game", {"offer": 101}),
    ("trust_game", {"amount_sent": 11}),
]


@pytest.mark.parametrize("code", ["de", "es"])
def test_rule_violations_are_explained_in_the_page_s_language(code: str) -> None:
    cases: list[tuple[str, dict[str, Any], dict[str, Any]]]
    cases = [(name, answer, {}) for name, answer in ILLEGAL]
    trade: dict[str, Any] = {"give_amount": 99, "want": "pink", "want_amount": 1}
    palette = {"colours": PALETTE[-3:]}
    cases += [("chip_trading", trade | {"give": give}, palette) for give in ("grey", "gold")]
    for name, answer, changes in cases:
        rules = get_game(name).rules
        small = {"players": 5} if name == "pirate_game" else {}
        game = rules.model_validate(small | changes)
        ask = next(
            iter(Table(game, game.draw_instance(Chance("instance")), "seed").pending.values())
        )
        with pytest.raises(Unparsable) as refused:
            CODECS["json"].read(json.dumps(answer), ask)
        message = languages()[code].refusal(str(refused.value))
        assert message != str(refused.value)
        assert not ENGLISH.search(message), message
        assert "{" not in message
        assert not {*PALETTE} - {"orange", "blue"} & {*re.findall(r"\w+", message)}


def test_wrong_number_of_punishment_points_is_explained_in_german() -> None:
    rules = get_game("public_goods_punishment").rules.model_validate({"rounds": 0})
    table = Table(rules, rules.draw_instance(Chance("instance")), "seed")
    for seat, ask in dict(table.pending).items():
        table.answer(seat, ask.action.model_validate({"tokens_contributed": 5}))
    with pytest.raises(Unparsable) as refused:
        CODECS["json"].read('{"points": [1, 2]}', table.pending["player_1"])
    message = languages()["de"].refusal(str(refused.value))
    assert message == "„Punkte“ muss 3 Zahlen enthalten, nicht 2"


def test_names_chosen_by_the_study_appear_in_reasons() -> None:
    reason = '"alice_gain": should be a number; "player_2": should be a number'
    shown = languages()["en"].refusal(reason, {"alice": "Ann", "player_2": "Bo"})
    assert shown == "“Ann” must be a number; “Bo” must be a number"


def sentences_of_scripts() -> set[str]:
    """Return what scripts with default settings say in matches with one another."""
    spoken = set()
    for game_spec in games().values():
        if GAMES.origin(game_spec.name) != OURS:
            continue
        game = game_spec.rules()
        names = [name for name in game_spec.strategies if name != "talker"]
        for name in names:
            usable = [role for role in game.roles if role in game_spec.strategies[name].roles]
            decide = {role: strategy_named(game.name, "random") for role in game.roles}
            decide |= {role: strategy_named(game.name, name) for role in usable}
            table = play(game, game.draw_instance(Chance(name)), name, decide)
            for moments in table.heard.values():
                for moment in moments:
                    message = getattr(moment.action, "message", None)
                    spoken |= set(SENTENCE_END.split(message)) if message else set()
    return spoken


def test_all_that_scripts_say_is_translated() -> None:
    listed = {text for _, text in catalogues.texts()["spoken"]}
    assert {with_gaps(sentence) for sentence in sentences_of_scripts()} <= listed
    german = languages()["de"].spoken("Deal. I take 1 book, 2 hats and 0 balls.")
    assert german == "Einverstanden. Ich nehme 1\xa0Buch, 2\xa0Hüte und 0\xa0Bälle."
    assert languages()["de"].spoken("Deal, I think.") == "Deal, I think."
    points = languages("EUR", points=True)["en"]
    assert points.spoken("I pay $1,200.50.") == "I pay 1,200.50\xa0points."


async def test_people_see_neutral_names_unless_the_study_names_seats(tmp_path: Path) -> None:
    for names, shown in (({}, "You are Player 1."), ({"alice": "Ann"}, "You are Ann.")):
        study = one_table("bargaining", "random", names=names)
        async with visited(study, tmp_path / f"{len(names)}.sqlite") as rooms:
            walker = await rooms.sit("bargaining")
            page = await walker.until(">Your turn<")
            assert shown in page
            assert "Alice" not in page


async def test_scripts_speak_the_reader_s_language(tmp_path: Path) -> None:
    study = one_table("persuasion", "always_recommend", signal="text")
    study = study.model_copy(update={"pairing": [["bot", "you"]]})
    async with visited(study, tmp_path / "s.sqlite", language="de") as rooms:
        walker = await rooms.sit("persuasion")
        page = await walker.until("Sie sind an der Reihe")
    assert "„Ich empfehle Ihnen, dieses Produkt zu kaufen.“" in page
    offered: Any = walker.table.request("bob").ask.event
    assert offered.message == "I recommend that you buy this product."  # as recorded
