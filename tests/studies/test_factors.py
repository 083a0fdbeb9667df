"""Factors of players: crossing in study files and in Python, and their columns in frames."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import cheaptalk as ct
from tests.conftest import Command
from tests.fakes import spec

CROSSED = """
seller:
  strategy: fixed_demand
  cross:
    share: [0.5, 0.7]
    label: {plain: {}, fancy: {}}
firm: linear
"""


def crossed(**changes: Any) -> ct.Study:
    """Return a study of a crossed player against a plain one."""
    written = {"players": yaml.safe_load(CROSSED), "pairing": [["seller", "firm"]]} | changes
    return ct.studies.parse_study(spec(**written), "x")


def test_cross_creates_a_player_per_combination_of_levels() -> None:
    study = crossed()
    cells = ["seller/0.5/plain", "seller/0.5/fancy", "seller/0.7/plain", "seller/0.7/fancy"]
    assert list(study.players) == [*cells, "firm"]
    assert study.factors["seller/0.7/fancy"] == {"share": "0.7", "label": "fancy"}
    assert study.players["seller/0.7/plain"].form.written()["share"] == 0.7
    assert study.pairing == [[cell, "firm"] for cell in cells]
    assert ct.studies.parse_study(study.written(), "x") == study
    assert "factors" not in ct.studies.parse_study(spec(), "x").written()


def test_crossed_models_have_readable_labels_and_named_levels() -> None:
    cross = {
        "model": ["openai/gpt-4o", "openai/gpt-4o-mini"],
        "framing": {"gain": {"persona": "You sell.", "temperature": 0}, "none": {}},
    }
    study = ct.Study(name="x", games=[{"game": "bargaining"}], players={"m": {"cross": cross}})
    assert list(study.players) == [
        "m/gpt-4o/gain",
        "m/gpt-4o/none",
        "m/gpt-4o-mini/gain",
        "m/gpt-4o-mini/none",
    ]
    assert study.players["m/gpt-4o/gain"].form.written()["persona"] == "You sell."


def test_malformed_cross_raises_one_line_error() -> None:
    for cross, message in [
        ([1], "players.a.cross: [1] is not a mapping from factors to levels; write, for"),
        ({"share": 0.5}, "players.a.cross.share: 0.5 is not a list of at least two levels; write"),
        ({"share": [0.5]}, "players.a.cross.share: [0.5] is not a list of at least two levels"),
        ({"share": [0.5, 0.5]}, "players.a.cross.share: a level is listed twice; remove one"),
        ({"share": [[1], [2]]}, "players.a.cross.share: name the level [1]: write {LEVEL: {share"),
        ({"x y": [1, 2]}, 'players.a.cross: "x y" is not a valid name of a factor; use up to 40'),
        ({"x": {"a": 1, "b": 2}}, "players.a.cross.x.a: 1 is not a mapping of settings; write"),
        (
            {"strategy": ["linear", "conceder"]},
            'players.a.cross.strategy: "strategy" is also set by the entry itself; set one',
        ),
        (
            {"share": [0.5, 0.6], "x": {"a": {"share": 1}, "b": {}}},
            'players.a.cross.x: "share" is also set by the factor share; set one',
        ),
        ({"x": [*range(40)], "y": [*range(40)]}, "players.a.cross: 1,600 players exceed"),
    ]:
        players = {"a": {"strategy": "fixed_demand", "cross": cross}}
        with pytest.raises(ct.studies.StudyError, match=re.escape(message)) as caught:
            ct.studies.parse_study(spec(players=players, pairing="all"), "x")
        assert "\n" not in str(caught.value)


def test_levels_outside_cross_raise_error_with_correct_form() -> None:
    for players, message in [
        (
            {"model": ["a/b", "a/c"], "framing": ["x", "y"]},
            "; to cross factors, write LABEL: {cross: {model: [a/b, a/c], framing: [x, y]}}",
        ),
        (
            {"seller": {"model": ["a/b", "a/c"]}},
            "; to create a player for each value, write seller: {cross: {model: [a/b, a/c]}}",
        ),
        (
            {"seller": {"strategy": "boulware", "power": [2, 8]}},
            "; to create a player for each value, write seller: {cross: {power: [2, 8]}}",
        ),
        (
            {"seller": {"strategy": "boulware", "cros": {"power": [2, 8]}}},
            "; list factors under cross",
        ),
        (
            {"seller": {"model": "a/b", "cross": {"framing": ["x", "y"]}}},
            "each level: framing: {x: {SETTING: VALUE}, y: {SETTING: VALUE}}",
        ),
    ]:
        with pytest.raises(ct.studies.StudyError) as caught:
            ct.plan(ct.studies.parse_study(spec(players=players, pairing="all"), "x"))
        assert str(caught.value).endswith(message)


PLAYABLE = {"strategy": "boulware", "cross": {"power": [4, 8], "start": [0.6, 0.8]}}
CROSSING = "seller crosses power (4, 8) x start (0.6, 0.8): 4 players"


def test_plan_lists_factors_and_levels_of_crossed_entries(
    cheaptalk: Command, tmp_path: Path
) -> None:
    study = crossed(players={"seller": PLAYABLE, "firm": "linear"})
    planned = ct.plan(study)
    assert planned.crossings == [CROSSING]
    assert CROSSING in planned._repr_html_()
    (tmp_path / "x.yaml").write_text(yaml.safe_dump(study.written()))
    assert CROSSING in cheaptalk("plan x.yaml").out
    data = cheaptalk("plan x.yaml --json").json
    assert data["factors"]["seller/4/0.6"] == {"power": "4", "start": "0.6"}
    added = "rival={strategy: boulware, cross: {power: [5, 6]}}"
    refused = cheaptalk("plan x.yaml", "--player", added)
    assert (refused.status, "no pairing includes" in refused.err) == (2, True)


def test_invalid_factors_raise_error() -> None:
    contradiction = {"seller/0.5/plain": {"share": "9"}}
    for factors, message in [
        (contradiction, r"factors\.seller/0\.5/plain: cross already sets the levels"),
        (3, "factors: should be a mapping"),
        ({"b": {"x": "y"}}, 'factors: "b" is not a player of this study'),
    ]:
        with pytest.raises(ct.studies.StudyError, match=message):
            crossed(factors=factors)


def test_frames_have_a_column_for_each_factor_of_a_seat(tmp_path: Path) -> None:
    seller = {"strategy": "fixed_demand", "cross": {"share": [0.5, 0.7]}}
    study = crossed(players={"seller": seller, "firm": "linear"})
    ct.run(study, tmp_path / "s.sqlite")
    (frame,) = ct.frames.read_matches(tmp_path / "s.sqlite", study.name).values()
    assert [name for name in frame.columns if name.startswith("factor_")] == ["factor_alice_share"]
    rows = frame.select("player_alice", "factor_alice_share").unique().rows()
    assert set(rows) == {("seller/0.5", "0.5"), ("seller/0.7", "0.7")}
