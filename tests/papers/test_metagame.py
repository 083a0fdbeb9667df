"""The meta-game's tables: values recomputed from the records they stand on."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.papers.metagame.behaviour import circled
from cheaptalk.papers.metagame.landscape import providers
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.findings import findings, write_findings
from cheaptalk.reports.recipes.parts import ReportTable
from tests.reports.browser import Tab, browse

STRATEGIES = ("tough", "soft", "walk", "aspire")
STUDY: dict[str, Any] = {
    "name": "table",
    "seed": 7,
    "games": [
        {
            "game": "item_bargaining",
            "fixed": {"quantities": [7, 4, 1]},
            "cases": [{"discount": 0.9, "rounds": 3}, {"discount": 0.98, "rounds": 5}],
        }
    ],
    "players": {name: {"strategies": {"item_bargaining": name}} for name in STRATEGIES},
    "deals": 10,
}
ALONE = STUDY | {"name": "alone", "players": {"soft": STUDY["players"]["soft"]}, "deals": 1}
ELSE: dict[str, Any] = {
    "name": "else",
    "games": [{"game": "bargaining"}],
    "players": {"fair": {"strategy": "equal_split"}},
    "deals": 2,
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("metagame") / "store.sqlite"
    with ct.Store.open(path, create=True) as opened:
        for study in (STUDY, ALONE, ELSE):
            ct.run(ct.studies.parse_study(study, "here"), opened)
    return path


@pytest.fixture(scope="module")
def tables(store: Path) -> dict[str, Any]:
    with ct.Store.open(store) as opened:
        return findings(opened, "table", "metagame", draws=200, seed=3).tables


def row(table: Any, **wanted: str) -> dict[str, Any]:
    chosen = [pl.col(name) == value for name, value in wanted.items()]
    found: dict[str, Any] = table.frame.row(by_predicate=pl.all_horizontal(chosen), named=True)
    return found


def test_regret_and_mixture_are_those_of_the_bootstrap_of_the_game(
    store: Path, tables: dict[str, Any]
) -> None:
    with ct.Store.open(store) as opened:
        game = ct.equilibrium.EmpiricalGame.of_study(
            opened, "table", where=pl.col("game.rounds") == 3
        )
    drawn = ct.equilibrium.bootstrap_equilibrium(game, draws=200, seed=3)
    regrets = drawn.against("regret")
    for at, label in enumerate(game.labels):
        shown = row(tables["regret-BG4"], strategy=label)
        assert shown["regret"] == pytest.approx(regrets[:, at].mean())
        assert shown["regret.error"] == pytest.approx(regrets[:, at].std(ddof=1))
        assert shown["share"] == pytest.approx(drawn.mixtures[:, at].mean())


def test_both_normalisations_of_both_readings_are_given(tables: dict[str, Any]) -> None:
    text = row(tables["welfare-as-the-text-normalises-it-BG4"], strategy="walk")
    alone = row(tables["welfare-without-the-outside-options-among-the-maxima-BG4"], strategy="walk")
    assert text["NW"] == text["NW, undiscounted"]  # who walks at once discounts nothing
    assert text["NW+"] == 0.0
    assert text["EF1"] is None
    assert alone["UW, of allocations"] / text["UW"] == pytest.approx(844.49 / 806.08, rel=3e-3)
    assert alone["NW, of allocations"] / text["NW"] == pytest.approx(379.10 / 356.79, rel=3e-3)


def test_low_offers_are_accepted_by_soft_always_and_by_tough_never(tables: dict[str, Any]) -> None:
    of_offers = tables["low-acceptances-bad-offer-accepted"]
    for label, share in (("soft", 100.0), ("tough", 0.0)):
        assert row(of_offers, player=label)["vs tough"] == share
        assert row(of_offers, player=label)["vs others"] == share
    for name in ("bad-acceptance-by-turn", "bad-acceptance"):
        assert row(tables[f"low-acceptances-{name}"], player="walk")["vs tough"] in (0.0, None)


def test_behaviour_is_that_of_the_records(store: Path, tables: dict[str, Any]) -> None:
    with ct.Store.open(store) as opened:
        records = list(opened.records("table", bodies=True))
    own, rounds, mistaken = [], [], list[float]()
    for record in records:
        for place in ("player_1", "player_2"):
            if record.label(place) == "aspire" and record.payoffs:
                own.append(record.payoffs[place])
                rounds.append((record.outcome or {})["round"])
        if {record.label("player_1"), record.label("player_2")} == {"tough"}:
            box = ct.game_box("item_bargaining")
            mistaken.append(box.measures["mistakes"].of(record.result()) or 0.0)
    shown = row(tables["behaviour"], player="aspire")
    assert shown["own"] == pytest.approx(np.mean(own))
    assert shown["rounds"] == pytest.approx(np.mean(rounds))
    agreed = sum(shown[f"rounds_{how}"] * shown[f"rounds_{how}.n"] for how in ("agreed", "walked"))
    assert agreed == pytest.approx(sum(rounds))
    assert shown["own.n"] == len(own) == 2 * 10 * 8
    assert row(tables["mistakes"], player="tough")["mistakes"] == pytest.approx(np.mean(mistaken))
    pairs = tables["behaviour-by-opponent"].frame
    assert pairs.height == 16


def test_one_player_and_one_deal_give_tables_without_intervals(store: Path) -> None:
    with ct.Store.open(store) as opened:
        found = findings(opened, "alone", "metagame", draws=100)
    assert found.tables["behaviour"].frame["own.low"].to_list()[0] is not None
    regret = found.tables["regret-BG4"]
    assert regret.frame["regret"].to_list() == [0.0]
    assert "No intervals" in regret.caption
    assert "Nobody plays tough" in found.tables["low-acceptances-bad-acceptance"].notes[0]


def test_another_game_lacks_everything_but_what_was_played(store: Path) -> None:
    with ct.Store.open(store) as opened:
        found = findings(opened, "else", "metagame", draws=100)
    assert list(found.tables) == ["played", "played-by-player"]
    assert len(found.lacking) == 7
    assert "the preset item-bargaining-heuristics plays some" in found.lacking["Behaviour"]


def test_providers_are_those_of_the_models_names(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners = {"tough": "us", "soft": "us", "walk": "them", "aspire": "them"}
    module = import_module("cheaptalk.papers.metagame.landscape")
    monkeypatch.setattr(module, "providers_of_models", lambda _: owners)
    with ct.Store.open(store) as opened:
        shown = list(providers(Evidence(opened, "table", draws=100)))
    made = [one for one in shown if isinstance(one, ReportTable)]
    assert len(shown) == 2 * len(made)
    assert [one.name for one in made[:2]] == ["providers-mixtures-BG4", "providers-selected-BG4"]
    for table in made:
        assert table.frame["provider"].to_list() == ["them", "us"]
        for rival in ("us", "them"):
            assert sum(table.frame[f"reply {rival}"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"model": "openai/o3", "style": "circle_4"}, ("openai/o3", 4)),
        ({"model": "openai/o3", "style": {"item_bargaining": "circle_0"}}, ("openai/o3", 0)),
        ({"model": "openai/o3", "style": "plain"}, None),
        ({"model": "openai/o3"}, None),
        ({"strategy": "soft"}, None),
    ],
)
def test_circles_are_read_off_the_style(spec: dict[str, Any], expected: Any) -> None:
    assert circled(spec) == expected


@pytest.mark.browser
def test_a_browser_shows_the_landscape(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    with ct.Store.open(store) as opened:
        write_findings(findings(opened, "table", "metagame", draws=100), out)

    async def visit(tab: Tab) -> None:
        await tab.visit(out.as_uri(), width=375)
        await tab.until(
            "[...document.querySelectorAll('.plot')].every(p => p.querySelector('svg'))"
        )
        assert await tab.run("document.documentElement.scrollWidth") == 375
        assert await tab.run("document.querySelectorAll('.drawing svg').length") == 3
        assert await tab.run("[...document.querySelectorAll('tbody')].every(b => b.rows.length)")
        assert tab.complaints == []

    browse(tmp_path / "profile", visit)
