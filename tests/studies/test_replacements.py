"""Models of a study can be replaced, and labels name the models that play."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.players import ModelSeat, RosterEntry
from tests.fakes import spec, study

OLD, NEW = "openai/gpt-4o", "openai/gpt-4.1"
URL = "@http://gpu:8000/v1"


def replaced(replace: dict[str, str], **players: Any) -> dict[str, str]:
    """Return the models of a study's players after replacements, by new label."""
    made = study(players={"fair": "equal_split"} | players, pairing="all", replace=replace)
    entries = {label: entry.written() for label, entry in made.players.items()}
    assert entries.pop("fair") == {"strategy": "equal_split"}
    return {label: entry["model"] for label, entry in entries.items()}


@pytest.mark.parametrize("old", [f"vllm/tiny{URL}", "vllm/tiny", "tiny", "mine"])
def test_replaced_model_may_lack_provider_and_url_or_be_a_label(old: str) -> None:
    models = replaced({old: NEW}, mine={"model": f"vllm/tiny{URL}"}, rest={"model": "vllm/tinier"})
    assert models == {"gpt-4.1": NEW, "rest": "vllm/tinier"}


def test_label_counts_only_if_no_model_has_this_name() -> None:
    players = {"gpt-4o": {"model": "vllm/x"}, "a": {"model": OLD}}
    assert replaced({"gpt-4o": NEW}, **players) == {"gpt-4o": "vllm/x", "gpt-4.1": NEW}


def test_models_can_be_exchanged() -> None:
    models = replaced({OLD: "vllm/x", "vllm/x": OLD}, **{"gpt-4o": {"model": OLD}, "x": "vllm/x"})
    assert models == {"x": "vllm/x", "gpt-4o": OLD}


def test_all_other_settings_are_kept() -> None:
    entry = RosterEntry.model_validate({"model": OLD, "temperature": 0.5, "tries": 3})
    made = study(players={"a": entry}, pairing="self", replace={"a": NEW}, models={"max_tokens": 9})
    settings = {"temperature": 0.5, "tries": 3, "max_tokens": 9}
    assert made.players["gpt-4.1"].form == ModelSeat(model=NEW, **settings)


def test_labels_are_renamed_wherever_the_study_uses_them() -> None:
    made = study(
        games=[{"game": "bargaining"}, {"game": "negotiation", "pairing": [["cold", "hot"]]}],
        players={
            "cold": {"model": OLD, "temperature": 0},
            "hot": {"model": OLD, "temperature": 1},
            "gpt-4.1": {"model": "vllm/x"},
            "fair": "equal_split",
        },
        pairing=[["cold", "fair"], {"hot": 1, "gpt-4.1": 1}],
        factors={"cold": {"mood": "calm"}, "fair": {"mood": "none"}},
        replace={OLD: NEW},
    )
    assert [*made.players] == ["gpt-4.1/cold", "gpt-4.1/hot", "gpt-4.1", "fair"]
    assert made.pairing == [["gpt-4.1/cold", "fair"], {"gpt-4.1/hot": 1, "gpt-4.1": 1}]
    assert made.games[1].pairing == [["gpt-4.1/cold", "gpt-4.1/hot"]]
    assert made.factors == {"gpt-4.1/cold": {"mood": "calm"}, "fair": {"mood": "none"}}


def test_crossed_factors_have_the_level_of_the_new_model() -> None:
    levels = {"model": [OLD, "openai/gpt-4o-mini"], "temperature": [0, 1]}
    made = study(
        players={"seller": {"cross": levels}, "fair": "equal_split"},
        pairing=[["seller", "fair"]],
        replace={"gpt-4o": NEW},
    )
    labels = ["seller/gpt-4.1/0", "seller/gpt-4.1/1", "seller/gpt-4o-mini/0"]
    assert [*made.players][:3] == labels
    assert made.factors[labels[0]] == {"model": "gpt-4.1", "temperature": "0"}
    assert ct.plan(made).crossed[0].levels["model"] == ["gpt-4.1", "gpt-4o-mini"]


def test_records_contain_the_model_that_played(tmp_path: Path) -> None:
    data = spec(roster="glee:gpt-4o", pairing=[["gpt-4o", "fair"]], replace={OLD: "script/legal"})
    made = ct.studies.parse_study(data, "small")
    assert "replace" not in made.written()
    store = tmp_path / "s.sqlite"
    ct.run(made, store)
    assert ct.read_matches(store, "small")["bargaining"]["player_alice"].to_list() == ["legal"]
    with ct.Store.open(store) as opened:
        assert OLD not in str([record.as_json() for record in opened.records("small", bodies=True)])
    assert ct.studies.stored_study(store, "small") == made


