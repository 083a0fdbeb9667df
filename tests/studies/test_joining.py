"""Rosters and shared settings join a study as if they were written in it."""

from typing import Any

import pytest

import cheaptalk as ct
from tests.fakes import Canned, essence, spec, study


def written(**changes: Any) -> dict[str, Any]:
    return {label: one.written() for label, one in study(pairing="all", **changes).players.items()}


def test_a_roster_s_players_stand_among_the_listed_ones() -> None:
    players = written(roster="glee:gpt-4o,o3-mini")
    assert list(players) == ["fair", "firm", "gpt-4o", "o3-mini"]
    assert players["gpt-4o"]["tries"] == 7


def test_a_study_may_live_of_rosters_alone() -> None:
    data = spec(pairing="self", roster=["self-play", "chip-trading:gemini"])
    del data["players"]
    found = ct.studies.parse_study(data, "x")
    assert list(found.players) == ["gpt-3.5", "gpt-4", "gemini"]


def test_a_listed_player_goes_before_one_of_a_roster() -> None:
    players = written(players={"gpt-4o": {"model": "vllm/mine"}}, roster="glee:gpt-4o,gpt-4o-mini")
    assert players["gpt-4o"]["model"] == "vllm/mine"
    assert players["gpt-4o-mini"]["model"] == "openai/gpt-4o-mini"


def test_models_share_settings_that_they_do_not_set() -> None:
    players = {
        "a": {"model": "vllm/x"},
        "b": {"model": "vllm/y", "tries": 2},
        "fair": {"strategy": "equal_split"},
    }
    found = written(players=players, models={"tries": 5, "persona": "selfish"})
    assert (found["a"]["tries"], found["b"]["tries"]) == (5, 2)
    assert found["a"]["persona"] == found["b"]["persona"] == "selfish"
    assert found["fair"] == {"strategy": "equal_split"}


def test_a_stored_study_is_complete_and_reads_as_the_same() -> None:
    first = study(pairing="all", roster="glee:gpt-4o", models={"deadline": 9})
    stored = first.written()
    assert "roster" not in stored
    again = ct.studies.parse_study(stored, "stored")
    assert again.written() == stored
    assert [match.id for match in ct.plan(again).matches] == [
        match.id for match in ct.plan(first).matches
    ]


CLAUDE = {"model": "anthropic/claude-opus-4-1"}


@pytest.mark.parametrize(
    ("models", "own", "saying"),
    [
        (
            {"tries": 3, "seed": 7},
            {},
            "models.seed: anthropic/claude-opus-4-1 does not support seed",
        ),
        ({"tries": 3}, {"seed": 7}, "players.c: anthropic/claude-opus-4-1 does not support seed"),
        ({"tries": 0}, {}, "models.tries: should be "),
        ({"tries": 3}, {"tries": 0}, "players.c.tries: should be "),
        (
            {"tries": 0},
            {"tries": 1, "seed": 7},
            "players.c: anthropic/claude-opus-4-1 does not support",
        ),
        ({"temperature": 1}, {"reasoning": "high"}, "models.temperature: anthropic/claude-opus"),
        ({"style": "odd"}, {}, 'models: unknown style of bargaining "odd"'),
        ({"style": "odd"}, {"style": "old"}, 'players.c: unknown style of bargaining "old"'),
    ],
)
def test_blame_falls_where_a_setting_stands(
    models: dict[str, Any], own: dict[str, Any], saying: str
) -> None:
    with pytest.raises(ct.StudyError) as caught:
        ct.plan(study(players={"c": CLAUDE | own}, models=models, pairing="self"))
    assert str(caught.value).removeprefix("small.yaml: ").startswith(saying)


@pytest.mark.parametrize(
    ("changes", "saying"),
    [
        ({"roster": "gle"}, 'roster: unknown roster "gle" (did you mean "glee"?)'),
        ({"roster": "glee:gpt"}, 'roster: glee: unknown player "gpt"'),
        ({"roster": ["glee", "glee:gpt-4o"]}, '"gpt-4o" is in two rosters'),
        ({"roster": 5}, "roster: 5 is not a roster; write a name"),
        ({"roster": [5]}, "roster: [5] is not a roster"),
        ({"roster": "no.yaml"}, "roster: no.yaml: file not found"),
        ({"rosters": "glee"}, 'unknown key "rosters" (did you mean "roster"?)'),
        ({"models": [1]}, "models: [1] is not a mapping of settings"),
        ({"models": {"temprature": 1}}, 'models: unknown key "temprature"'),
        ({"models": {"model": "vllm/x"}}, 'models: unknown key "model"'),
        ({"models": {"tries": 0}, "players": {"a": {"model": "vllm/x"}}}, "models.tries: should"),
    ],
)
def test_what_cannot_join_is_refused_in_one_sentence(changes: dict[str, Any], saying: str) -> None:
    with pytest.raises(ct.StudyError) as caught:
        study(**changes)
    assert saying in str(caught.value)
    assert str(caught.value).startswith("small.yaml: ")


MANY_CALLS = {
    "horizon": 6, "model": "script/legal", "history": "summary",
    "refine": {"candidates": 2, "apart": True},
}  # fmt: skip


def thoughtful(**changes: Any) -> ct.Study:
    model = {key: value for key, value in MANY_CALLS.items() if key != "horizon"}
    return study(
        games=[{"game": "bargaining", "fixed": {"horizon": 6}}],
        players={"deep": model, "chance": {"strategy": "random"}},
        pairing=[["deep", "chance"], ["chance", "deep"]],
        instances=6,
        **changes,
    )


def test_summaries_and_candidates_survive_being_stopped_anywhere(tmp_path: Any) -> None:
    with ct.Store.open(tmp_path / "whole.sqlite", create=True) as store:
        ct.run(thoughtful(), store)
        whole = {one.id: essence(one) for one in store.records("small", bodies=True)}
    answers = [given for one in whole.values() for given in one["answers"]]
    calls = sum(len(given.get("calls", ())) for given in answers)
    with ct.Store.open(tmp_path / "stopped.sqlite", create=True) as store:
        for budget in range(7, calls, 7):
            stopped = ct.run(thoughtful(budget={"calls": budget}), store, concurrency=1)
            assert stopped.halted is not None
        ct.run(thoughtful(), store)
        again = {one.id: essence(one) for one in store.records("small", bodies=True)}
    assert again == whole
    assert len(whole) == 12
    assert calls > 40


def test_a_summary_that_cannot_be_had_forfeits_and_says_so(tmp_path: Any) -> None:
    def silent(call: Any, number: str) -> str:
        return "" if call.form is None else call.form.example or "?"

    with ct.Store.open(tmp_path / "s.sqlite", create=True) as store:
        ct.run(thoughtful(models={"tries": 2}), store, models=Canned(silent))
        kinds = {
            given["kind"] for one in store.records("small", bodies=True)
            for given in one.as_json()["answers"]
        }  # fmt: skip
    assert "unparsable" in kinds
