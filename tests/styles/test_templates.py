"""Styles: events put into words, inheritance of templates, and what the digest notices."""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from cheaptalk.rules import Ask, CheaptalkError, GameSpec, Moment, StyleFile, UnknownName
from cheaptalk.styles import Style, StyleError, dollars, number, percent, style, style_in
from tests.toys import SPEC, Guess, Guesses, Guessing, GuessNow, Reveal, SpokenGuess, YourCard

GAME = Guessing()
PLAIN = style_in(SPEC)
CURT = style_in(SPEC, "curt")


def written(folder: Path, templates: Mapping[str, str], name: str = "plain.jinja") -> Style:
    """A style of these templates, in a new folder."""
    folder.mkdir(parents=True)
    for file, text in templates.items():
        (folder / file).write_text(text)
    return style_in(dataclasses.replace(SPEC, words=folder, styles={"plain": StyleFile(name)}))


def test_an_event_is_told_by_the_block_of_its_name() -> None:
    assert PLAIN.tell(GuessNow(2), GAME, "left") == "Round 2. What is your guess?"
    assert PLAIN.tell(YourCard(3, None), GAME, "right") == "You are Right. Your card is 3."


def test_players_are_called_by_their_names() -> None:
    game = Guessing(names={"left": "Ann"})
    news = Guesses(1, (("left", 3, ""), ("right", 4, 'So "be" it')))
    assert PLAIN.tell(news, game, "left") == (
        'Ann guessed 3.\nRight guessed 4 and said "So \\"be\\" it".'
    )
    assert PLAIN.tell(YourCard(3, None), game, "left") == "You are Ann. Your card is 3."


def test_the_role_is_known_to_the_words(tmp_path: Path) -> None:
    words = '{% extends "base.jinja" %}{% block reveal %}{{ role }} {{ names[role] }}{% endblock %}'
    told = written(tmp_path / "a", {"plain.jinja": words}).tell(Reveal(1), GAME, "right")
    assert told == "right Right"


def test_a_question_says_how_to_answer_it() -> None:
    assert PLAIN.how(Guess, GAME, "left") == 'Answer with {"number": <whole number>}.'
    assert PLAIN.ask(Ask("left", SpokenGuess, GuessNow(1)), GAME) == (
        "Round 1. What is your guess?\n\n"
        'Answer with {"number": <whole number>, "message": "<text>"};'
        " the other reads your message after the round."
    )


def test_a_story_is_a_text_for_every_moment() -> None:
    heard = [Moment(YourCard(3, 2)), Moment(GuessNow(1), Guess(number=3)), Moment(Reveal(5))]
    assert CURT.story(heard, GAME, "left") == [
        "You are Left. Your card is 3.\n\nBe brief.",
        "Round 1. What is your guess?",
        "5!",
    ]


def test_a_variant_inherits_overrides_and_adds() -> None:
    assert CURT.tell(Reveal(5), GAME, "left") == "5!"
    assert PLAIN.tell(Reveal(5), GAME, "left") == "It was 5."
    assert CURT.tell(YourCard(3, 2), GAME, "left").endswith("Be brief.")
    assert CURT.blocks == PLAIN.blocks
    assert CURT.says(SpokenGuess)
    assert not CURT.says(Path)


def test_circles_nest(tmp_path: Path) -> None:
    """Each variant adds to the one within, as many deep as one likes."""
    circle = '{{% extends "{}" %}}{{% block reveal %}}{{{{ super() }}}} {}{{% endblock %}}'
    templates = {
        "0.jinja": '{% extends "base.jinja" %}{% block reveal %}zero{% endblock %}',
        "1.jinja": circle.format("0.jinja", "one"),
        "2.jinja": circle.format("1.jinja", "two"),
    }
    assert written(tmp_path / "a", templates, "2.jinja").tell(Reveal(0), GAME, "left") == (
        "zero one two"
    )


@pytest.mark.parametrize(
    ("text", "saying"),
    [
        (
            "{{ target }}\n{{ pie }}",
            "plain.jinja, line 4, in block reveal: 'pie' is undefined; ",
        ),
        ("{{ pie | dollars }}", "plain.jinja, line 3, in block reveal: 'pie' is undefined; "),
        ("{{ 1 / (target - 1) }}", "plain.jinja, line 3, in block reveal: ZeroDivisionError: divi"),
        (
            "{{ names.carol }}",
            "plain.jinja, line 3, in block reveal: 'dict object' has no attribute",
        ),
    ],
)
def test_a_fault_of_a_template_is_told_with_its_place(
    text: str, saying: str, tmp_path: Path
) -> None:
    whole = f'{{% extends "base.jinja" %}}\n{{% block reveal %}}\n{text}\n{{% endblock %}}\n'
    with pytest.raises(StyleError, match=re.escape(saying)):
        written(tmp_path / "a", {"plain.jinja": whole}).tell(Reveal(1), GAME, "left")


def test_a_missing_block_is_named() -> None:
    with pytest.raises(StyleError, match="no text for Odd; add a block odd to guess"):
        PLAIN.tell(type("Odd", (Reveal,), {})(1), GAME, "left")