def test_invalid_replacements_raise_clear_error() -> None:
    models = {"gpt-4o": {"model": OLD}, "tiny": {"model": f"vllm/tiny{URL}", "temperature": 1}}
    cases: list[tuple[Any, str]] = [
        ({"gpt-4": NEW}, '"gpt-4" is neither a model of this study nor the label of a player with'),
        ({"gpt-4": NEW}, "; models of this study: openai/gpt-4o, vllm/tiny"),
        ({"fair": NEW}, '"fair" is neither a model'),
        ({"gpt-4o": "linear"}, 'replace.gpt-4o: "linear" is not a model string'),
        ({"gpt-4o": "opnai/x"}, 'unknown provider "opnai" (did you mean "openai"?)'),
        ({"gpt-4o": 5}, "replace.gpt-4o: 5 is not a model string"),
        ([OLD], 'replace: ["openai/gpt-4o"] is not a mapping of models; write, for example'),
        (
            {"tiny": "openai/o3"},
            "replace: tiny: openai/o3 does not support temperature: remove it; ",
        ),
        ({"gpt-4o": NEW, OLD: NEW}, "both replace the model of gpt-4o; remove one"),
    ]
    for replace, message in cases:
        with pytest.raises(ct.studies.StudyError) as caught:
            study(players=models | {"fair": "equal_split"}, replace=replace)
        assert message in str(caught.value)


def test_equal_players_become_one() -> None:
    made = study(
        games=[{"game": "public_goods", "fixed": {"players": 3}}],
        players={
            "a": {"model": OLD},
            "b": {"model": "vllm/x"},
            "warm": {"model": OLD, "temperature": 1},
            "new": {"model": NEW},
            "other": "free_rider",
        },
        pairing=[{"a": 1, "b": 1, "other": 1}, {"a": 2, "warm": 1}],
        replace={OLD: NEW, "b": NEW},
    )
    assert [*made.players] == ["gpt-4.1", "new", "other"]
    assert made.players["gpt-4.1"].written()["temperature"] == 1
    assert made.pairing == [{"new": 2, "other": 1}, {"new": 2, "gpt-4.1": 1}]


def test_players_with_other_factor_levels_stay_apart() -> None:
    players = {"a": {"model": OLD}, "b": {"model": "vllm/x"}, "fair": "equal_split"}
    levels = {"a": {"lab": "one"}, "b": {"lab": "two"}}
    made = study(players=players, factors=levels, replace={OLD: NEW, "b": NEW})
    assert [*made.players] == ["gpt-4.1/a", "gpt-4.1/b", "fair"]


def test_colliding_labels_raise_error() -> None:
    players: dict[str, Any] = {
        "a": {"model": OLD},
        "b": {"model": OLD, "tries": 9},
        "gpt-4.1/a": {"model": "vllm/x"},
    }
    with pytest.raises(
        ct.studies.StudyError, match=r'two players would have the label "gpt-4\.1/a"'
    ):
        replaced({OLD: NEW}, **players)


def test_retired_models_are_listed_with_their_players() -> None:
    names = ["gpt-4", "gpt-4-0125-preview", "gpt-4o"]
    players: dict[str, Any] = {name: {"model": f"openai/{name}"} for name in names}
    players |= {
        "again": {"model": "openai/gpt-4", "temperature": 0},
        "proxy": {"model": "openai/gpt-4@http://proxy/v1"},
        "azure": {"model": "azure-openai/gpt-4"},
    }
    planned = ct.plan(study(players=players, pairing="self"))
    retired = ct.studies.retired_models(planned, date(2026, 10, 23))
    assert [tuple(model) for model in retired] == [
        ("openai/gpt-4", "2026-10-23", ["gpt-4", "again"]),
        ("openai/gpt-4-0125-preview", "2026-03", ["gpt-4-0125-preview"]),
    ]
    assert len(ct.studies.retired_models(planned, date(2026, 3, 1))) == 1
    assert ct.studies.retired_models(planned, date(2026, 2, 28)) == []
    assert str(retired[0]) == (
        "players.gpt-4, again: openai/gpt-4 has been retired since 2026-10-23; to replace it, "
        "add --replace gpt-4=MODEL"
    )


def test_all_missing_keys_are_reported_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for provider in ("OPENAI", "MISTRAL"):
        monkeypatch.delenv(f"{provider}_API_KEY", raising=False)
    players = {"a": {"model": OLD}, "b": {"model": "mistral/x"}, "c": {"model": NEW}}
    made = study(players=players, pairing="self", budget={"dollars": 1})
    lines = [
        "players.a, c: set the environment variable OPENAI_API_KEY",
        "players.b: set the environment variable MISTRAL_API_KEY",
    ]
    assert [*map(str, ct.studies.missing_requirements(made, None))] == lines
    with pytest.raises(ct.studies.StudyError) as caught:
        ct.run(made, tmp_path / "s.sqlite")
    assert str(caught.value) == "; ".join(lines)
    assert [problem.location[1] for problem in caught.value.problems] == ["a", "b", "c"]
