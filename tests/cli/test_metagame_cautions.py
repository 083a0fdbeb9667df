"""The terminal output, the JSON and the page of metagame show the same cautions."""

import html
from pathlib import Path
from typing import Any

import cheaptalk as ct
from cheaptalk.models import ModelCall, Reply
from tests.cli import CASES
from tests.conftest import Command
from tests.fakes import Canned, broken, legal

STUDY: dict[str, Any] = CASES["study_of_a_small_metagame"]
FEW = "the pair with the fewest has 3 instances; at least 6 are needed"


def failing_models(matches: int) -> Canned:
    """Return models that fail in the first ``matches`` matches."""
    failing: set[str] = set()

    def reply(call: ModelCall, number: str) -> Reply | str:
        match = number.partition("/")[0]
        if len(failing) < matches:
            failing.add(match)
        return broken(retry=False) if match in failing else legal(call)

    return Canned(reply)


def outputs(cheaptalk: Command, store: Path, *options: str) -> tuple[str, dict[str, Any], str]:
    """Return the terminal output, the JSON and the page, each in one line."""
    page = store.with_name("page.html")
    arguments = ("metagame", "few", "--store", str(store), "--draws", "50", *options)
    text = cheaptalk(*arguments, "--out", str(page))
    assert text.status == 0, text.err
    [game] = cheaptalk(*arguments, "--json").json
    return " ".join(text.out.split()), game, html.unescape(" ".join(page.read_text().split()))


def test_too_few_instances_are_reported_in_all_outputs(cheaptalk: Command, tmp_path: Path) -> None:
    """Regression: the terminal reported an equilibrium in all draws of three instances."""
    for options in [(), ("--two-populations",)]:
        path = tmp_path / "store.sqlite"
        with ct.Store.open(path, create=True) as store:
            ct.run(ct.Study.model_validate(STUDY | {"instances": 3}), store, models=Canned())
        text, game, page = outputs(cheaptalk, path, *options)
        caution = f"The uncertainty cannot be estimated: {FEW}"
        assert f"{caution}." in text
        assert "exists in" not in text
        assert game["cautions"] == [caution]
        assert game["uncertain_because"] == FEW
        assert f"{caution}." in page


def test_unfinished_matches_are_counted_in_all_outputs(cheaptalk: Command, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with ct.Store.open(path, create=True) as store:
        ct.run(ct.Study.model_validate(STUDY | {"instances": 9}), store, models=failing_models(3))
    text, game, page = outputs(cheaptalk, path)
    finished = (
        "and only finished matches count; if a strategy fails on bad instances, its payoff is "
        "overestimated"
    )
    caution = f"3 of 81 matches failed, {finished}"
    assert f"{caution}." in text
    assert caution in game["cautions"]
    assert (game["unscored"], game["matches_of_any_status"]) == ({"failed": 3}, 81)
    assert f"{caution}." in page
    _, game, page = outputs(cheaptalk, path, "--exclude", "tiny")
    assert game["unscored"] == {}
    assert "matches failed" not in page


def test_constant_payoffs_give_no_uncertainty_estimate(cheaptalk: Command, tmp_path: Path) -> None:
    """Regression: all draws of such payoffs are equal, which was taken for certainty."""
    path = tmp_path / "store.sqlite"
    study = STUDY | {
        "games": [{"game": "bargaining", "fixed": {"horizon": 6}}],
        "instances": 8,
        "players": {"even": {"strategy": "equal_split"}, "hard": {"strategy": "boulware"}},
    }
    with ct.Store.open(path, create=True) as store:
        ct.run(ct.Study.model_validate(study), store)
    text, game, page = outputs(cheaptalk, path)
    reason = "each pair had the same payoffs on all its instances, but others can differ"
    assert game["uncertain_because"] == reason
    assert f"The uncertainty cannot be estimated: {reason}." in text
    assert f"The uncertainty cannot be estimated: {reason}." in page
