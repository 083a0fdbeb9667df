"""A game's box: strategies with their settings, metrics with their variants."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field, ValidationError

from cheaptalk.rules import (
    Action,
    Chance,
    DecisionRequest,
    GameSpec,
    Metric,
    Result,
    RulesError,
    StyleFile,
    Table,
    strategy,
)
from tests import toys
from tests.toys import SPEC, Cards, Guess, Guessing, Score

RESULT = Result(Guessing(), Cards(left=1, right=1), Score(left=2, right=1))


def asked() -> DecisionRequest:
    return Table(Guessing(talk=False), Cards(left=1, right=2), "seed").request("right")


def test_a_strategy_is_called_like_its_function_and_knows_its_roles() -> None:
    assert toys.own_card.name == "own_card"
    assert toys.own_card.roles == ("left", "right")
    assert toys.own_card.meaning == "Guess one's card and a bit."
    assert toys.own_card(asked()) == Guess(number=4)
    assert toys.own_card(asked(), plus=1) == Guess(number=3)


def test_settings_are_checked_and_converted() -> None:
    assert toys.own_card.with_settings(plus=0)(asked()) == Guess(number=2)
    assert toys.own_card.with_settings(plus="3")(asked()) == Guess(number=5)
    assert toys.own_card.with_settings()(asked()) == Guess(number=4)
    with pytest.raises(ValidationError, match="less than or equal to 4"):
        toys.own_card.with_settings(plus=5)
    with pytest.raises(ValidationError, match=r'unknown key "pluss" \(did you mean "plus"\?\)'):
        toys.own_card.with_settings(pluss=1)


def test_settings_have_the_defaults_of_the_function() -> None:
    assert toys.own_card.settings().model_dump() == {"plus": 2}
    assert toys.random.settings().model_dump() == {}
    assert toys.own_card.settings.model_json_schema()["properties"]["plus"]["maximum"] == 4


def test_a_strategy_with_settings_is_a_plain_function() -> None:
    assert isinstance(toys.own_card.with_settings(plus=1), partial)


def test_a_strategy_without_a_docstring_has_no_meaning() -> None:
    @strategy("left")
    def mute(asked: DecisionRequest, *, share: Annotated[float, Field(ge=0)] = 1) -> Action:
        return Guess(number=1)

    assert mute.meaning == ""
    assert mute.roles == ("left",)


def untyped(asked: DecisionRequest, *, share=0.5) -> Action:  # type: ignore[no-untyped-def]  # noqa: ANN001 - what is refused
    return Guess(number=1)


def without_default(asked: DecisionRequest, *, share: float) -> Action:
    return Guess(number=1)


@pytest.mark.parametrize(("function", "lacks"), [(untyped, "type"), (without_default, "default")])
def test_a_setting_has_a_type_and_a_default(function: Any, lacks: str) -> None:
    saying = f'"{function.__name__}": its setting "share" has no {lacks}; write share: TYPE = DEFA'
    with pytest.raises(RulesError, match=saying):
        strategy("left")(function)


RULES = """
from tests.toys import Guessing as Base


class Guessing(Base):
    pass
"""
METRICS = """
from cheaptalk.rules import Metric, Series
from tests.toys import HITS, hits

