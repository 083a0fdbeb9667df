"""Template files: checks of blocks and slots, the sandbox, and privacy."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.conformance import check_secrets, variants
from cheaptalk.rules import StyleFile
from cheaptalk.rules.errors import WrongValue
from cheaptalk.styles import Style, StyleError, TaggedCodec, blocks, style
from cheaptalk.styles.template_files import with_texts
from tests.games.tables import small

GAME = ct.games.Bargaining(money=1_000)
TURN, OFFER_MADE = GAME.events[1], GAME.events[2]
HEAD = '{% extends "plain.jinja" %}\n'


def own(text: str, game: str = "bargaining", name: str = "mine/own.jinja") -> Style:
    return style(game, name, templates={name: text})


def turn(text: str) -> str:
    """Return the text of a template's block ``turn``."""
    written = own(f"{HEAD}{{% block turn %}}\n{text}\n{{% endblock %}}")
    return written.tell(TURN(1, 1_000.0, False, None, None), GAME, "alice")


def test_template_shows_slots_and_inherits_other_blocks() -> None:
    text = "{% for seat, name in names.items() %}{{ loop.index }}. {{ name }} {% endfor %}"
    assert turn(text + "{{ money | dollars }}, {{ me.upper() }}") == "1. Alice 2. Bob $1,000, ALICE"
    assert turn("{{ super() }}").startswith("Round 1.\nIt is your turn")
    macro = '{% from "talk.jinja" import quoting %}{% macro loud(x) %}{{ x }}!{% endmacro %}'
    written = own(f"{HEAD}{macro}{{% block turn %}}{{{{ loud(me) }}}}{{% endblock %}}")
    assert written.tell(TURN(1, 1.0, False, None, None), GAME, "alice") == "Alice!"


@pytest.mark.parametrize("game_spec", ct.rules.games().values(), ids=lambda spec: spec.name)
def test_built_in_templates_pass_the_checks_of_template_files(game_spec: ct.GameSpec) -> None:
    for name, file in game_spec.styles.items():
        path = game_spec.words / file.template
        if path.exists():  # styles for people share a template
            text = path.read_text(encoding="utf-8")
            copied = style(game_spec, "own.jinja", templates={"own.jinja": text})
            assert copied.blocks == style(game_spec, name).blocks


def test_template_with_the_name_of_a_built_in_one_can_extend_it() -> None:
    assert own(HEAD, name="plain.jinja").says(OFFER_MADE)


def test_answer_format_and_language_are_those_of_the_extended_style() -> None:
    tagged = own('{% extends "tagged.jinja" %}', "deal_or_no_deal")
    assert isinstance(tagged.codec, TaggedCodec)
    german = own('{% extends "de.jinja" %}{% block turn %}{{ money | dollars }}{% endblock %}')
    assert german.tell(TURN(1, 1_000.0, False, None, None), GAME, "alice") == "1.000\xa0$"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            HEAD + "{% block turn %}\n{{ 1 }}\n{{ mony }}{% endblock %}",
            'line 4: in block turn: unknown slot "mony" (did you mean "money"?)',
        ),
        (
            HEAD + "{% block offer_rejected %}{% if message %}{% endif %}{% endblock %}",
            'line 2: in block offer_rejected: unknown slot "message" (known: stage, me, role',
        ),
        (
            HEAD + "{% macro rest(left) %}\n{{ left }} of {{ mony }}{% endmacro %}",
            'line 3: in macro rest: unknown slot "mony" (did you mean "money"?)',
        ),
        (HEAD + "{% block trn %}{% endblock %}", 'unknown block "trn" (did you mean "turn"?)'),
        (HEAD + "{% block turn %}{{ money | dolars }}{% endblock %}", "No filter named 'dolars'"),
        (HEAD + "\nYou are Alice.", 'line 3: "You are Alice." is outside all blocks'),
        ("You are Alice.", 'line 1: it extends no template; write {% extends "plain.jinja" %}'),
        ('{% extends "plan.jinja" %}', 'it can\'t extend "plan.jinja" (did you mean "plain.j'),
        ('{% extends "base.jinja" %}', "line 1: block briefing is missing"),
        (HEAD + '{% include "mine.jinja" %}', "template mine.jinja not found; a template file can"),
        (HEAD + "{% block turn %}", "line 2: Unexpected end of template"),
    ],
)
def test_error_names_file_line_and_correction(text: str, message: str) -> None:
    with pytest.raises(StyleError) as caught:
        own(text)
    assert str(caught.value).startswith("mine/own.jinja")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "expression",
    [
        "me.__class__",
        "names.__class__.__mro__",
        "names['__class__']",
        "names | attr('__class__')",
        "'{0.__class__}'.format(me)",
        "self.__init__.__globals__",
        "self._TemplateReference__context",
        "super.__call__",
        "cycler.__init__.__globals__",
        "dict.mro()",
        "names.update({})",
        "lipsum.__globals__",
        "me | random",
        "range(10 ** 9) | list",
    ],
)
def test_sandbox_refuses_access_to_python_and_random_texts(expression: str) -> None:
    with pytest.raises(StyleError):
        turn(f"{{{{ {expression} }}}}")


