"""Rubrics: built-in ones are valid, and errors in others are reported."""

from pathlib import Path
from typing import Any

import pytest
import yaml

import cheaptalk as ct
from cheaptalk.judges import find_rubric, load_rubric, rubric_names

GOOD: dict[str, Any] = {
    "name": "tone",
    "item": "move",
    "question": "Is it rude?",
    "categories": {"polite": "no offence", "rude": "an insult"},
}

FALLING = {"low": 3, "high": 1, "low_means": "a", "high_means": "b"}


def test_built_in_rubrics_and_checks_agree() -> None:
    for name in rubric_names():
        rubric = find_rubric(name)
        assert rubric.name == name
        assert rubric.games
        assert set(rubric.finds) < set(rubric.labels)
        assert rubric.examples
        assert rubric.description

    for game_spec in ct.rules.games().values():
        assert set(game_spec.checks) <= set(rubric_names())
        for name in game_spec.checks:
            assert find_rubric(name).fits(game_spec.name)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"item": "word"}, "item: should be 'move', 'seat', 'match' or 'answer'"),
        ({"categories": None}, "give either categories or a scale"),
        ({"categories": {"one": "alone"}}, "categories: give two or more"),
        ({"found": ["rud"]}, 'found: no category "rud" (did you mean "rude"?)'),
        ({"games": ["bargain"]}, 'games: unknown game "bargain" (did you mean "bargaining"?)'),
        ({"games": ["bargaining"], "actions": ["Offr"]}, '"Offr" (did you mean "Offer"?)'),
        ({"actions": ["foo"]}, 'actions: no action of any game is named "foo" (known: Bid, '),
        ({"item": "seat", "actions": ["Offer"]}, "actions: only allowed with item: move"),
        ({"item": "seat", "answers": ["age"]}, "answers: only allowed with item: answer"),
        ({"examples": [{"seen": "x", "category": "odd", "reason": "y"}]}, 'no category "odd"'),
        ({"name": "no name"}, "name: should match pattern"),
        ({"qestion": "?"}, 'unknown key "qestion" (did you mean "question"?)'),
        ({"categories": None, "scale": FALLING}, "scale: high must be above low"),
    ],
)
def test_invalid_rubric_raises_error(
    tmp_path: Path, changes: dict[str, Any], expected: str
) -> None:
    file = tmp_path / "tone.yaml"
    file.write_text(yaml.safe_dump(GOOD | changes))
    with pytest.raises(ct.CheaptalkError) as error:
        load_rubric(file)
    assert str(error.value).startswith(f"{file}: ")
    assert expected in str(error.value)


def test_rubric_files_are_validated(tmp_path: Path) -> None:
    rubric = ct.judges.Rubric.model_validate(GOOD | {"games": ["gone"], "actions": ["Leave"]})
    with pytest.raises(ct.CheaptalkError, match='games: unknown game "gone"'):
        ct.judges.judge_of(rubric, "vllm/x")

    file = tmp_path / "list.yaml"
    file.write_text("[1, 2]")
    with pytest.raises(ct.CheaptalkError, match="expected a mapping with a name"):
        find_rubric(str(file))
    with pytest.raises(ct.CheaptalkError, match="file not found"):
        find_rubric(str(tmp_path / "none.yaml"))
    with pytest.raises(ct.CheaptalkError, match='did you mean "honesty"'):
        find_rubric("honest")

    scale = {"low": 1, "high": 3, "low_means": "cold", "high_means": "warm"}
    rubric = ct.judges.Rubric.model_validate(GOOD | {"categories": None, "scale": scale})
    assert rubric.labels == ["1", "2", "3"]
    judge = ct.judges.judge_of(rubric, "vllm/x")
    assert judge.answer.model_validate({"reason": "So.", "score": 3})
    with pytest.raises(ValueError, match="less than or equal to 3"):
        judge.answer.model_validate({"reason": "So.", "score": 4})


def test_invalid_judge_model_raises_error() -> None:
    for model, expected in [
        ("gpt-4o", "is not a model string"),
        ({"temperature": 1}, "a judge needs a model"),
        ({"model": "vllm/x", "persona": "selfish"}, 'no setting "persona"'),
        ({"model": "vllm/x", "temperature": 9}, "temperature: should be less than or equal to 2"),
    ]:
        with pytest.raises(ct.CheaptalkError) as error:
            ct.judges.judge_of("honesty", model)
        assert expected in str(error.value)
