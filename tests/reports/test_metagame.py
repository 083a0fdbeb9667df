"""Pages of empirical games agree with their matches."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.equilibrium import PayoffTable, Spread, analyse_payoffs
from cheaptalk.equilibrium.analysis.analysis import LEAST, Analysis
from cheaptalk.equilibrium.analysis.selection import metric_tables, selected
from cheaptalk.games.item_bargaining.empirical_view import MISTAKE_RADAR, OPPOSITION
from cheaptalk.reports import Played, analysis_json, metagame_report
from cheaptalk.reports.charts.chart import Lead, tones_of
from cheaptalk.reports.metagame import figures
from cheaptalk.reports.metagame.graph import best_response_graph
from cheaptalk.reports.metagame.parts import analysis_parts, answer
from cheaptalk.reports.recipes.tables import ReportTable
from cheaptalk.text import fixed
from tests.known import known
from tests.pages import Page
from tests.played import play
from tests.reports.browser import CAPTURE, Tab
from tests.reports.conftest import HEURISTICS, table
from tests.reports.marks import across, boxes, named, up

SHARES = np.array([0.5, 0.5, 0.0])
PAYOFFS = np.array([[1.0, 4.0, 2.0], [3.0, 0.0, 1.0], [2.0, 2.0, 0.0]])


# The graph


def test_graph_shows_best_responses() -> None:
    often = np.array([[0.009, 0.33, 0.0], [0.661, 0.0, 0.34], [0.33, 0.67, 0.66]])
    graph = best_response_graph(["a", "b", "c"], PAYOFFS, often, SHARES)
    assert {(edge.source, edge.target): edge.style for edge in graph.edges} == {
        ("b", "a"): "dotted",
        ("a", "b"): "solid",
        ("c", "b"): "dashed",
        ("a", "c"): "dotted",
        ("b", "c"): "solid",
        ("c", "c"): "dashed",
    }
    assert often[0, 0] < LEAST  # so the loop at a is omitted

    graph = best_response_graph(["a", "b", "c"], PAYOFFS, np.ones((3, 3)), SHARES)
    by_payoff = sorted(graph.edges, key=lambda edge: edge.payoff)
    strengths = [edge.strength for edge in by_payoff]
    assert strengths == sorted(strengths)
    assert (strengths[0], strengths[-1]) == (0, 1)
    assert by_payoff[-1].payoff == PAYOFFS[0, 1]
    assert (by_payoff[-1].source, by_payoff[-1].target) == ("b", "a")

    graph = best_response_graph(["a"], np.zeros((1, 1)), np.zeros((1, 1)), np.ones(1))
    assert graph.edges == []
    assert "<path" not in graph.svg()


def test_drawing_is_self_contained_and_shows_all_edges() -> None:
    for size in (1, 2, 9):
        labels = [f"<{number}> & a name that is far too long" for number in range(size)]
        graph = best_response_graph(
            labels, np.zeros((size, size)), np.ones((size, size)), np.full(size, 1 / size)
        )
        drawing = ElementTree.fromstring(graph.svg())  # noqa: S314 - made here
        x, y, width, height = graph.box
        numbers = [re.findall(r"-?[\d.]+", edge.line + edge.head) for edge in graph.edges]
        points = np.array([float(text) for texts in numbers for text in texts]).reshape(-1, 2)
        assert len(graph.edges) == size**2
        assert (points >= [x, y]).all()
        assert (points <= [x + width, y + height]).all()
        assert all(label in drawing.attrib["aria-label"] for label in labels)
        titles = [
            element.text or "" for element in drawing.iter("{http://www.w3.org/2000/svg}title")
        ]
        assert any(title.startswith(labels[-1]) for title in titles)


# The opening sentence


PAYS_MOST = "of those with maximum entropy, the one with the highest payoff"


def test_answers_mention_other_equilibria() -> None:
    for payoffs, count, taken in [
        ([[2, 0], [0, 1]], "3 symmetric equilibria", "the one with maximum entropy"),
        ([[5, 2], [1, 2]], "2 symmetric equilibria", PAYS_MOST),
        ([[1, 1], [1, 1]], "1 continuum of symmetric equilibria", "the one with maximum entropy"),
    ]:
        text = answer(analyse_payoffs("coordination", table(payoffs, "a", "b"))).text
        assert text.endswith(f" The mean payoffs have {count}, and no others; {taken} is selected.")

    text = answer(analyse_payoffs("dominance", table([[1, 1], [0, 0]], "a", "b"))).text
    assert text.startswith("At the equilibrium of the mean payoffs, everyone chooses a. The")
    assert "symmetric" not in text


UNCERTAIN = "The choice at equilibrium is still uncertain: ben 100 % (0 to 100)"


def test_stated_equilibrium_is_that_of_the_mean_payoffs() -> None:
    """Regression: shares of draws were stated, and more matches advised for tied strategies."""
    for uncertain, tied, sentence in [
        ("few", {}, "At the equilibrium of the mean payoffs, everyone chooses ben. Take care."),
        ("", {}, f"{UNCERTAIN}; more matches may help (cheaptalk metagame --propose lists them). "),
        ("", {"ann": 1.0}, f"{UNCERTAIN}. "),
    ]:
        only = SimpleNamespace(components=[SimpleNamespace(isolated=True)], complete=True)
        shares = [Spread(0.0, 0.4, 0.5, 0.0, 1.0), Spread(1.0, 0.6, 0.5, 0.0, 1.0)]
        analysis = SimpleNamespace(
            labels=("ann", "ben"),
            against=lambda _, shares=shares: shares,
            solution=only,
            tied=tied,
            uncertain=uncertain,
            cautions=["Take care"],
        )
        assert answer(cast("Analysis", analysis)).text.startswith(sentence)


# Selection of games


def test_games_are_named_by_configurations(matches: Played, well: Path) -> None:
    frames = matches.frames
    names = [(game.name, sorted(game.configurations)) for game in selected(frames, [])]
    single = ["BG4", "BG5", "BG6"]
    assert names == [*((name, [name]) for name in single), ("BGS0", single)]
    (mixed,) = selected(frames, ["BG4 + BG6"])
    assert mixed.frame.height == 2 * 9 * 12
    wanted = ["BG6", "item_bargaining"]
    assert [game.name for game in selected(frames, wanted)] == wanted
    with pytest.raises(ct.CheaptalkError, match='did you mean "BG6"'):
        selected(frames, ["BG66"])

    with ct.Store.open(well) as store:
        frames = Played.of(store, "well").frames
    unnamed = [game.name for game in selected(frames, []) if game.game_spec == "persuasion"]
    assert unnamed == ["myopic no", "myopic yes", "persuasion"]
    with pytest.raises(ct.CheaptalkError, match="two seats"):
        selected({"table": pl.DataFrame({"player_a": ["x"]})}, [])


def test_metrics_depend_on_the_game(well: Path, matches: Played) -> None:
    with ct.Store.open(well) as store:
        (game,) = Played.of(store, "well").analyses(["negotiation"], draws=20)
    (reading,) = game.readings
    assert "Efficiency" in [column.title for column in reading.columns]
    efficiency = game.at_equilibrium("Efficiency")
    assert 0 <= known(efficiency.low) <= known(efficiency.estimate) <= 1

    (pooled,) = selected(matches.frames, ["item_bargaining"])
    assert len(metric_tables(pooled)) == 2
    other = pooled.configurations | {"BG1": {"quantities": {"kinds": 5, "mean": 4}}}
    assert metric_tables(pooled._replace(configurations=other)) == ()

    (bg5,) = matches.analyses(["BG5"], draws=0)
    assert bg5.no_draws_reason == "no bootstrap draws were requested"
    nash = bg5.at_equilibrium("NW").estimate, bg5.at_equilibrium("NW, of allocations").estimate
    total = bg5.at_equilibrium("UW").estimate, bg5.at_equilibrium("UW, of allocations").estimate
    assert nash[1] / nash[0] == pytest.approx(379.1 / 356.8, rel=5e-3)  # type: ignore[operator]
    assert total[1] / total[0] == pytest.approx(844.5 / 806.1, rel=5e-3)  # type: ignore[operator]


def test_equilibria_are_selected_by_entropy_and_payoff(matches: Played) -> None:
    (bgs0,) = matches.analyses(["BGS0"], draws=50)
    assert bgs0.labels == ("soft", "tough", "walk")
    assert [component.point.support for component in bgs0.solution.components] == [(2,)]
    assert [spread.estimate for spread in bgs0.against("mixture")] == [0, 0, 1]
    assert bgs0.ranking[0] == 2
    assert bgs0.tied == {"walk": 1.0}
    assert bgs0.against("EF1")[2].estimate is None  # no player agrees with walk
    welfare, undiscounted = bgs0.at_equilibrium("NW"), bgs0.at_equilibrium("NW, undiscounted")
    assert welfare == undiscounted  # nothing is discounted in the first round

    stag = analyse_payoffs("stag", table([[3, 0], [2, 2]], "stag", "hare"))
    assert stag.tied_entropy == 1
    assert stag.choice_in_words == "The first equilibrium has the maximum entropy and is selected"
    both = analyse_payoffs("pure", table([[3, 2], [3, 2]], "high", "low"))
    assert both.dominated == {}
    pure = analyse_payoffs("walk", table([[5, 2], [1, 2]], "talk", "walk"))
    assert pure.tied_entropy == 2
    assert pure.solution.mene.payoff == 5
    assert "selected because it has the highest payoff of these" in pure.choice_in_words
    assert pure.dominated == {"walk": ["talk"]}
    assert "walk is weakly dominated by talk" in pure.dominated_in_words
    assert analysis_json(pure, 0)["weakly_dominated_by"] == {"walk": ["talk"]}
    assert pure.recurring == [None, None]


def test_equilibria_report_the_share_of_draws_that_contain_them(matches: Played) -> None:
    (bg4,) = matches.analyses(["BG4"], draws=60, without=["tough"])
    (separate,) = matches.analyses(["BG4"], draws=60, paired=False)
    shares = dict(
        zip((point.support for point in bg4.solution.equilibria), bg4.recurring, strict=True)
    )
    taken = {
        support: ((bg4.bootstrap.mixtures > 0) == np.isin([0, 1], support)).all(axis=1).mean()
        for support in shares
    }
    for support, recurrence in shares.items():
        assert recurrence is not None
        assert recurrence.chosen == pytest.approx(taken[support])
        assert recurrence.chosen <= recurrence.exists <= 1
    assert shares[(1,)].exists == 1  # type: ignore[union-attr]  # walk gives every strategy the same
    data = analysis_json(bg4, 0)
    assert [each["exists_in_draws"] for each in data["equilibria"]] == [
        recurrence.exists for recurrence in shares.values() if recurrence
    ]
    parts = analysis_parts(bg4, tones_of(bg4.labels))
    tables = [shown for shown in parts if isinstance(shown, ReportTable)]
    units = {column.title: column.unit for table in tables for column in table.columns}
    assert units["Exists"] == units["Selected"] == "% of draws"
    assert units["Regret"] == "points"
    assert (data["instances_in_all_cells"], data["instances_in_some_cell"]) == (12, 12)
    assert bg4.broken_ties == ""
    assert "but each cell was resampled separately" in separate.broken_ties
    assert "Cells share instances" in str(analysis_json(separate, 0)["warning"])
    assert matches.others == ()


def test_thin_and_asymmetric_games_are_named(matches: Played) -> None:
    frame = matches.frames["item_bargaining"]
    pair = pl.concat_list("player_player_1", "player_player_2").list.sort()
    soft = pair == ["soft", "walk"]
    one_instance = pl.col("instance") == pl.col("instance").first().over("configuration")
    thin = {"item_bargaining": frame.filter(~soft | one_instance)}
    (bg4,) = matches._replace(frames=thin).analyses(["BG4"], draws=50)
    assert bg4.no_draws_reason == "1 pair with a single instance: soft / walk"
    assert bg4.draws == 0
    assert {spread.error for spread in bg4.equilibrium_payoffs} == {None}
    none = {"item_bargaining": frame.filter(~soft)}
    with pytest.raises(ct.CheaptalkError, match="BG4: 1 pair without a match: soft / walk"):
        matches._replace(frames=none).analyses(["BG4"])
    (others,) = matches._replace(frames=none).analyses(["BG4"], draws=9, without=["soft"])
    assert others.labels == ("tough", "walk")

    matrix = np.eye(2)
    other = PayoffTable(("a", "b"), ("a", "b"), matrix, 2 * matrix)
    with pytest.raises(ct.CheaptalkError, match="mine: the two players have different payoffs"):
        analyse_payoffs("mine", other)


# Figures and the page


def test_figures_show_the_numbers_of_the_analysis(matches: Played) -> None:
    (bg4,) = matches.analyses(["BG4"], draws=50)
    mixture, regrets, payoffs = (
        figure(bg4) for figure in (figures.mixture_bars, figures.regret_ranking, figures.payoff_map)
    )
    shares = {mark.y: mark.x for mark in named(mixture)[""].marks}
    assert shares["walk"] == bg4.against("mixture")[2].mean
    assert [box.x for box in boxes(mixture)] == [(0, shares[name]) for name in mixture.y.names]
    dots = {mark.y: mark for mark in named(regrets)[""].marks}
    assert next(iter(dots)) == regrets.y.names[0] == "walk"
    assert across(named(regrets)[""]) == sorted(mark.x for mark in dots.values())  # type: ignore[type-var]
    spread = bg4.against("regret")[0]
    assert known(dots["soft"].x_ends)[1] == pytest.approx(spread.high)
    cell = boxes(payoffs)[3]
    assert (payoffs.y.names[1], payoffs.x.names[0]) == ("tough", "soft")
    assert cell.label == fixed(bg4.payoffs[1][0].estimate or 0, 2)
    assert "24 matches on 12 instances" in cell.text
    (configuration,) = bg4.selected.frame["configuration"].unique()  # type: ignore[union-attr]
    query = {"player_player_1": "tough", "player_player_2": "soft"}
    query |= {"configuration": configuration, "status": "finished"}
    assert cell.lead == Lead("item_bargaining", query)


def test_mistakes_and_opposition_are_counted_from_the_matches(matches: Played) -> None:
    frame = matches.frames["item_bargaining"]
    radar = known(figures.self_play_radar(frame, ["soft", "walk"], MISTAKE_RADAR))
    levels = known(figures.instance_histogram(frame, OPPOSITION))
    soft, walk = (named(radar)[name] for name in ("soft", "walk"))
    self_play = frame.filter(
        (pl.col("player_player_1") == "soft") & (pl.col("player_player_2") == "soft")
    )
    assert up(soft)[1] == self_play["asked_too_little"].mean()
    assert across(soft) == ["M1", "M2", "M3", "M4", "M5"]
    assert up(walk) == [0, 0, 0, 0, 0]
    counts = [box.y[1] for box in boxes(levels)]
    assert sum(counts) == 3 * 12
    middle = np.average([sum(box.x) / 2 for box in boxes(levels)], weights=counts)
    assert middle == pytest.approx(float(frame["opposition"].mean()), abs=0.03)  # type: ignore[arg-type]
    assert figures.self_play_radar(frame, ["nobody"], MISTAKE_RADAR) is None
    assert figures.instance_histogram(frame.clear(), OPPOSITION) is None


def test_concession_curves_have_bands_if_instances_suffice(matches: Played, tmp_path: Path) -> None:
    frame = matches.frames["item_bargaining"]
    rounds = figures.demands(matches.store, "table")["item_bargaining"]
    all_players = ["soft", "tough", "walk"]
    panel = known(figures.concession_curves("item_bargaining", frame, rounds, all_players))
    assert panel.unit == "share of the maximum"
    assert list(named(panel)) == ["soft", "tough"]
    first, *later = named(panel)["soft"].marks
    offers = rounds.filter(pl.col("player") == "soft", pl.col("round") == 1)
    assert first.x == 1
    assert first.y == pytest.approx(offers["demand"].to_numpy().mean())
    assert first.text.startswith("soft, round 1: ")
    assert f"{offers.height} matches on {3 * 12} instances" in first.text
    for mark in (first, *later):
        low, high = known(mark.y_ends)
        assert 0 <= low <= float(mark.y or 0) <= high <= 1
    part = frame.filter(pl.col("game_discount") == 0.9)
    few = known(figures.concession_curves("item_bargaining", part, rounds, ["tough"]))
    assert across(named(few)["tough"]) == [1, 2, 3]  # only BG6 has more rounds
    assert figures.concession_curves("item_bargaining", frame, rounds, ["walk"]) is None

    path = play(tmp_path, HEURISTICS | {"instances": 1, "games": [{"game": "item_bargaining"}]})
    with ct.Store.open(path) as store:
        frame = Played.of(store, "table").frames["item_bargaining"]
        rounds = figures.demands(store, "table")["item_bargaining"]
    panel = known(figures.concession_curves("item_bargaining", frame, rounds, ["tough"]))
    marks = named(panel)["tough"].marks
    assert {mark.y_ends for mark in marks} == {None}
    assert "interval" not in marks[0].text


def test_page_has_every_game_with_its_tables(matches: Played, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    analyses = matches.analyses(draws=50, seed=4)
    metagame_report("table", analyses, out, seed=4, played=matches)
    text = out.read_text(encoding="utf-8")
    metagame_report("table", analyses, out, seed=4, played=matches)
    assert out.read_text(encoding="utf-8") == text
    page = Page(text)
    games = [name.removesuffix("-strategies") for name in page.tables if "-strategies" in name]
    assert games == ["BG4", "BG5", "BG6", "BGS0"]
    first = page.tables["BGS0-strategies"][1]
    assert (first[0].text, first[1].text) == ("walk", "1.000constant")
    cells = page.tables["BG4-payoffs"][1]
    assert cells[2].number() == pytest.approx(analyses[0].payoffs[0][1].estimate, rel=1e-5)
    assert cells[2].number("data-high") == pytest.approx(analyses[0].payoffs[0][1].high, rel=1e-5)
    assert "player_player_1=soft&player_player_2=tough" in (cells[2].link or "")
    headings = page.headings("BG4-welfare-as-normalised-in-the-text")
    assert headings[1:] == ["NW", "NW, undiscounted", "UW", "UW, undiscounted", "NW+", "EF1"]
    assert "50 draws with the seed 4" in page.text
    assert "All cells of a draw have the same instances" in page.text
    assert len(page.charts()) == 4 * 6
    assert text.count("Best responses, with") == 4
    assert len(page.transcripts()) == 9 * 3
    assert not any(re.match(r"(https?:)?//", source) for source in page.attributes("src"))


def test_page_and_json_of_payoffs_without_matches(tmp_path: Path) -> None:
    doves = analyse_payoffs("doves", table([[-1, 2], [0, 1]], "hawk", "<b>dove</b>"))
    metagame_report("doves", [doves], tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "There are no intervals: the payoffs were given" in page.text
    assert "There are no bootstrap draws" in page.text
    assert "b" not in page.tags()
    rows = page.tables["doves-strategies"][1:]
    assert [row[1].number() for row in rows] == [0.5, 0.5]
    assert page.tables["doves-payoffs"][1][1].link is None
    assert "dialog" not in page.tags()

    data = analysis_json(analyse_payoffs("doves", table([[-1, 2], [0, 1]], "hawk", "dove")), 0)
    (equilibrium,) = data["equilibria"]
    assert equilibrium["mixture"] == pytest.approx({"hawk": 0.5, "dove": 0.5})
    assert equilibrium["payoff"] == pytest.approx(0.5)
    assert data["best_response"] == [[0, 1], [1, 0]]
    assert (data["draws"], data["seed"], data["complete"]) == (0, None, True)


@pytest.mark.browser
async def test_browser_draws_charts_and_saves_pictures(
    matches: Played, tmp_path: Path, tab: Tab
) -> None:
    out = tmp_path / "page.html"
    metagame_report("table", matches.analyses(["BG4"], draws=20), out, played=matches)
    await tab.visit(out.as_uri(), width=375)
    await tab.until("[...document.querySelectorAll('.plot')].every(p => p.querySelector('svg'))")
    assert await tab.run("document.documentElement.scrollWidth") == 375
    await tab.run(CAPTURE)
    await tab.run(
        "[...document.querySelectorAll('.save button')].filter((one) =>"
        " one.textContent === 'SVG').forEach((one) => one.click())"
    )
    await tab.until("saved.length === 7")
    for text in await tab.run("saved"):
        root = ElementTree.fromstring(text)  # noqa: S314 - made here
        assert root.tag.endswith("svg")
        assert "var(" not in "".join(str(circle.attrib) for circle in root.iter("circle"))
    assert tab.complaints == []
    assert tab.fetched[0] == out.as_uri()
    assert [url for url in tab.fetched[1:] if not url.startswith(("data:", "blob:"))] == []
