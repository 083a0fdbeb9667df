"""Beyond equilibria: ratings, providers, and proposals of further matches."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.equilibrium import (
    Analysis,
    EquilibriumError,
    alpha_sweep,
    analyse_payoffs,
    nash_average,
    propose_cells,
)
from cheaptalk.equilibrium.analysis import providers
from cheaptalk.equilibrium.analysis.providers import providers_of_models
from cheaptalk.equilibrium.analysis.rankings import rankings
from cheaptalk.records.store.queries import MatchFilter, count, seats_of
from cheaptalk.reports import Played, analysis_json, metagame_report
from tests.known import known
from tests.pages import Page
from tests.reports.browser import Tab
from tests.reports.conftest import table

OWNERS = {"soft": "Acme", "tough": "Bolt"}
CASES = np.array([[3.0, 0.0, 1.0], [5.0, 1.0, 1.0], [1.0, 1.0, 1.0]])


@pytest.fixture(scope="module")
def bg5(matches: Played) -> Analysis:
    """BG5 with two providers and a budget of 100 matches."""
    options: dict[str, Any] = {"draws": 40, "seed": 2, "budget": 100, "paired": False}
    (result,) = matches.analyses(["BG5"], providers=OWNERS, **options)
    return result


# Ratings


def test_ratings_equal_their_functions() -> None:
    result = rankings(CASES, ["soft", "tough", "walk"], [1.0, 0.0, 0.0])
    values = {rating.kind.name: rating.values for rating in result.ratings}
    swept = alpha_sweep(CASES, alphas=np.geomspace(0.1, 100, 31) / 5)
    assert values["Alpha-rank"] == pytest.approx(swept.masses[-1])
    assert values["Nash averaging"] == pytest.approx(nash_average(CASES).ratings)
    assert sum(values["Imitation"]) == pytest.approx(1)
    first = {rating.kind.name: rating.top for rating in result.ratings}
    assert first["Nash averaging"] == (1, 2)  # tough and walk tie
    assert result.pairs == 3

    result = rankings(CASES, ["soft", "tough", "walk"], [1.0, 0.0, 0.0])
    assert set(result.absent) == {"Bradley-Terry", "Elo"}
    assert "no matches were given" in result.absent["Elo"]

    result = rankings(CASES, ["soft", "tough", "walk"], [0.0, 4.0, 2.0])
    (nash,) = (rating for rating in result.ratings if rating.kind.name == "Nash averaging")
    assert set(nash.disagreements) == {("tough", "soft"), ("walk", "soft")}  # tough and walk tie
    agreeing = rankings(CASES, ["soft", "tough", "walk"], [4.0, 0.0, 0.0])
    (nash,) = (rating for rating in agreeing.ratings if rating.kind.name == "Nash averaging")
    assert nash.disagreements == ()

    result = rankings(np.ones((2, 2)), ["a", "b"], [0.0, 0.0])
    assert all(rating.top == (0, 1) for rating in result.ratings if rating.kind.name != "Imitation")
    assert all(rating.disagreements == () for rating in result.ratings)


def test_wins_are_counted_by_match(bg5: Analysis, matches: Played) -> None:
    rated = {rating.kind.name: rating for rating in bg5.rankings.ratings}
    assert bg5.labels[rated["Bradley-Terry"].top[0]] == "tough"
    assert rated["Elo"].values[1] > rated["Elo"].values[0]
    assert bg5.rankings.absent == {}

    (result,) = matches.analyses(["BG5"], draws=0, without=["walk"])
    assert "no finite strengths fit" in result.rankings.absent["Bradley-Terry"]
    assert "Elo" not in result.rankings.absent


# Providers


def test_providers_follow_from_model_names(matches: Played, bg5: Analysis) -> None:
    for model, provider in [
        ("openai/gpt-4o", "openai"),
        ("openrouter/meta-llama/llama-3", "meta-llama"),
        ("vllm/qwen2", None),
        ("vllm/Qwen/qwen2", "Qwen"),
        ("gpt-4o", None),
        ("nobody/x", None),
        (None, None),
    ]:
        spec = {"strategy": "soft"} if model is None else {"model": model}
        assert providers_of_models({"a": spec}) == ({"a": provider} if provider else {})

    assert matches.providers == {}
    (result,) = matches.analyses(["BG4"], draws=0)
    (single,) = matches.analyses(["BG4"], draws=0, providers={"soft": "Acme", "elsewhere": "B"})
    assert result.providers is None
    assert single.providers is None

    among = known(bg5.providers)
    assert dict(among.members) == {"Acme": ("soft",), "Bolt": ("tough",)}
    assert among.left_out == ("walk",)
    assert [reading.name for reading in among.readings] == ["mixtures", "selected"]
    for reading in among.readings:
        assert reading.payoffs[1][0] == bg5.payoffs[1][0]  # the same draws, so the same interval
        assert np.sum(reading.responses, axis=0) == pytest.approx([1, 1])


def test_shares_count_only_bootstrap_draws(matches: Played) -> None:
    """The game of the mean payoffs is not a draw."""
    owners = OWNERS | {"walk": "Bolt"}
    (result,) = matches.analyses(["BG4"], draws=7, providers=owners, paired=False)
    for reading in known(result.providers).readings:
        sevenths = np.array(reading.responses) * 7 * 2  # two providers may share a draw
        assert sevenths == pytest.approx(np.round(sevenths))
        assert reading.several * 7 == pytest.approx(round(reading.several * 7))


def test_value_given_needs_offers(bg5: Analysis, matches: Played) -> None:
    offers = pl.concat(
        known(bg5.selected).frame.select(
            pl.col(f"player_player_{me}").alias("giver"),
            pl.col(f"player_player_{other}").alias("rival"),
            pl.col(f"utility_given_player_{me}").alias("given"),
        )
        for me, other in ((1, 2), (2, 1))
    ).drop_nulls()
    for reading in known(bg5.providers).readings:
        # tough is the best response to both, so both play against tough
        for at, giver in enumerate(("soft", "tough")):
            met = offers.filter(pl.col("giver") == giver, pl.col("rival") == "tough")
            by_match = met["given"].mean()
            assert known(reading.value_given)[at].estimate == pytest.approx(by_match)

    (result,) = matches.analyses(["BG5"], draws=5, providers=OWNERS | {"walk": "Bolt"})
    among = known(result.providers)
    assert [reading.value_given for reading in among.readings] == [None, None]
    assert among.absent["value given"] == "walk never makes an offer"


def test_proposals_need_matches(bg5: Analysis) -> None:
    assert not isinstance(bg5.next_cells, str)
    assert bg5.next_cells is not None
    again = propose_cells(bg5.game, 100, target="regret", paired=False)
    assert bg5.next_cells.cells.equals(again.cells)
    assert bg5.next_cells.planned < bg5.next_cells.even < bg5.next_cells.error

    result = analyse_payoffs("doves", table([[-1, 2], [0, 1]], "hawk", "dove"), budget=10)
    assert result.next_cells == "A bootstrap resamples matches, but only payoffs were given"

    payoffs = [[0, 0, 0, 1], [0, 0, 3, 4], [9, 2, 5, 5], [0, 6, 5, 5]]
    owners = dict(zip("abcd", ["A", "A", "B", "B"], strict=True))
    result = analyse_payoffs("four", table(payoffs, *"abcd"), providers=owners)
    first = known(result.providers).readings[0]
    assert [[cell.estimate for cell in row] for row in first.payoffs] == [[0, 4], [6, 5]]
    assert {cell.mean for row in first.payoffs for cell in row} == {None}
    assert first.responses == [[0, 0], [1, 1]]


# The page and the data


def test_page_shows_ratings_providers_and_proposed_cells(
    bg5: Analysis, matches: Played, tmp_path: Path
) -> None:
    metagame_report("table", [bg5], tmp_path / "page.html", played=matches)
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    headings = page.headings("BG5-ratings")
    assert headings[2:] == [rating.kind.name for rating in bg5.rankings.ratings]
    rows = {row[0].text: row for row in page.tables["BG5-ratings"][1:]}
    assert rows["tough"][2].number() == pytest.approx(bg5.rankings.ratings[0].values[1], rel=1e-6)
    assert len(page.tables["BG5-disagreements"]) == 1 + len(bg5.rankings.ratings)
    assert {"BG5-providers-mixtures", "BG5-providers-selected"} <= page.tables.keys()
    assert not isinstance(bg5.next_cells, str)
    assert bg5.next_cells is not None
    proposed = [row[2].number() for row in page.tables["BG5-next"][1:]]
    assert proposed == bg5.next_cells.cells["add_matches"].to_list()
    for name in ("Value given", "Best response to", "Share of variance", "Nash averaging"):
        assert name in page.text


def test_page_and_json_contain_optional_sections(tmp_path: Path, bg5: Analysis) -> None:
    metagame_report("x", [analyse_payoffs("x", table(CASES, *"abc"))], tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "Elo is missing: this rating requires wins and ties" in page.text
    assert "Where to play next" not in page.text
    assert "Value given" not in page.text

    data = analysis_json(bg5, 2)
    assert data["ratings"]["Elo"]["values"].keys() == {"soft", "tough", "walk"}
    assert data["providers"]["members"] == {"Acme": ["soft"], "Bolt": ["tough"]}
    assert len(data["providers"]["readings"]["selected"]["value_given"]) == 2
    assert sum(cell["add_matches"] for cell in data["next"]["cells"]) <= 100
    without = analysis_json(analyse_payoffs("x", table(CASES, *"abc"), budget=5), 0)
    assert without["providers"] is None
    assert "only payoffs were given" in without["next"]["none_because"]


def test_cell_link_finds_only_matches_of_its_configurations(matches: Played) -> None:
    analyses = matches.analyses(["BG4", "BG4+BG6", "BGS0"], draws=0)
    places = seats_of(matches.store, "table")["item_bargaining"]
    for result, games in zip(analyses, (1, 2, 3), strict=True):
        chosen = known(result.selected).query.get("configuration", "")
        wanted = MatchFilter(
            "item_bargaining",
            places,
            players={"player_1": "soft", "player_2": "tough"},
            configurations=tuple(filter(None, chosen.split(","))),
        )
        assert count(matches.store, "table", wanted) == games * 12


def test_unsolvable_reading_is_absent_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, reading: str, **__: object) -> ct.equilibrium.ProviderGame:
        raise EquilibriumError(f"no end of {reading}")

    monkeypatch.setattr(providers, "provider_game", fails)
    owners = {"hawk": "A", "dove": "B"}
    doves = table([[-1, 2], [0, 1]], "hawk", "dove")
    result = analyse_payoffs("doves", doves, providers=owners)
    among = known(result.providers)
    assert among.readings == ()
    assert among.absent["Each provider mixes its strategies"] == "no end of mixtures"


@pytest.mark.browser
async def test_click_on_a_cell_opens_a_match_of_its_configuration(
    matches: Played, tmp_path: Path, tab: Tab
) -> None:
    out = tmp_path / "page.html"
    metagame_report("table", matches.analyses(["BG4", "BGS0"], draws=0), out, played=matches)
    await tab.visit(out.as_uri())
    reader = "document.getElementById('reader')"
    for name, count_shown in (("BG4", 1), ("BGS0", 3)):
        await tab.run(f"document.querySelector('[data-name={name}-payoffs] td a').click()")
        await tab.until(f"{reader}.open && {reader}.querySelectorAll('details').length")
        text = await tab.run(f"{reader}.textContent")
        assert f"{count_shown} of these matches" in text
        await tab.press("Escape")
        await tab.until(f"!{reader}.open")
    assert tab.complaints == []
