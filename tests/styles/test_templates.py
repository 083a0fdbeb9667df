"""Styles: rendering of events, inheritance of templates, and digests."""

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


def write_style(folder: Path, templates: Mapping[str, str], name: str = "plain.jinja") -> Style:
    """Write these templates into a new folder and return their style."""
    folder.mkdir(parents=True)
    for file, text in templates.items():
        (folder / file).write_text(text)
    return style_in(dataclasses.replace(SPEC, words=folder, styles={"plain": StyleFile(name)}))


def test_events_are_rendered_with_names_of_players() -> None:
    game = Guessing(names={"left": "Ann"})
    event = Guesses(1, (("left", 3, ""), ("right", 4, 'So "be" it')))
    message = "{{ names }} {% raw %} &amp; # <"
    text = PLAIN.tell(Guesses(1, (("left", 3, message),)), GAME, "right")
    assert text == f'Left guessed 3 and said "{message}".'
    assert PLAIN.tell(GuessNow(2), GAME, "left") == "Round 2. What is your guess?"
    assert PLAIN.tell(event, game, "left") == (
        'Ann guessed 3.\nRight guessed 4 and said "So \\"be\\" it".'
    )
    assert PLAIN.tell(YourCard(3, None), game, "left") == "You are Ann. Your card is 3."


def test_request_explains_the_answer_format() -> None:
    assert PLAIN.how(Guess, GAME, "left") == 'Answer with {"number": <whole number>}.'
    assert PLAIN.ask(Ask("left", SpokenGuess, GuessNow(1)), GAME) == (
        "Round 1. What is your guess?\n\n"
        'Answer with {"number": <whole number>, "message": "<text>"};'
        " the other reads your message after the round."
    )


def test_story_has_a_text_per_moment() -> None:
    moments = [Moment(YourCard(3, 2)), Moment(GuessNow(1), Guess(number=3)), Moment(Reveal(5))]
    assert CURT.story(moments, GAME, "left") == [
        "You are Left. Your card is 3.\n\nBe brief.",
        "Round 1. What is your guess?",
        "5!",
    ]


def test_variant_inherits_overrides_and_extends() -> None:
    assert CURT.tell(Reveal(5), GAME, "left") == "5!"
    assert PLAIN.tell(Reveal(5), GAME, "left") == "It was 5."
    assert CURT.tell(YourCard(3, 2), GAME, "left").endswith("Be brief.")
    assert CURT.blocks == PLAIN.blocks
    assert CURT.says(SpokenGuess)
    assert not CURT.says(Path)


def test_template_error_names_its_location(tmp_path: Path) -> None:
    for text, message in [
        ("{{ target }}\n{{ pie }}", "plain.jinja, line 4, in block reveal: 'pie' is undefined; "),
        ("{{ pie | dollars }}", "plain.jinja, line 3, in block reveal: 'pie' is undefined; "),
        ("{{ 1 / (target - 1) }}", "plain.jinja, line 3, in block reveal: ZeroDivisionError: divi"),
        (
            "{{ names.carol }}",
            "plain.jinja, line 3, in block reveal: 'dict object' has no attribute",
        ),
    ]:
        template = f'{{% extends "base.jinja" %}}\n{{% block reveal %}}\n{text}\n{{% endblock %}}\n'
        style = write_style(tmp_path / str(hash(text)), {"plain.jinja": template})
        with pytest.raises(StyleError, match=re.escape(message)):
            style.tell(Reveal(1), GAME, "left")
    with pytest.raises(StyleError, match="no text for Odd; add a block odd to guess"):
        PLAIN.tell(type("Odd", (Reveal,), {})(1), GAME, "left")


def test_nested_variants_have_normalised_white_space_and_roles(tmp_path: Path) -> None:
    circle = (
        '{{% extends "{}" %}}{{% block reveal %}}{{{{ super() }}}}\n\n\n\n {}  {{% endblock %}}'
    )
    templates = {
        "0.jinja": '{% extends "base.jinja" %}{% block reveal %}{{ names[role] }} \t{% endblock %}',
        "1.jinja": circle.format("0.jinja", "one"),
        "2.jinja": circle.format("1.jinja", "two"),
    }
    text = write_style(tmp_path / "a", templates, "2.jinja").tell(Reveal(0), GAME, "left")
    assert text == "Left\n\n one\n\n two"


