"""Screens of the games in the browser, and previews that follow the input."""

import asyncio
from pathlib import Path

import pytest

from cheaptalk.rules import Action, games
from cheaptalk.rules.registry import get_game
from cheaptalk.studies import parse_study
from cheaptalk.studies.study import Study
from cheaptalk.styles import block_name
from cheaptalk.web.rooms.languages import languages
from cheaptalk.web.rooms.screens import screen_template
from tests.reports.browser import Tab, browse
from tests.web.served import served
from tests.web.walker import Rooms, visited


def test_every_game_has_a_board_an_ending_and_answer_forms() -> None:
    for name in sorted(games()):
        template = screen_template(name, languages()["en"])
        assert template is not None
        kinds: tuple[type[Action], ...] = get_game(name).rules.actions
        assert {"gist", "about", "board", "earned"} <= template.blocks.keys()
        for kind in kinds:
            assert {block_name(item) for item in kind.__mro__} & template.blocks.keys()


@pytest.mark.parametrize(
    ("name", "says"), [("ultimatum", ("To divide", "You would keep", "you get $")), ("tender", ())]
)
async def test_packaged_game_works_with_and_without_a_screen(
    name: str, says: tuple[str, ...], tmp_path: Path, example_games: None
) -> None:
    written = {
        "name": "package", "games": [{"game": name}], "pairing": "self",
        "players": {"you": {"person": "browser"}},
    }  # fmt: skip

    async with visited(parse_study(written, "here"), tmp_path / "s.sqlite") as rooms:
        (table_template,) = rooms.room_manager.table_templates.values()
        walkers = [await rooms.sit(table_template)]
        walkers += [await rooms.join(walkers[0].room.code) for _ in table_template.human_seats[1:]]
        await asyncio.gather(*(walker.play() for walker in walkers))
        seen = "".join(page for walker in walkers for page in walker.seen)
    assert ("is what you got" if says else "Your result") in seen
    assert ('class="board"' in seen) == bool(says)
    assert [words for words in says if words not in seen] == []


def one_table(game: str, bot: str, **fixed: object) -> Study:
    return parse_study(
        {
            "name": "alone",
            "games": [{"game": game, "fixed": fixed}],
            "players": {"you": {"person": "browser"}, "bot": {"strategy": bot}},
            "pairing": [["you", "bot"]],
        },
        "here",
    )


async def sit_down(tab: Tab, rooms: Rooms, game: str, language: str = "en") -> None:
    """Open the first table of a game, and wait for the turn."""
    address = rooms.url
    await tab.visit(f"{address}/games/{game}?lang={language}", width=360)
    await tab.run("document.querySelector('main form button').click()")
    await tab.until("document.querySelector('form.answer') !== null")


def typing_script(field: str, text: str) -> str:
    return (
        f"{{ const one = document.getElementById('f-{field}'); one.value = '{text}';"
        " one.dispatchEvent(new Event('input', {bubbles: true})); }"
    )


SHOWN = "document.querySelector('output').textContent"


@pytest.mark.browser
@pytest.mark.parametrize(
    ("language", "typed", "rest", "hint"),
    [
        ("en", "9,000", "1000", "you get $2,500"),
        ("de", "9.000,50", "999,5", "Sie bekommen 2.500\xa0$"),
    ],
)
def test_offer_form_fills_in_the_remainder_and_shows_its_value(
    tmp_path: Path, language: str, typed: str, rest: str, hint: str
) -> None:
    """Half of the money is worth half as much in round 2, so a quarter of 10,000."""
    study = one_table("bargaining", "equal_split", horizon=4, discounts=[0.5, 0.9], messages=False)

    async def visit(tab: Tab) -> None:
        async with served(tmp_path, study=study) as rooms:
            await sit_down(tab, rooms, "bargaining", language)
            await tab.run(typing_script("alice_gain", typed))
            assert await tab.run("document.getElementById('f-bob_gain').value") == rest
            await tab.run("document.querySelector('.answer .row button').click()")
            await tab.until("document.querySelector('.choice small') !== null")
            assert await tab.run("document.querySelector('.choice small').textContent") == hint
            if language == "de":
                message = await tab.run("document.querySelector('.said').textContent")
                assert message == "Sie Spieler 1: 9.000,5; Spieler 2: 999,5"
            assert tab.complaints == []
            assert await tab.run("document.documentElement.scrollWidth") == 360

    browse(tmp_path / "profile", visit)


@pytest.mark.browser
def test_counteroffer_shows_the_value_of_the_rest(tmp_path: Path) -> None:
    study = one_table("item_bargaining", "tough", quantities=[7, 4, 1])

    async def visit(tab: Tab) -> None:
        async with served(tmp_path, study=study) as rooms:
            await sit_down(tab, rooms, "item_bargaining")
            total = int(await tab.run("document.querySelector('.standing dd').textContent"))
            each = await tab.run(
                "[...document.querySelectorAll('.board tbody td:nth-child(3)')]"
                ".map(one => Number(one.textContent))"
            )
            assert total == 7 * each[0] + 4 * each[1] + each[2]
            more = "[...document.querySelectorAll('.step')].filter(one => one.textContent == '+')"
            await tab.run(f"{more}[0].click(); {more}[2].click(); {more}[2].click()")
            assert await tab.run(SHOWN) == f"{total - each[0] - each[2]:,}", "one of kind 3 at most"

    browse(tmp_path / "profile", visit)
