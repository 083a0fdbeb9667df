"""Study files: errors are one line with the file, the key and the fix."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

import cheaptalk as ct
from tests.fakes import spec, study

GAME = {"game": "bargaining"}
DAY = date(2026, 1, 1)
TWICE = '"money" is set more than once in fixed, cases and grid'
NO_PAIRINGS: list[Any] = [(None, "null"), ([], "[]"), (["fair", "firm"], '["fair", "firm"]')]


def game(**fixed: Any) -> dict[str, Any]:
    """Changes to the study's only game."""
    return {"games": [GAME | fixed]}


def without(*keys: str) -> dict[str, Any]:
    return {key: value for key, value in spec().items() if key not in keys}


INVALID: list[tuple[dict[str, Any], str]] = [
    (spec(repeat=2), 'unknown key "repeat" (did you mean "repeats"?)'),
    (spec(zzz=2), 'unknown key "zzz" (known: name, description, seed, games, '),
    (without("name"), "name is missing"),
    (without("players"), "players is missing"),
    (without("games"), "a study requires either games or instances_from"),
    (spec(instances_from="other"), "a study requires either games or instances_from"),
    (
        without("games") | {"instances_from": "small"},
        'instances_from: "small" is this study; change its name or instances_from',
    ),
    (spec(name="a b"), 'name: "a b" is not a valid name; use up to 80 letters, digits, dots'),
    *((spec(name=text), f'name: "{text}" is not a valid') for text in ("", "..", "x" * 81, "--a")),
    (spec(name="x" * 999), f'name: "{"x" * 99}... is not a valid name; '),
    (spec(name="a\nb"), r'name: "a\nb" is not a valid name; '),
    *((spec(name=value), f"name: {value} is not text in YAML; put") for value in (2024, DAY)),
    (spec(instances=True), "instances: true is not a number; write it in digits"),
    (spec(budget={"dollars": True}), "budget.dollars: true is not a number; write it in digits"),
    (
        spec(**game(fixed={"discounts": [True, 0.9]})),
        "games.0.bargaining.discounts: [true, 0.9] is not a number; write it in digits",
    ),
    (
        spec(**game(grid={name: list(range(200)) for name in ("a", "b", "c", "d")})),
        "games.0: the grid has 1,600,000,000 configurations, more than 100,000; remove values",
    ),
    (spec(players={"a\x1b[1m": {"strategy": "random"}}), r'players: "a\u001b[1m" is not a label; '),
    (spec(players={"x" * 201: {"strategy": "random"}}), f'players: "{"x" * 99}... is not a label'),
    (spec(seed="one"), 'seed: should be a whole number, not "one"'),
    (spec(instances=0), "instances: should be greater than or equal to 1, not 0"),
    (spec(repeats=None), "repeats: should be a whole number, not null"),
    (spec(swap="perhaps"), 'swap: should be true or false, not "perhaps"'),
    (spec(budget=100), "budget: should be a mapping, not 100"),
    (spec(budget={"cals": 1}), 'budget: unknown key "cals" (did you mean "calls"?)'),
    (spec(budget={"tokens": 0}), "budget.tokens: should be greater than or equal to 1, not 0"),
    (spec(games="bargaining"), 'games: should be a list, not "bargaining"'),
    (spec(games=["barganing"]), 'games.0: unknown game "barganing" (did you mean "bargaining"?'),
    (spec(games=[{"fixed": {}}]), "games.0.game is missing"),
    (
        spec(games=[GAME, {"game": "bargainin"}]),
        'games.1: unknown game "bargainin" (did you mean "bargaining"?)',
    ),
    (spec(**game(gird={})), 'games.0: unknown key "gird" (did you mean "grid"?)'),
    (spec(**game(fixed=[1])), "games.0.fixed: should be a mapping, not [1]"),
    (spec(**game(fixed={"mony": 5})), 'games.0.bargaining: unknown key "mony" (did you mean "mon'),
    (
        spec(**game(fixed={"money": -5})),
        "games.0.bargaining.money: should be greater than 0, not -5",
    ),
    (
        spec(**game(fixed={"discounts": [0.9, 1.2]})),
        "games.0.bargaining.discounts.1: should be less than or equal to 1, not 1.2",
    ),
    (spec(**game(fixed={"discounts": [0.9]})), "games.0.bargaining.discounts.1 is missing"),
    (
        spec(**game(fixed={"horizon": {"rounds": 3, "hiden": True}})),
        'games.0.bargaining.horizon: unknown key "hiden" (did you mean "hidden"?)',
    ),
    (
        spec(**game(fixed={"horizon": "long"})),
        "games.0.bargaining.horizon: write rounds, or {rounds: N, hidden: true}, not ",
    ),
    (
        spec(**game(fixed={"names": {"carol": "Ann"}})),
        'games.0.bargaining.names: unknown seat "carol"; the seats are alice, bob',
    ),
    (spec(**game(grid={"money": 5})), "games.0.grid.money: should be a list, not 5"),
    (spec(**game(grid={"money": []})), "games.0.grid.money: should have at least 1 item, not []"),
    (
        spec(**game(grid={"horizon": [12, 0]})),
        "games.0.bargaining.horizon.rounds: should be greater than or equal to 1, not 0",
    ),
    (spec(**game(cases=[])), "games.0.cases: should have at least 1 item, not []"),
    (spec(**game(fixed={"money": 1}, grid={"money": [2]})), f"games.0: {TWICE}"),
    (spec(**game(cases=[{"money": 1}], fixed={"money": 2})), f"games.0: {TWICE}"),
    (spec(**game(instances=0)), "games.0.instances: should be greater than or equal to 1, not 0"),
    (
        spec(**game(pairing="al")),
        'games.0.pairing: "al" is not a pairing; write all, self, lists of',
    ),
    (spec(players={}), "players: write each player as LABEL: {strategy: NAME} or another entry"),
    (spec(players={"": {"strategy": "linear"}}), "players: a player has no name; write LABEL: be"),
    (spec(players={True: {"strategy": "linear"}}), "players: YAML reads a label as true; put it i"),
    (spec(players={None: {"strategy": "linear"}}), "players: YAML reads a label as null; put it "),
    (
        spec(players={"a": {"model": "vllm/x", "answers": "json"}}),
        "players.a.answers: should be 'auto', 'schema', 'tool' or 'text', not \"json\"",
    ),
    (
        spec(players={"a": {"model": "vllm/x", "reasoning": "extreme"}}),
        "players.a.reasoning: should be 'none', 'minimal', 'low', 'medium' or 'high', or a whole n",
    ),
    (spec(players=[{"strategy": "linear"}]), "players: write each player as LABEL: "),
    (spec(players={"a": ["linear"]}), 'players.a: ["linear"] is not a player; write a strategy'),
    (spec(players={"a": {"stratgy": "linear"}}), 'players.a: unknown key "stratgy" (did you mean'),
    (spec(players={"a": {"model": 5}}), "players.a.model: should be text, not 5"),
    (
        spec(players={"a": {"model": "vllm/x", "temperature": 9}}),
        "players.a.temperature: should be less than or equal to 2, not 9",
    ),
    (spec(players={"a": {"model": "opnai/x"}}), 'players.a.model: unknown provider "opnai" (did'),
    (spec(players={"a": {"person": "tv"}}), "players.a.person: should be browser or terminal"),
    (spec(pairing="everyone"), 'pairing: "everyone" is not a pairing; write all, self, lists of'),
    *((spec(pairing=value), f"pairing: {text} is not a pairing") for value, text in NO_PAIRINGS),
    (spec(pairing=[{"fair": 0}]), "pairing: 0 is not a number of seats for fair; write a positive"),
    (spec(pairing=[{"fair": True}]), "pairing: true is not a number of seats for fair"),
    (spec(pairing=[{"fair": 1.0}]), "pairing: 1.0 is not a number of seats for fair"),
    (spec(pairing={"smple": 3}), 'pairing: unknown key "smple" (did you mean "sample"?)'),
    (spec(pairing={"sample": 0}), "pairing.sample: should be greater than or equal to 1, not 0"),
    (
        spec(pairing="all", swap=True),
        "swap: requires listed pairs, such as [[A, B]]; other pairings include both orders",
    ),
]


