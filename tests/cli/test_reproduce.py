"""The command ``reproduce``, which plays all studies of a paper."""

import re
from pathlib import Path

import pytest

import cheaptalk as ct
from tests.conftest import Command


def test_rehearsal_writes_the_printed_values_beside_ours(cheaptalk: Command) -> None:
    done = cheaptalk("reproduce chips --mock --max-matches 12 --tables tables --draws 100")
    assert done.status == 0, done.err
    assert re.search(
        r"chip-trading-human-mock +144 +144 +0 +0 +0 +\$0\.00\ntotal +1,872 ", done.out
    )
    reason = "Participants (section 5.1): this study has no participants yet"
    assert reason in done.out
    assert done.out.count("the recipe option survey=FILE.csv") == 1, "each reason is printed once"
    assert "printed" in Path("tables/table-3.csv").read_text(encoding="utf-8").partition("\n")[0]
    page = Path("chips-mock.html").read_text(encoding="utf-8")
    assert "Qian et al. 2025" in page
    assert "A rehearsal with a mock model." in page
    assert "cheaptalk view" not in page, "the temporary store is gone"
    assert not Path("chips.sqlite").exists()


def test_everything_missing_is_listed_before_a_match(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    done = cheaptalk("reproduce chips --replace gpt-4o-2024-05-13=openai/gpt-4o")
    assert done.status == 2
    for missing, player in (("OPENAI_API_KEY", "gpt-4o"), ("GEMINI_API_KEY", "gemini")):
        need = f"missing: set the environment variable {missing} (chip-trading: {player},"
        assert need in done.err
    assert "retired since 2025-05: gemini/gemini-1.5-pro-001 (chip-trading: gemini," in done.err
    assert "gpt-4o-2024-05-13 (" not in done.err
    assert "gpt-4o is replaced with gpt-4o (openai/gpt-4o)" in done.err
    assert not Path("chips.sqlite").exists()
    done = cheaptalk("reproduce chips --replace gpt-5=openai/gpt-4o")
    assert "no study of chips has the model" in done.err


def test_no_model_is_called_without_models(cheaptalk: Command) -> None:
    done = cheaptalk("reproduce gama --without-models --game public_goods --max-matches 2")
    assert done.status == 0, done.err
    assert re.search(r"gama-appendix-g +40 +0 +0 +0 +0 +\$0\.00", done.out)
    assert "gama: 2 of 2 matches ended in " in done.err
    with ct.Store.open("gama.sqlite") as store:
        played = {study.name for study in store.studies() if study.done}
    assert played == {"gama", "gama-treatments", "gama-settings"}


def test_all_studies_share_one_budget(cheaptalk: Command) -> None:
    model = "--replace gpt-3.5-0125=script/legal --models gama:gpt-3.5-0125"
    done = cheaptalk(f"reproduce gama {model} --game pirate_game --max-calls 20 --draws 100")
    assert done.status == 1
    assert "is not played, because the budget is spent" in done.err
    with ct.Store.open("gama.sqlite") as store:
        calls = [ct.records.study_cost(store, study.name).calls for study in store.studies()]
    assert sum(calls) <= 20


def test_interrupted_reproduction_continues(cheaptalk: Command) -> None:
    first = cheaptalk("reproduce self-play --without-models --max-matches 20 --draws 100")
    again = cheaptalk("reproduce self-play --without-models --max-matches 20 --draws 100")
    assert (first.status, again.status) == (0, 0)
    with ct.Store.open("self-play.sqlite") as store:
        done = {study.name: study.done for study in store.studies()}
    assert sorted(done) == ["deal-or-no-deal", "self-play"]
    assert min(done.values()) >= 40  # the studies also share matches


def test_replaced_models_apply_to_the_studies_that_have_them() -> None:
    replaced = {"gpt-4o-2024-08-06": "openai/gpt-4.1"}
    studies = {study.name: study for study in ct.papers.paper_studies("gama", replace=replaced)}
    models = {name: {*ct.papers.models_of(study).values()} for name, study in studies.items()}
    assert "openai/gpt-4.1" in models["gama"]
    assert "openai/gpt-4.1" not in models["gama-settings"]


def test_unknown_prices_are_named_once_below_the_plan(cheaptalk: Command) -> None:
    models = "--models glee:gpt-4o,llama-3.3-70b"
    done = cheaptalk(f"reproduce glee --plan --mock --max-matches 60 {models}")
    assert re.search(r"total +\S+ +\S+ +60 .* \$[\d.,]+ to \$[\d.,]+\*", done.out)
    unpriced = "* without models of unknown price: openrouter/meta-llama/llama-3.3-70b-instruct;"
    assert done.out.count(unpriced) == done.out.count("openrouter") == 1
    only = cheaptalk("reproduce glee --plan --max-matches 60 --models glee:llama-3.3-70b")
    assert re.search(r"glee .* no price\*", only.out)


def test_replaced_models_of_several_players_are_merged(cheaptalk: Command) -> None:
    replace = "--replace gpt-4o-2024-05-13=script/legal --replace gemini-1.5-pro-001=script/legal"
    plan = cheaptalk(f"reproduce chips --plan --json --game chip_trading {replace}").json
    replaced = {
        "gpt-4o": "legal/gpt-4o",
        "gpt-4o-refined": "legal/gpt-4o-refined",
        "gemini": "legal/gpt-4o",
        "gemini-refined": "legal/gpt-4o-refined",
    }
    assert plan[0]["replaced"] == replaced


def test_recipe_options_are_checked_before_a_match(cheaptalk: Command) -> None:
    done = cheaptalk("reproduce chips --without-models --recipe-option serveys=answers.csv")
    assert done.status == 2
    assert 'chips has no option "serveys" (did you mean "survey"?)' in done.err
    assert not Path("chips.sqlite").exists()
