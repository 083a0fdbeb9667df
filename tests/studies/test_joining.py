"""Rosters and shared settings are merged into a study."""

from typing import Any

import pytest

import cheaptalk as ct
from tests.fakes import Canned, essence, spec, study


def entries_of(**changes: Any) -> dict[str, Any]:
    players = study(pairing="all", **changes).players
    return {label: player.written() for label, player in players.items()}


def test_roster_players_join_listed_players_which_have_precedence() -> None:
    players = entries_of(roster="glee:gpt-4o,o3-mini")
    assert list(players) == ["fair", "firm", "gpt-4o", "o3-mini"]
    assert players["gpt-4o"]["tries"] == 7

    data = spec(pairing="self", roster=["self-play", "chip-trading:gemini"])
    del data["players"]
    parsed = ct.studies.parse_study(data, "x")
    assert list(parsed.players) == ["gpt-3.5", "gpt-4", "gemini"], "there are only rosters"
    listed = {"gpt-4o": {"model": "vllm/mine"}}
    players = entries_of(players=listed, roster="glee:gpt-4o,gpt-4o-mini")
    assert players["gpt-4o"]["model"] == "vllm/mine"
    assert players["gpt-4o-mini"]["model"] == "openai/gpt-4o-mini"


def test_shared_settings_are_defaults_of_models() -> None:
    players = {
        "a": {"model": "vllm/x"},
        "b": {"model": "vllm/y", "tries": 2},
        "fair": {"strategy": "equal_split"},
    }
    entries = entries_of(players=players, models={"tries": 5, "persona": "selfish"})
    assert (entries["a"]["tries"], entries["b"]["tries"]) == (5, 2)
    assert entries["a"]["persona"] == entries["b"]["persona"] == "selfish"
    assert entries["fair"] == {"strategy": "equal_split"}


def test_stored_study_is_complete_and_round_trips() -> None:
    first = study(pairing="all", roster="glee:gpt-4o", models={"deadline": 9})
    stored = first.written()
    assert "roster" not in stored
    again = ct.studies.parse_study(stored, "stored")
    assert again.written() == stored
    assert [*ct.plan(again).matches.ids()] == [*ct.plan(first).matches.ids()]


CLAUDE = "anthropic/claude-opus-4-1"


def test_error_path_points_at_the_invalid_setting() -> None:
    cases: list[Any] = [
        ({"tries": 3, "seed": 7}, {}, f"models.seed: {CLAUDE} does not support seed"),
        ({"tries": 3}, {"seed": 7}, f"players.c: {CLAUDE} does not support seed"),
        ({"tries": 0}, {}, "models.tries: should be "),
        ({"tries": 3}, {"tries": 0}, "players.c.tries: should be "),
        ({"tries": 0}, {"tries": 1, "seed": 7}, f"players.c: {CLAUDE} does not support"),
        ({"temperature": 1}, {"reasoning": "high"}, "models.temperature: anthropic/claude-opus"),
        ({"style": "odd"}, {}, 'models: unknown style of bargaining "odd"'),
        ({"style": "odd"}, {"style": "old"}, 'players.c: unknown style of bargaining "old"'),
    ]
    for models, settings, message in cases:
        players = {"c": {"model": CLAUDE} | settings}
        with pytest.raises(ct.studies.StudyError) as caught:
            ct.plan(study(players=players, models=models, pairing="self"))
        assert str(caught.value).removeprefix("small.yaml: ").startswith(message)


def test_invalid_roster_or_models_raise_clear_error() -> None:
    cases: list[Any] = [
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
    ]
    for changes, message in cases:
        with pytest.raises(ct.studies.StudyError) as caught:
            study(**changes)
        assert message in str(caught.value)
        assert str(caught.value).startswith("small.yaml: ")


def study_with_summaries(**changes: Any) -> ct.Study:
    refine = {"candidates": 2, "apart": True}
    model = {"model": "script/legal", "history": "summary", "refine": refine}
    return study(
        games=[{"game": "bargaining", "fixed": {"horizon": 6}}],
        players={"deep": model, "chance": {"strategy": "random"}},
        pairing=[["deep", "chance"], ["chance", "deep"]],
        instances=6,
        **changes,
    )


def test_summaries_and_candidates_survive_repeated_stops(tmp_path: Any) -> None:
    with ct.Store.open(tmp_path / "whole.sqlite", create=True) as store:
        ct.run(study_with_summaries(), store)
        expected = {record.id: essence(record) for record in store.records("small", bodies=True)}
    answers = [answer for record in expected.values() for answer in record["answers"]]
    calls = sum(len(answer.get("calls", ())) for answer in answers)
    with ct.Store.open(tmp_path / "stopped.sqlite", create=True) as store:
        for budget in range(7, calls, 7):
            stopped = ct.run(study_with_summaries(budget={"calls": budget}), store, concurrency=1)
            assert stopped.halted is not None
        ct.run(study_with_summaries(), store)
        resumed = {record.id: essence(record) for record in store.records("small", bodies=True)}
    assert resumed == expected
    assert len(expected) == 12
    assert calls > 40


def test_missing_summary_forfeits_as_unparsable(tmp_path: Any) -> None:
    def silent(call: Any, number: str) -> str:
        return "" if call.form is None else call.form.example or "?"

    with ct.Store.open(tmp_path / "s.sqlite", create=True) as store:
        ct.run(study_with_summaries(models={"tries": 2}), store, models=Canned(silent))
        kinds = {
            answer["kind"]
            for record in store.records("small", bodies=True)
            for answer in record.as_json()["answers"]
        }
    assert "unparsable" in kinds