def test_invalid_study_error_names_key_and_fix(tmp_path: Path) -> None:
    for data, message in INVALID:
        path = tmp_path / "wrong.yaml"
        path.write_text(yaml.safe_dump(data))
        with pytest.raises(ct.studies.StudyError) as caught:
            ct.load_study(path)
        error = str(caught.value)
        assert error.startswith(f"{path}: {message}")
        assert "\n" not in error
        with pytest.raises(ct.studies.StudyError) as model_error:
            ct.Study.model_validate(data)
        assert error == f"{path}: {model_error.value}"


def test_invalid_file_raises_error_with_line(tmp_path: Path) -> None:
    for text, message in [
        ("", "a study file must be a mapping with a name, games and players"),
        ("- name", "a study file must be a mapping"),
        ("name: [a", "line 1, column 9: a bracket or quote is not closed"),
        ("name: a\n\tseed: 1", "line 2, column 1: found a tab; indent with spaces"),
        ("name: a\n---\nname: b", "line 2, column 1: found a second document; write one per"),
        ("name: a: b", "line 1, column 8: unexpected colon; indent consistently, or put"),
        ("name: a\nseed: 1\nname: b", 'line 3, column 1: duplicate key "name"'),
        ("players: {a: {strategy: x}, a: {strategy: y}}", 'duplicate key "a"'),
        ("name: !!python/object:os.system x", "as YAML: line 1, column 7: could not determine"),
    ]:
        path = tmp_path / "wrong.yaml"
        path.write_text(text)
        with pytest.raises(ct.studies.StudyError, match=re.escape(message)) as caught:
            ct.load_study(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)