def test_template_cannot_read_files_by_methods_of_actions() -> None:
    text = "{% block offered %}{{ proposal.parse_file('/etc/hostname') }}{% endblock %}"
    game = ct.games.ChipTrading()
    rules = ct.games.chip_trading.rules
    proposal = rules.Proposal(give="green", give_amount=1, want="red", want_amount=1)
    offered = rules.Offered(1, 3, "player_1", proposal, (), 1, 1, True)
    with pytest.raises(StyleError, match="SecurityError"):
        own(HEAD + text, "chip_trading").tell(offered, game, "player_2")


@pytest.mark.parametrize("game_spec", ct.rules.games().values(), ids=lambda spec: spec.name)
def test_slots_contain_no_private_information_of_others(
    game_spec: ct.GameSpec, tmp_path: Path
) -> None:
    """A template that shows all slots differs between two instances only for the owners."""
    shown = [
        f"{{% block {block.name} %}}{''.join(f'{{{{ {slot} }}}} ' for slot in block.slots)}"
        "{% endblock %}"
        for block in blocks(game_spec).values()
    ]
    (tmp_path / "all.jinja").write_text('{% extends "base.jinja" %}' + "\n".join(shown))
    styles = {"all": StyleFile("all.jinja", folder=tmp_path)}
    for game in variants(game_spec).values():
        check_secrets(replace(game_spec, styles=styles), small(game), "1")


def test_files_are_read_relative_to_the_folder(tmp_path: Path) -> None:
    for name, text in {"a.jinja": "A", "inner/a.jinja": "B", "c.jinja": "C"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    entry = {"model": "x/y", "style": {"bargaining": "a.jinja", "negotiation": "inner/a.jinja"}}
    assert with_texts(entry, tmp_path) == {
        **entry,
        "templates": {"a.jinja": "A", "inner/a.jinja": "B"},
    }
    crossed = {"cross": {"style": ["plain", "c.jinja"]}}
    assert with_texts(crossed, tmp_path)["templates"] == {"c.jinja": "C"}
    absolute = with_texts({"style": str(tmp_path / "c.jinja")}, Path())
    assert absolute == {"style": "c.jinja", "templates": {"c.jinja": "C"}}
    embedded = {"style": "a.jinja", "templates": {"a.jinja": "embedded"}}
    assert with_texts(embedded, tmp_path) == embedded


def test_unreadable_file_raises_error(tmp_path: Path) -> None:
    (tmp_path / "bytes.jinja").write_bytes(b"\xff")
    (tmp_path / "a.jinja").write_text("")
    for style_, message in [
        ("no.jinja", "template file .*no.jinja not found"),
        ("bytes.jinja", "is not text in UTF-8"),
        ({"bargaining": "a.jinja", "negotiation": str(tmp_path / "a.jinja")}, "two template files"),
    ]:
        with pytest.raises(WrongValue, match=message):
            with_texts({"style": style_}, tmp_path)


CLASSICS = {"public_goods_punishment", "trust_game", "ultimatum_game"}
"""Games for people, whose sources have no prompts for models."""


def test_published_prompts_page_lists_existing_slots_of_every_game() -> None:
    page = Path(__file__).parents[2] / "docs" / "reproduce" / "published-prompts.md"
    listed = set()
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [re.findall(r"`(\w+)`", cell) for cell in re.split(r"(?<!\\)\|", line)]
        if not line.startswith("| `"):
            continue
        _, (game,), _, names, slots, _ = cells
        listed.add(game)
        known = {slot for name in names for slot in blocks(game)[name].slots}
        assert set(slots) <= known, line
    assert listed == set(ct.rules.games()) - CLASSICS