BASE = '{% extends "base.jinja" %}{% block reveal %}It was {{ target }}.{% endblock %}'
VARIANT = '{% extends "plain.jinja" %}{% import "macros.jinja" as more %}'
MACROS = "{% macro nothing() %}{% endmacro %}"
FILES = {"plain.jinja": BASE, "variant.jinja": VARIANT, "macros.jinja": MACROS}


def test_digest_depends_on_all_templates_of_a_style(tmp_path: Path) -> None:
    changes = [FILES, FILES, *(FILES | {name: f"{text}!"} for name, text in FILES.items())]
    digests = [
        write_style(tmp_path / str(number), files, "variant.jinja").digest
        for number, files in enumerate(changes)
    ]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 1 + len(FILES)
    assert {len(digest) for digest in digests} == {16}
    original = write_style(tmp_path / "original", FILES)
    other = write_style(tmp_path / "other", FILES | {"variant.jinja": "!", "macros.jinja": "!"})
    assert original.digest == other.digest


def test_first_style_is_the_default() -> None:
    assert (PLAIN.name, CURT.name) == ("plain", "curt")
    assert style_in(SPEC) is style_in(SPEC, "plain")
    assert style("bargaining").name == "plain"


def test_unknown_style_raises_error_with_suggestion() -> None:
    with pytest.raises(UnknownName, match=r'unknown style of guessing "crt" \(did you mean "curt"'):
        style_in(SPEC, "crt")
    with pytest.raises(UnknownName, match='unknown style of bargaining "curt"'):
        style("bargaining", "curt")
    with pytest.raises(UnknownName, match='unknown game "bargin"'):
        style("bargin")
    with pytest.raises(UnknownName, match='unknown codec "jsn" \\(did you mean "json"'):
        style_in(dataclasses.replace(SPEC, styles={"a": StyleFile("plain.jinja", "jsn")}))


def test_styles_of_different_games_are_separate(tmp_path: Path) -> None:
    other: GameSpec = dataclasses.replace(SPEC, words=tmp_path)
    (tmp_path / "guessing.jinja").write_text(BASE)
    assert style_in(other).blocks == {"reveal"}
    assert style_in(SPEC).says(YourCard)


def test_numbers_amounts_and_shares_are_formatted() -> None:
    cases = [
        (number(-0.001), "0"),
        (number(1234.5), "1,234.5"),
        (number(-1234.567), "-1,234.57"),
        (number(1e12), "1,000,000,000,000"),
        (number(0.12345, 4), "0.1235"),
        (number(1200, 0), "1,200"),
        (dollars(-0.001), "$0"),
        (dollars(-1234.5), "-$1,234.50"),
        (dollars(0.999), "$1"),
        (dollars(1e6), "$1,000,000"),
        (percent(1 - 0.9), "10%"),
        (percent(1 / 3), "33.33%"),
        (percent(0.05125, 3), "5.125%"),
    ]
    for text, expected in cases:
        assert text == expected


def test_unreadable_template_raises_error(tmp_path: Path) -> None:
    for text, message in [
        ("{% block turn %}", r"cannot be read: line 1 of plain\.jinja: Unexpected end"),
        ('{% extends "plain.jinja" %}', "plain.jinja extends itself; rename it"),
        ('{% extends "plan.jinja" %}', "cannot be read: template plan.jinja not found"),
    ]:
        with pytest.raises(CheaptalkError, match=message):
            write_style(tmp_path / str(len(text)), {"plain.jinja": text})


def test_style_in_another_folder_extends_templates_of_the_game(tmp_path: Path) -> None:
    (tmp_path / "loud.jinja").write_text(
        '{% extends "guessing_curt.jinja" %}{% block guess_now %}GUESS!{% endblock %}'
    )
    loud = StyleFile("loud.jinja", folder=tmp_path)
    words = style_in(dataclasses.replace(SPEC, styles={"loud": loud}))
    assert words.tell(GuessNow(2), GAME, "left") == "GUESS!"
    assert words.tell(Reveal(3), GAME, "left") == CURT.tell(Reveal(3), GAME, "left")
