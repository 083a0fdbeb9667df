"""Texts for people: the same facts in all languages, and no machine formats."""

import re
from collections.abc import Iterator

from cheaptalk.conformance.matches import played, variants
from cheaptalk.rules import Table, get_game
from cheaptalk.rules.game_spec import LANGUAGES
from cheaptalk.rules.registry import GAMES
from cheaptalk.styles import Style, style_in
from cheaptalk.web.typed_numbers import plain_number
from tests.games.tables import small

NUMBER = re.compile(r"\d[\d.,\u202f]*\d|\d")
MACHINES = re.compile(r'JSON|[{}\\]|"\w+_\w*"')
CASES = [(name, label) for name in sorted(GAMES) for label in variants(get_game(name))]


def read(style: Style, table: Table) -> Iterator[str]:
    """Yield all texts of a match, seat by seat."""
    for seat, moments in table.heard.items():
        yield from style.story(moments, table.game, seat)
        actions = {type(moment.action) for moment in moments if moment.action is not None}
        kinds = [kind for kind in table.game.actions if kind in actions]
        yield from (style.how(kind, table.game, seat) for kind in kinds)


def own_text(text: str, style: Style) -> str:
    """Return a text without messages of others and names, which can be repeated in a text."""
    before, after = style.writing.marks or '""'
    return re.sub(rf"{before}[^{after}]*{after}|{style.writing.player} \d+(?![\d,.]*\d)", "", text)


def numbers(text: str, style: Style) -> list[float]:
    """Return the sorted numbers in a text."""
    matches = NUMBER.findall(own_text(text, style))
    return sorted(float(plain_number(match, style.writing)) for match in matches)


def test_all_games_have_styles_in_all_languages() -> None:
    for name in GAMES:
        assert list(get_game(name).styles)[-len(LANGUAGES) :] == list(LANGUAGES)


def test_texts_have_equal_numbers_in_all_languages_and_no_machine_formats() -> None:
    for name, label in CASES:
        game_spec = get_game(name)
        styles = [style_in(game_spec, language) for language in LANGUAGES]
        table = played(game_spec, small(variants(game_spec)[label]), "words")
        for texts in zip(*(read(style, table) for style in styles), strict=True):
            pairs = list(zip(texts, styles, strict=True))
            assert not any(MACHINES.search(own_text(*pair)) for pair in pairs), texts
            first, *others = (numbers(*pair) for pair in pairs)
            assert all(other == first for other in others), texts


def test_only_texts_for_people_have_non_breaking_spaces() -> None:
    game_spec = get_game("ultimatum_game")
    table = played(game_spec, game_spec.rules(), "words")
    plain, english = ("\n".join(read(style_in(game_spec, name), table)) for name in ("plain", "en"))
    assert "100 points" in plain
    assert "100\xa0points" in english
    assert "\xa0" not in plain