def test_blank_lines_and_ends_of_lines_are_tidied(tmp_path: Path) -> None:
    words = '{% extends "base.jinja" %}{% block reveal %}\n\n a  \n\n\n\n b \t\n{% endblock %}'
    told = written(tmp_path / "a", {"plain.jinja": words}).tell(Reveal(1), GAME, "left")
    assert told == "a\n\n b"


def test_words_of_players_are_not_templates_nor_markup() -> None:
    said = "{{ names }} {% raw %} &amp; # <"
    told = PLAIN.tell(Guesses(1, (("left", 3, said),)), GAME, "right")
    assert told == f'Left guessed 3 and said "{said}".'


BASE = '{% extends "base.jinja" %}{% block reveal %}It was {{ target }}.{% endblock %}'
VARIANT = '{% extends "plain.jinja" %}{% import "macros.jinja" as more %}'
MACROS = "{% macro nothing() %}{% endmacro %}"
FILES = {"plain.jinja": BASE, "variant.jinja": VARIANT, "macros.jinja": MACROS}


@pytest.mark.parametrize("changed", FILES)
def test_the_digest_changes_with_any_word_that_a_style_is_made_of(
    changed: str, tmp_path: Path
) -> None:
    one = written(tmp_path / "1", FILES, "variant.jinja")
    same = written(tmp_path / "2", FILES, "variant.jinja")
    other = written(tmp_path / "3", FILES | {changed: FILES[changed] + "!"}, "variant.jinja")
    assert one.digest == same.digest != other.digest
    assert len(one.digest) == 16


def test_the_digest_does_not_change_with_other_styles(tmp_path: Path) -> None:
    one = written(tmp_path / "1", FILES)
    other = written(tmp_path / "2", FILES | {"variant.jinja": "!", "macros.jinja": "!"})
    assert one.digest == other.digest


def test_the_first_style_is_the_default() -> None:
    assert (PLAIN.name, CURT.name) == ("plain", "curt")
    assert style_in(SPEC) is style_in(SPEC, "plain")
    assert style("bargaining").name == "plain"


def test_an_unknown_style_is_told_with_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match=r'unknown style of guessing "crt" \(did you mean "curt"'):
        style_in(SPEC, "crt")
    with pytest.raises(UnknownName, match='unknown style of bargaining "curt"'):
        style("bargaining", "curt")
    with pytest.raises(UnknownName, match='unknown game "bargin"'):
        style("bargin")


def test_styles_of_two_games_do_not_mix(tmp_path: Path) -> None:
    other: GameSpec = dataclasses.replace(SPEC, words=tmp_path)
    (tmp_path / "guessing.jinja").write_text(BASE)
    assert style_in(other).blocks == {"reveal"}
    assert style_in(SPEC).says(YourCard)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (-0.001, "0"),
        (5, "5"),
        (1234.5, "1,234.5"),
        (1234.567, "1,234.57"),
        (-1234.5, "-1,234.5"),
        (1e12, "1,000,000,000,000"),
        (100, "100"),
    ],
)
def test_numbers_read_as_people_write_them(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "$0"),
        (-0.001, "$0"),
        (5, "$5"),
        (-1234.5, "-$1,234.50"),
        (0.999, "$1"),
        (1e6, "$1,000,000"),
    ],
)
def test_amounts_are_whole_dollars_or_have_both_decimals(value: float, text: str) -> None:
    assert dollars(value) == text


def test_decimals_can_be_chosen() -> None:
    assert number(0.12345, 4) == "0.1235"
    assert number(1200, 0) == "1,200"


def test_shares_read_as_percentages() -> None:
    assert percent(0.1) == "10%"
    assert percent(1 / 3) == "33.33%"
    assert percent(0.05125, 3) == "5.125%"
    assert percent(1 - 0.9) == "10%"


@pytest.mark.parametrize(
    ("text", "saying"),
    [
        (
            "{% block turn %}",
            r"cannot be read: line 1 of plain\.jinja: Unexpected end",
        ),
        ('{% extends "plain.jinja" %}', "plain.jinja extends itself; rename it"),
        (
            '{% extends "plan.jinja" %}',
            "cannot be read: template plan.jinja not found",
        ),
    ],
)
def test_a_template_that_cannot_be_read_is_told(tmp_path: Path, text: str, saying: str) -> None:
    with pytest.raises(CheaptalkError, match=saying):
        written(tmp_path / "words", {"plain.jinja": text})


def test_a_style_of_another_folder_extends_the_game_s_templates(tmp_path: Path) -> None:
    (tmp_path / "loud.jinja").write_text(
        '{% extends "guessing_curt.jinja" %}{% block guess_now %}GUESS!{% endblock %}'
    )
    loud = StyleFile("loud.jinja", folder=tmp_path)
    words = style_in(dataclasses.replace(SPEC, styles={"loud": loud}))
    assert words.tell(GuessNow(2), GAME, "left") == "GUESS!"
    assert words.tell(Reveal(3), GAME, "left") == CURT.tell(Reveal(3), GAME, "left")


def test_an_unknown_codec_is_told() -> None:
    with pytest.raises(UnknownName, match='unknown codec "jsn" \\(did you mean "json"'):
        style_in(dataclasses.replace(SPEC, styles={"a": StyleFile("plain.jinja", "jsn")}))