METRICS = (HITS, Metric("twice", hits))
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a game, a package called ``folder_of_a_game``."""
    folder = tmp_path / "folder_of_a_game"
    (folder / "styles").mkdir(parents=True)
    for style in ("short", "long"):
        (folder / "styles" / f"{style}.jinja").write_text("")
    (folder / "rules.py").write_text(RULES)
    (folder / "strategies.py").write_text("from tests.toys import own_card, random")
    (folder / "metrics.py").write_text(METRICS)
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.startswith(folder.name)]:
        del sys.modules[name]


def test_a_box_is_made_of_what_stands_in_its_folder(package: Path) -> None:
    game_spec = GameSpec.of(package.name)
    assert (game_spec.name, game_spec.rules.__module__) == ("guessing", "folder_of_a_game.rules")
    assert list(game_spec.strategies) == ["own_card", "random"]
    assert list(game_spec.metrics) == ["hits", "twice"]
    assert (game_spec.series, game_spec.checks) == ({}, {})
    assert list(game_spec.styles.items()) == [
        ("long", StyleFile("long.jinja")), ("short", StyleFile("short.jinja")),
    ]  # fmt: skip
    assert game_spec.words == package / "styles"


def test_series_and_checks_of_a_game_stand_with_its_measures(package: Path) -> None:
    more = 'SERIES = (Series("by round", lambda result: []),)\nCHECKS = {"honesty": dict}\n'
    (package / "metrics.py").write_text(METRICS + more)
    game_spec = GameSpec.of(package.name)
    assert list(game_spec.series) == ["by round"]
    assert list(game_spec.checks) == ["honesty"]


def test_the_author_can_order_styles_and_name_their_codecs(package: Path) -> None:
    game_spec = GameSpec.of(package.name, styles=["short", "long"], codecs={"long": "tagged"})
    assert list(game_spec.styles.items()) == [
        ("short", StyleFile("short.jinja")), ("long", StyleFile("long.jinja", codec="tagged")),
    ]  # fmt: skip
    assert list(GameSpec.of(package.name, styles=["short"]).styles) == ["short"]
    with pytest.raises(ValueError, match="unknown style lonng"):
        GameSpec.of(package.name, codecs={"lonng": "tagged"})


def test_a_parameter_without_a_default_is_refused(package: Path) -> None:
    (package / "rules.py").write_text(f"{RULES}    loud: bool\n")
    with pytest.raises(RulesError, match='parameter "loud" has no default; write NAME: TYPE = DEF'):
        GameSpec.of(package.name)


@pytest.mark.parametrize(("text", "number"), [("", 0), (RULES + "class More(Base): pass", 2)])
def test_a_folder_holds_one_game(package: Path, text: str, number: int) -> None:
    (package / "rules.py").write_text(text)
    with pytest.raises(TypeError, match=rf"must contain one game, not {number}"):
        GameSpec.of(package.name)


def test_a_game_declares_what_every_game_does(package: Path) -> None:
    text = "from cheaptalk.rules import Game\n\n\nclass Bare(Game):\n    name = 'bare'\n"
    (package / "rules.py").write_text(text)
    lacking = "Bare does not declare roles, events, actions, outcome_type"
    with pytest.raises(RulesError, match=lacking):
        GameSpec.of(package.name)


def test_no_measure_hides_another_of_its_name(package: Path) -> None:
    (package / "metrics.py").write_text(METRICS + 'METRICS += (Metric("hits", hits),)\n')
    with pytest.raises(RulesError, match='two metric entries are named "hits"'):
        GameSpec.of(package.name)


def test_the_box_is_called_like_its_game() -> None:
    assert SPEC.name == "guessing"


def doubled(result: Result) -> float:
    """Twice the hits."""
    return 2 * toys.hits(result)


def test_a_measure_reads_the_paper_s_number_or_the_published_one() -> None:
    both = Metric("hits", toys.hits, published=doubled)
    assert both.variant(as_published=False)(RESULT) == 3
    assert both.variant(as_published=True)(RESULT) == 6
    assert Metric("hits", toys.hits).variant(as_published=True)(RESULT) == 3
    assert both.meaning == "Right guesses of both seats together."
    assert Metric("none", lambda result: None).meaning == ""


def test_a_result_has_the_answers_only_if_it_was_given_them() -> None:
    made = Result.of(RESULT.game, RESULT.instance, RESULT.outcome)
    assert made == RESULT
    assert list(made.given()) == []
    table = Table(Guessing(), Cards(left=1, right=1), Chance("seed").seed)
    assert Result(RESULT.game, RESULT.instance, RESULT.outcome, lambda: table.given).given() == []
