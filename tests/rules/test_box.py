"""Game specs: strategies with their settings, metrics with their variants."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

import cheaptalk as ct
from cheaptalk.rules import RulesError, WrongValue
from tests import toys
from tests.toys import Cards, Guess, Guessing, Score

RESULT = ct.Result(Guessing(), Cards(left=1, right=1), Score(left=2, right=1))


def decision_request() -> ct.DecisionRequest:
    return ct.Table(Guessing(talk=False), Cards(left=1, right=2), "seed").request("right")


def test_strategy_has_name_roles_and_meaning_of_function() -> None:
    @ct.strategy("left")
    def mute(request: ct.DecisionRequest, *, share: Annotated[float, Field(ge=0)] = 1) -> ct.Action:
        return Guess(number=1)

    assert (mute.name, mute.roles, mute.meaning) == ("mute", ("left",), "")
    assert toys.own_card.meaning == "Guess one's card and a bit."
    assert toys.own_card(decision_request()) == Guess(number=4)
    assert toys.own_card(decision_request(), plus=1) == Guess(number=3)


def test_settings_are_validated_and_converted() -> None:
    assert toys.own_card.with_settings(plus=0)(decision_request()) == Guess(number=2)
    assert toys.own_card.with_settings(plus="3")(decision_request()) == Guess(number=5)
    assert toys.own_card.with_settings()(decision_request()) == Guess(number=4)
    with pytest.raises(WrongValue, match="less than or equal to 4"):
        toys.own_card.with_settings(plus=5)
    with pytest.raises(WrongValue, match=r'unknown key "pluss" \(did you mean "plus"\?\)'):
        toys.own_card.with_settings(pluss=1)


def untyped(request: ct.DecisionRequest, *, share=0.5) -> ct.Action:  # type: ignore[no-untyped-def]  # noqa: ANN001 - under test
    return Guess(number=1)


def without_default(request: ct.DecisionRequest, *, share: float) -> ct.Action:
    return Guess(number=1)


def test_setting_requires_type_and_default() -> None:
    cases: list[tuple[Any, str]] = [(untyped, "type"), (without_default, "default")]
    for function, lacks in cases:
        message = (
            f'"{function.__name__}": its setting "share" has no {lacks}; write share: TYPE = DEFA'
        )
        with pytest.raises(RulesError, match=message):
            ct.strategy("left")(function)


RULES = """
from tests.toys import Guessing as Base


class Guessing(Base):
    pass
"""
METRICS = """
from cheaptalk.rules import Metric, Series
from tests.toys import HITS, hits

METRICS = (HITS, Metric("twice", hits))
SERIES = (Series("by round", lambda result: []),)
CHECKS = {"honesty": dict}
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
    game_spec = ct.GameSpec.of(package.name)
    assert (game_spec.name, game_spec.rules.__module__) == ("guessing", "folder_of_a_game.rules")
    assert list(game_spec.strategies) == ["own_card", "random"]
    assert list(game_spec.metrics) == ["hits", "twice"]
    assert (list(game_spec.series), list(game_spec.checks)) == (["by round"], ["honesty"])
    assert list(game_spec.styles.items()) == [
        ("long", ct.rules.StyleFile("long.jinja")),
        ("short", ct.rules.StyleFile("short.jinja")),
    ]
    assert game_spec.words == package / "styles"


def test_styles_can_be_ordered_and_given_codecs(package: Path) -> None:
    game_spec = ct.GameSpec.of(package.name, styles=["short", "long"], codecs={"long": "tagged"})
    assert list(game_spec.styles.items()) == [
        ("short", ct.rules.StyleFile("short.jinja")),
        ("long", ct.rules.StyleFile("long.jinja", codec="tagged")),
    ]
    assert list(ct.GameSpec.of(package.name, styles=["short"]).styles) == ["short"]
    with pytest.raises(ValueError, match="unknown style lonng"):
        ct.GameSpec.of(package.name, codecs={"lonng": "tagged"})


BARE = "from cheaptalk.rules import Game\n\n\nclass Bare(Game):\n    name = 'bare'\n"


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("rules.py", "", "must contain one game, not 0"),
        ("rules.py", RULES + "class More(Base): pass", "must contain one game, not 2"),
        ("rules.py", f"{RULES}    loud: bool\n", '"loud" has no default; write NAME: TYPE = DEF'),
        ("rules.py", BARE, "Bare does not declare roles, events, actions, outcome_type"),
        (
            "metrics.py",
            METRICS + 'METRICS += (Metric("hits", hits),)\n',
            'two metric entries are named "hits"',
        ),
    ],
)
def test_invalid_package_raises_error(package: Path, file: str, text: str, message: str) -> None:
    (package / file).write_text(text)
    with pytest.raises((RulesError, TypeError), match=message):
        ct.GameSpec.of(package.name)


def test_metric_has_published_variant() -> None:
    def doubled_hits(result: ct.Result) -> float:
        return 2 * toys.hits(result)

    both = ct.Metric("hits", toys.hits, published=doubled_hits)
    assert both.variant(as_published=False)(RESULT) == 3
    assert both.variant(as_published=True)(RESULT) == 6
    assert ct.Metric("hits", toys.hits).variant(as_published=True)(RESULT) == 3
    assert both.meaning == "Right guesses of both seats together."
    assert ct.Metric("none", lambda result: None).meaning == ""