def test_unreadable_file_raises_error(tmp_path: Path) -> None:
    with pytest.raises(ct.studies.StudyError, match=r"nowhere\.yaml: file not found"):
        ct.load_study(tmp_path / "nowhere.yaml")
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ct.studies.StudyError, match=r"binary\.yaml: not text in UTF-8; save it as"):
        ct.load_study(binary)


def test_labels_can_be_numbers() -> None:
    made = study(players={1: {"strategy": "equal_split"}}, pairing=[[1, 1]])
    assert list(made.players) == ["1"]
    assert made.pairing == [["1", "1"]]


def test_game_can_be_written_as_its_name() -> None:
    study = ct.Study(name="s", games=["bargaining"], players={"late": "boulware"})
    assert study.games[0].game == "bargaining"
    assert study == ct.Study(name="s", games=[{"game": "bargaining"}], players={"late": "boulware"})


def test_grid_combines_cases_and_values_in_order() -> None:
    cases = [{"money": 1}, {"money": 2, "complete_information": False}]
    values = {"horizon": [1, 2], "reminders": [True, False]}
    changes = game(fixed={"messages": False}, cases=cases, grid=values)
    grid = study(**changes).games[0]
    made = [game.model_dump(exclude_defaults=True) for game in grid.configurations()]
    assert len(made) == 8
    assert all(config["messages"] is False for config in made)
    assert [config["money"] for config in made] == [1] * 4 + [2] * 4
    assert [config["horizon"]["rounds"] for config in made] == [1, 1, 2, 2] * 2
    assert [config.get("reminders", True) for config in made] == [True, False] * 4


def test_similar_models_come_before_a_list_of_strategies() -> None:
    for name, advice in (
        ("smolm2", 'did you mean the model "smollm2"?'),
        ("lm", "for a policy write {policy: lm}; strategies: boulware, "),
    ):
        with pytest.raises(ct.studies.StudyError) as caught:
            ct.Study(name="x", games=[GAME], players={"a": {"strategy": name}})
        assert str(caught.value).startswith(f'players.a: unknown strategy "{name}"; {advice}')


def test_unknown_strategy_error_is_the_same_in_python_and_yaml() -> None:
    players: dict[str, Any] = {"a": {"strategy": "liner"}}
    message = 'players.a: unknown strategy "liner" (did you mean "linear"?)'
    with pytest.raises(ct.studies.StudyError, match=re.escape(message)):
        ct.Study(name="x", games=[GAME], players=players)
    with pytest.raises(ct.studies.StudyError, match=re.escape(f"x.yaml: {message}")):
        ct.studies.parse_study({"name": "x", "games": [GAME], "players": players}, "x.yaml")
