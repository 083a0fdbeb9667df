"""Game specs: strategies with their settings, metrics with their variants."""

import sys
from collections.abc import Iterator
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
from tests.toys import Cards, Guess, Guessing, Score

RESULT = Result(Guessing(), Cards(left=1, right=1), Score(left=2, right=1))


def decision_request() -> DecisionRequest:
    return Table(Guessing(talk=False), Cards(left=1, right=2), "seed").request("right")


def test_strategy_has_name_roles_and_meaning_of_function() -> None:
    assert toys.own_card.name == "own_card"
    assert toys.own_card.roles == ("left", "right")
    assert toys.own_card.meaning == "Guess one's card and a bit."
    assert toys.own_card(decision_request()) == Guess(number=4)
    assert toys.own_card(decision_request(), plus=1) == Guess(number=3)


def test_settings_are_validated_and_converted() -> None:
    assert toys.own_card.with_settings(plus=0)(decision_request()) == Guess(number=2)
    assert toys.own_card.with_settings(plus="3")(decision_request()) == Guess(number=5)
    assert toys.own_card.with_settings()(decision_request()) == Guess(number=4)
    with pytest.raises(ValidationError, match="less than or equal to 4"):
        toys.own_card.with_settings(plus=5)
    with pytest.raises(ValidationError, match=r'unknown key "pluss" \(did you mean "plus"\?\)'):
        toys.own_card.with_settings(pluss=1)


def test_settings_use_defaults_of_function() -> None:
    assert toys.own_card.settings().model_dump() == {"plus": 2}
    assert toys.random.settings().model_dump() == {}
    assert toys.own_card.settings.model_json_schema()["properties"]["plus"]["maximum"] == 4


def test_strategy_without_docstring_has_empty_meaning() -> None:
    @strategy("left")
    def mute(request: DecisionRequest, *, share: Annotated[float, Field(ge=0)] = 1) -> Action:
        return Guess(number=1)

    assert mute.meaning == ""
    assert mute.roles == ("left",)


def untyped(request: DecisionRequest, *, share=0.5) -> Action:  # type: ignore[no-untyped-def]  # noqa: ANN001 - under test
    return Guess(number=1)


def without_default(request: DecisionRequest, *, share: float) -> Action:
    return Guess(number=1)


def test_setting_requires_type_and_default() -> None:
    cases: list[tuple[Any, str]] = [(untyped, "type"), (without_default, "default")]
    for function, lacks in cases:
        message = (
            f'"{function.__name__}": its setting "share" has no {lacks}; write share: TYPE = DEFA'
        )
        with pytest.raises(RulesError, match=message):
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
    """Yield the folder of a game, a package named ``folder_of_a_game``."""
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


def test_game_spec_is_built_from_package(package: Path) -> None:
    game_spec = GameSpec.of(package.name)
    assert (game_spec.name, game_spec.rules.__module__) == ("guessing", "folder_of_a_game.rules")
    assert list(game_spec.strategies) == ["own_card", "random"]
    assert list(game_spec.metrics) == ["hits", "twice"]
    assert (game_spec.series, game_spec.checks) == ({}, {})
    assert list(game_spec.styles.items()) == [
        ("long", StyleFile("long.jinja")),
        ("short", StyleFile("short.jinja")),
    ]
    assert game_spec.words == package / "styles"


def test_series_and_checks_are_read_from_metrics_module(package: Path) -> None:
    more = 'SERIES = (Series("by round", lambda result: []),)\nCHECKS = {"honesty": dict}\n'
    (package / "metrics.py").write_text(METRICS + more)
    game_spec = GameSpec.of(package.name)
    assert list(game_spec.series) == ["by round"]
    assert list(game_spec.checks) == ["honesty"]


def test_styles_can_be_ordered_and_given_codecs(package: Path) -> None:
    game_spec = GameSpec.of(package.name, styles=["short", "long"], codecs={"long": "tagged"})
    assert list(game_spec.styles.items()) == [
        ("short", StyleFile("short.jinja")),
        ("long", StyleFile("long.jinja", codec="tagged")),
    ]
    assert list(GameSpec.of(package.name, styles=["short"]).styles) == ["short"]
    with pytest.raises(ValueError, match="unknown style lonng"):
        GameSpec.of(package.name, codecs={"lonng": "tagged"})


def test_parameter_without_default_is_rejected(package: Path) -> None:
    (package / "rules.py").write_text(f"{RULES}    loud: bool\n")
    with pytest.raises(RulesError, match='parameter "loud" has no default; write NAME: TYPE = DEF'):
        GameSpec.of(package.name)


@pytest.mark.parametrize(("text", "number"), [("", 0), (RULES + "class More(Base): pass", 2)])
def test_package_must_contain_one_game(package: Path, text: str, number: int) -> None:
    (package / "rules.py").write_text(text)
    with pytest.raises(TypeError, match=rf"must contain one game, not {number}"):
        GameSpec.of(package.name)


def test_game_must_declare_required_attributes(package: Path) -> None:
    text = "from cheaptalk.rules import Game\n\n\nclass Bare(Game):\n    name = 'bare'\n"
    (package / "rules.py").write_text(text)
    message = "Bare does not declare roles, events, actions, outcome_type"
    with pytest.raises(RulesError, match=message):
        GameSpec.of(package.name)


def test_duplicate_metric_names_are_rejected(package: Path) -> None:
    (package / "metrics.py").write_text(METRICS + 'METRICS += (Metric("hits", hits),)\n')
    with pytest.raises(RulesError, match='two metric entries are named "hits"'):
        GameSpec.of(package.name)


def doubled_hits(result: Result) -> float:
    """Twice the hits."""
    return 2 * toys.hits(result)


def test_metric_has_published_variant() -> None:
    both = Metric("hits", toys.hits, published=doubled_hits)
    assert both.variant(as_published=False)(RESULT) == 3
    assert both.variant(as_published=True)(RESULT) == 6
    assert Metric("hits", toys.hits).variant(as_published=True)(RESULT) == 3
    assert both.meaning == "Right guesses of both seats together."
    assert Metric("none", lambda result: None).meaning == ""


def test_result_has_answers_only_if_provided() -> None:
    result = Result.of(RESULT.game, RESULT.instance, RESULT.outcome)
    assert result == RESULT
    assert list(result.given()) == []
    table = Table(Guessing(), Cards(left=1, right=1), Chance("seed").seed)
    assert Result(RESULT.game, RESULT.instance, RESULT.outcome, lambda: table.given).given() == []
