"""The self-play recipe: every number anew from the records, and what a study lacks."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.games.deal_or_no_deal.metrics import optimal_claims
from cheaptalk.games.deal_or_no_deal.rules import PLAYERS, DealOrNoDeal
from cheaptalk.games.deal_or_no_deal.strategies import honest, random
from cheaptalk.games.language import ngram_entropy, vocabulary
from cheaptalk.models import ModelCall
from cheaptalk.papers.self_play.stages import Stage, stage_of
from cheaptalk.players import ImportedSeat
from cheaptalk.records import MatchRecord, Store
from cheaptalk.records.imports.importing import Collection, ForeignGame, import_matches
from cheaptalk.reports.charts.chart import Line
from cheaptalk.reports.recipes.findings import Findings, findings, write_findings
from cheaptalk.rules import Chance, Decide, play
from cheaptalk.statistics import mean_intervals
from cheaptalk.web.viewer.viewer import _match_filter
from tests.fakes import REFUSAL, Canned
from tests.judges.judged import always, judge_of
from tests.reports.browser import Tab, browse
from tests.reports.marks import across, named, up

GAME = "deal_or_no_deal"
STUDY = "steps"
SPEC: dict[str, Any] = {
    "name": STUDY,
    "seed": 3,
    "games": [{"game": GAME, "grid": {"objective": ["comp", "coop", "self"]}}],
    "players": {
        "gpt-iteration-0": {"strategy": "noisy", "contradicting": 0.8, "impossible": 0.3},
        "gpt-iteration-3": {"strategy": "noisy", "contradicting": 0.4},
        "gpt-iteration-10": {"strategy": "noisy", "contradicting": 0.0, "lying": 0.0},
        "rival": {"strategy": "fair"},
    },
    "pairing": [
        *([f"gpt-iteration-{at}"] * 2 for at in (0, 3, 10)),
        *([f"gpt-iteration-{at}", "rival"] for at in (0, 3, 10)),
        ["gpt-iteration-0", "gpt-iteration-10"],
        ["rival", "rival"],
    ],
    "instances": 12,
    "repeats": 2,
}
WEIGHTS = {"semi-competitive": 0, "cooperative": 1, "strictly competitive": -1}


def played(path: Path, spec: Mapping[str, Any]) -> Store:
    store = Store.open(path, create=True)
    ct.run(ct.studies.parse_study(spec, "test"), store)
    return store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with played(tmp_path_factory.mktemp("steps") / "steps.sqlite", SPEC) as store:
        yield store


@pytest.fixture(scope="module")
def found(store: Store) -> Findings:
    return findings(store, STUDY, "self-play", draws=100)


@pytest.fixture(scope="module")
def records(store: Store) -> list[MatchRecord]:
    return list(store.records(STUDY, bodies=True))


def of(records: Iterable[MatchRecord], row: Mapping[str, Any], other: str) -> list[MatchRecord]:
    """The matches of a row's player with another one under its objective."""
    return [
        one for one in records
        if sorted(one.label(place) for place in PLAYERS) == sorted([row["player"], other])
        and one.parameters["objective"] == WEIGHTS[row["objective"]]
    ]  # fmt: skip


def payoff(record: MatchRecord, player: str) -> float:
    """The mean payoff of a player's places."""
    assert record.payoffs
    own = [record.payoffs[place] for place in PLAYERS if record.label(place) == player]
    return sum(own) / len(own)


def agreed(record: MatchRecord) -> bool:
    assert record.outcome
    return bool(record.outcome["ending"] == "agreement")


def texts(records: Iterable[MatchRecord]) -> list[str]:
    actions = [answer.action for record in records for answer in record.answers if answer.action]
    return [action["message"] for action in actions if action.get("message")]


def lines(found: Findings, table: str, **wanted: Any) -> list[dict[str, Any]]:
    """The rows of a table that have these values."""
    return [
        row for row in found.tables[table].rows
        if all(row[key] == value for key, value in wanted.items())
    ]  # fmt: skip


def test_labels_that_end_in_an_iteration_are_one() -> None:
    assert stage_of("gpt-4") == Stage("gpt-4", None)
    assert stage_of("llama 3, iteration 12") == Stage("llama 3,", 12)
    assert stage_of("gpt.Iteration_07") == Stage("gpt", 7)
    assert stage_of("iterations-3") == Stage("iterations-3", None)


def test_scores_are_means_of_payoffs_by_partner(
    found: Findings, records: list[MatchRecord]
) -> None:
    rows = lines(found, "scores")
    assert len(rows) == 3 * 7
    assert [row["objective"] for row in rows[::7]] == list(WEIGHTS)
    assert [row["iteration"] for row in rows[:7]] == [0, 0, 3, 3, 10, 10, None]
    for row in rows:
        other = row["player"] if row["partner"] == "itself" else "rival"
        matches = of(records, row, other)
        assert row["own.n"] == len(matches) == 24
        assert row["own.clusters"] == 12
        own = [payoff(one, row["player"]) for one in matches]
        assert row["own"] == pytest.approx(np.mean(own))
        if row["partner"] == "itself":
            assert row["theirs"] is None
        else:
            assert row["theirs"] == pytest.approx(np.mean([payoff(one, other) for one in matches]))


def test_intervals_are_clustered_by_instance(found: Findings, records: list[MatchRecord]) -> None:
    (row,) = lines(found, "agreements", player="gpt-iteration-3", partner="itself", weight=0.0)
    matches = of(records, row, row["player"])
    frame = pl.DataFrame(
        [(one.instance_key, 100.0 * agreed(one)) for one in matches],
        ["instance", "agreement"],
        orient="row",
    )
    share = {"agreement": (0.0, 100.0)}
    found_mean = mean_intervals(frame, ["agreement"], cluster=["instance"], bounds=share)
    mean = found_mean.row(0, named=True)
    for column, part in (("", "mean"), (".low", "low"), (".high", "high"), (".error", "error")):
        assert row[f"agreement{column}"] == pytest.approx(mean[part])


def test_agreement_and_pareto_optimality_are_shares_of_all_matches(
    found: Findings, records: list[MatchRecord]
) -> None:
    for row in lines(found, "agreements", partner="itself"):
        matches = of(records, row, row["player"])
        assert row["agreement"] == pytest.approx(100 * np.mean([agreed(one) for one in matches]))
        best = [
            agreed(one) and one.result().outcome.claims[0]
            in optimal_claims(one.result().instance.context, one.parameters["objective"])
            for one in matches
        ]  # fmt: skip
        assert row["pareto_optimality"] == pytest.approx(100 * np.mean(best))


def test_table_2_has_the_first_and_the_last_iteration_and_the_change(
    found: Findings, records: list[MatchRecord]
) -> None:
    table = found.tables["before-after"]
    assert [(row["rate"], row["objective"]) for row in table.rows] == [
        (rate, objective) for rate in ("Agreement", "Pareto optimality") for objective in WEIGHTS
    ]
    assert table.caption == "Compared: self-play, iterations 0 and 10."
    (change,) = lines(found, "before-after", rate="Agreement", objective="cooperative")
    rows = [
        lines(found, "agreements", player=f"gpt-iteration-{at}", objective="cooperative",
              partner="itself")[0]
        for at in (0, 10)
    ]  # fmt: skip
    assert [change["before"], change["after"]] == [row["agreement"] for row in rows]
    assert change["change"] == pytest.approx(change["after"] - change["before"])
    by_instance: dict[str, list[float]] = {}
    for sign, row in zip((-1, 1), rows, strict=True):
        for one in of(records, row, row["player"]):
            by_instance.setdefault(one.instance_key, []).append(sign * 100.0 * agreed(one))
    moved = np.array(
        [sum(of) / 2 for of in by_instance.values()]
    )  # two matches an instance and iteration
    varied = moved.std(ddof=1) > 0
    error = pytest.approx(moved.std(ddof=1) / np.sqrt(12)) if varied else None
    assert change["change.error"] == error


def test_correlations_with_and_without_matches_that_end_in_nothing(
    found: Findings, records: list[MatchRecord]
) -> None:
    for row in lines(found, "correlations", objective="semi-competitive", partner="itself"):
        iterations, scores, kept = [], [], []
        for at in (0, 3, 10):
            label = f"gpt-iteration-{at}"
            for one in of(records, row | {"player": label}, label):
                iterations.append(at)
                scores.append(payoff(one, label))
                kept.append(agreed(one))
        assert row["all"] == pytest.approx(np.corrcoef(iterations, scores)[0, 1])
        some = np.array(kept)
        pair = np.array(iterations)[some], np.array(scores)[some]
        assert row["agreed"] == pytest.approx(np.corrcoef(*pair)[0, 1])
        assert (row["all.n"], row["agreed.n"]) == (72, some.sum())
        assert row["all.low"] < row["all"] < row["all.high"]
    (flat,) = lines(found, "correlations", objective="strictly competitive", partner="itself")
    assert flat["all"] is None
    notes = found.tables["correlations"].notes
    assert notes[0].startswith('Strictly competitive, self-play, all matches: "score" is 0.0')


def test_inconsistent_moves_are_a_share_of_all_moves(
    found: Findings, records: list[MatchRecord]
) -> None:
    for row in lines(found, "inconsistency"):
        matches = of(records, row, row["player"])
        metric = ct.get_game(GAME).metrics["inconsistency"].variant(False)
        moves = [one.result().outcome.turns for one in matches]
        faulty = [
            (metric(one.result()) or 0) * turns for one, turns in zip(matches, moves, strict=True)
        ]
        assert row["found"] == pytest.approx(100 * sum(faulty) / sum(moves))
        assert row["moves"] == row["found.n"] == sum(moves)
        assert row["source"] == "exact check"


def test_language_is_that_of_all_dialogues_together(
    found: Findings, records: list[MatchRecord]
) -> None:
    for row in lines(found, "diversity"):
        said = texts(of(records, row, row["player"]))
        assert row["vocabulary"] == vocabulary(said)
        for n in (1, 2, 3):
            assert row[f"entropy_{n}"] == pytest.approx(ngram_entropy(said, n))
        assert row["matches"] == 24
    for row in lines(found, "lengths"):
        turns = [one.result().outcome.turns for one in of(records, row, row["player"])]
        assert row["length"] == pytest.approx(np.mean(turns))
    assert "tokens" not in found.tables["lengths"].frame.columns


def test_strict_competition_is_shown_by_opponent(
    found: Findings, records: list[MatchRecord]
) -> None:
    rows = lines(found, "competition")
    assert [row["series"] for row in rows[:2]] == ["self-play", "against rival"]
    assert rows[-1]["series"] == "rival"
    for row in rows:
        other = row["player"] if row["against"] == "itself" else "rival"
        matches = of(records, row, other)
        assert row["own"] == pytest.approx(np.mean([payoff(one, row["player"]) for one in matches]))
        assert row["agreement"] == pytest.approx(100 * np.mean([agreed(one) for one in matches]))
    (score,) = found.charts["competition-score-figure"].panels
    (agreement,) = found.charts["competition-agreement-figure"].panels
    assert list(named(score)) == ["against rival"]
    assert list(named(agreement)) == ["self-play", "against rival", "rival"]


def test_iterations_meet_one_another_apart_from_other_players(
    found: Findings, records: list[MatchRecord]
) -> None:
    rows = lines(found, "cross-play")
    assert len(rows) == 3 * (3 + 2)
    for row in rows:
        matches = of(records, row, row["opponent"])
        assert row["own.n"] == len(matches) == 24
        assert row["own"] == pytest.approx(np.mean([payoff(one, row["player"]) for one in matches]))
        share = 100 * np.mean([agreed(one) for one in matches])
        assert row["agreement"] == pytest.approx(share)
    others = lines(found, "scores", series="with other players")
    assert {row["own.n"] for row in others} == {24}


def test_inverted_proposals_are_shown_of_strict_competition(
    found: Findings, records: list[MatchRecord]
) -> None:
    metric = ct.rules.get_game(GAME).metrics["inverted_proposals"].of
    for row in lines(found, "competition", series="self-play"):
        objective = {"objective": "strictly competitive", "player": row["player"]}
        shares = [metric(one.result()) for one in of(records, objective, row["player"])]
        kept = [100 * one for one in shares if one is not None]
        assert row["inverted_proposals"] == pytest.approx(np.mean(kept) if kept else None)


def test_charts_have_a_line_a_kind_of_play_and_one_across_for_the_reference(
    found: Findings,
) -> None:
    panels = found.charts["scores-figure"].panels
    assert [panel.title for panel in panels] == [
        "Semi-competitive", "Cooperative", "Strictly competitive",
    ]  # fmt: skip
    lines = named(panels[0])
    assert list(lines) == ["self-play", "with other players", "rival"]
    assert across(lines["self-play"]) == [0, 3, 10]
    rival = lines["rival"]
    assert isinstance(rival, Line)
    assert rival.dash
    assert len(set(up(rival))) == 1
    assert "95 % interval" in lines["self-play"].marks[0].text


def test_rows_lead_to_their_matches(found: Findings, store: Store) -> None:
    for name in ("scores", "agreements", "lengths", "inconsistency", "competition"):
        table = found.tables[name]
        for row in table.rows:
            lead = table.leads(row)
            assert lead is not None
            wanted = _match_filter(GAME, dict.fromkeys(PLAYERS, "player"), lead.query)
            assert ct.records.store.queries.count(store, STUDY, wanted) == 24


def test_the_published_code_calls_fewer_divisions_optimal(store: Store, found: Findings) -> None:
    published = findings(store, STUDY, "self-play", as_published=True, draws=100)
    where = {"player": "gpt-iteration-10", "partner": "itself", "objective": "semi-competitive"}
    (ours,), (theirs,) = (
        lines(found, "agreements", **where),
        lines(published, "agreements", **where),
    )
    assert theirs["agreement"] == ours["agreement"]
    assert theirs["pareto_optimality"] < ours["pareto_optimality"]


def test_judges_stand_beside_the_exact_check(tmp_path: Path) -> None:
    spec = SPEC | {"name": "judged", "instances": 10, "repeats": 1, "games": [{"game": GAME}]}
    with played(tmp_path / "judged.sqlite", spec) as store:
        lacking = findings(store, "judged", "self-play", draws=100).lacking["Judges"]
        assert "no judge has used the rubric hallucination" in lacking
        ct.judge(store, "judged", judge_of(), models=always("false value"))
        found = findings(store, "judged", "self-play", draws=100)
        agreement = ct.judges.agreements(store, "judged")[0]
        sheet = tmp_path / "sheet.csv"
        ct.judges.write_sheet(store, "judged", judge_of().rubric, sheet, sample=20)
        filled = sheet.read_text(encoding="utf-8").replace(",,\n", ",consistent,\n")
        sheet.write_text(filled.replace(",,\r\n", ",consistent,\r\n"), encoding="utf-8")
        ct.judges.import_labels(store, "judged", judge_of().rubric, sheet, by="hand")
        by_hand = findings(store, "judged", "self-play", draws=100)
    (row,) = lines(found, "judges")
    assert row["judge"] == "hallucination by vllm/judge"
    assert row["alike"] == pytest.approx(100 * agreement.precision.part / agreement.items)
    assert (row["recall"], row["items"]) == (100, agreement.items)
    assert row["kappa"] == pytest.approx(0, abs=1)
    assert sum(one["items"] for one in lines(found, "verdicts")) == agreement.items
    assert [row["reference"] for row in lines(by_hand, "judges")] == [
        "exact check", "hallucination by hand", "exact check",
    ]  # fmt: skip
    assert lines(by_hand, "inconsistency") == lines(found, "inconsistency")
    by_judge = lines(found, "inconsistency", source="hallucination by vllm/judge")
    by_check = lines(found, "inconsistency", source="exact check")
    assert [one["found"] for one in by_judge] == [100] * 4
    assert [one["moves"] for one in by_judge] == [one["moves"] for one in by_check]


def with_people(number: int) -> Iterator[ForeignGame]:
    """Games of two iterations with people, who are honest."""
    game = DealOrNoDeal(objective=1.0)
    for at in range(number):
        chance = Chance(f"people/{at}")
        instance = game.draw_instance(chance)
        skilled = at % 2 == 1
        strategies: dict[str, Decide] = dict(
            zip(PLAYERS, [honest if skilled else random, honest], strict=True)
        )
        table = play(game, instance, f"people/{at}", strategies)
        model = ImportedSeat(imported="mine", model=f"gpt-iteration-{4 if skilled else 0}")
        seats = [model, ImportedSeat(imported="mine", person=True)]
        yield ForeignGame(
            str(at), str(at), table, dict(zip(PLAYERS, seats, strict=True)), {"id": str(at)}
        )


def test_people_have_columns_of_their_own(tmp_path: Path) -> None:
    with Store.open(tmp_path / "people.sqlite", create=True) as store:
        import_matches(Collection("mine", "here", with_people(24)), store, "people")
        found = findings(store, "people", "self-play", draws=100)
        records = list(store.records("people", bodies=True))
    rows = lines(found, "scores")
    assert [(row["player"], row["series"]) for row in rows] == [
        ("gpt-iteration-0", "with people"), ("gpt-iteration-4", "with people"),
    ]  # fmt: skip
    mine = [one for one in records if one.label(PLAYERS[0]) == "gpt-iteration-4"]
    assert rows[1]["own"] == pytest.approx(np.mean([payoff(one, "human") for one in mine]))
    change = next(found.tables["before-after"].rows)
    assert (change["rate"], change["series"]) == ("Agreement", "with people")
    assert change["before"] == pytest.approx(share(records, 0))
    assert change["after"] == pytest.approx(share(records, 4))
    assert found.tables["before-after"].caption.endswith("with people, iterations 0 and 4.")
    lead = found.tables["scores"].leads(rows[0])
    assert lead is not None
    assert (lead.query["player"], lead.query["player_player"]) == ("gpt-iteration-0", "human")
    assert "no player met a copy of itself" in found.lacking["Length"]


def share(records: list[MatchRecord], iteration: int) -> float:
    """The share of agreements of an iteration, in percent."""
    mine = [one for one in records if one.label(PLAYERS[0]) == f"gpt-iteration-{iteration}"]
    return float(100 * np.mean([agreed(one) for one in mine]))


def test_people_among_themselves_are_players_like_others(tmp_path: Path) -> None:
    games = (
        one._replace(seats=dict.fromkeys(PLAYERS, ImportedSeat(imported="mine", person=True)))
        for one in with_people(4)
    )
    with Store.open(tmp_path / "people.sqlite", create=True) as store:
        import_matches(Collection("mine", "here", games), store, "people")
        found = findings(store, "people", "self-play", draws=100)
    (row,) = lines(found, "scores")
    assert (row["player"], row["partner"], row["own.n"]) == ("human", "itself", 4)
    assert lines(found, "diversity")[0]["matches"] == 4


def test_errors_and_tokens_are_those_of_models(tmp_path: Path) -> None:
    """A model whose first answer is ill-formed in two of its three matches."""
    seen: set[str] = set()

    def answer(call: ModelCall, number: str) -> str:
        match = number.split("/")[0]
        fresh = match not in seen
        seen.add(match)
        if fresh and len(seen) < 3:
            return "no JSON at all"
        return json.dumps({"message": "Deal or no deal?"})

    spec = {
        "name": "clumsy", "games": [{"game": GAME, "fixed": {"turns": 4}}],
        "players": {"m": {"model": "vllm/m"}, "n": {"strategy": "honest"}},
        "pairing": [["m", "m"], ["n", "n"]], "instances": 3,
    }  # fmt: skip
    with Store.open(tmp_path / "clumsy.sqlite", create=True) as store:
        ct.run(ct.studies.parse_study(spec, "test"), store, models=Canned(answer))
        found = findings(store, "clumsy", "self-play", draws=100)
    model, scripted = lines(found, "errors-aborts")
    assert model["erred"] == pytest.approx(100 * 2 / 3)
    assert (scripted["erred"], scripted["aborted"]) == (0, 0)
    told = {row["player"]: row["tokens"] for row in found.tables["lengths"].rows}
    assert told["m"] > 0
    assert told["n"] is None


def test_what_no_check_can_read_and_what_nobody_said_is_told(tmp_path: Path) -> None:
    spec = {"name": "idle", "games": [{"game": GAME, "fixed": {"turns": 4}}],
            "players": {"m": {"model": "vllm/m"}}, "pairing": "self"}  # fmt: skip
    study = ct.studies.parse_study(spec, "test")
    with Store.open(tmp_path / "idle.sqlite", create=True) as store:
        ct.run(study, store, models=Canned(lambda *_: json.dumps({"message": "Well..."})))
        ct.judge(store, "idle", judge_of(), models=always("consistent"))
        lacking = findings(store, "idle", "self-play", draws=100).lacking["Judges"]
    assert lacking.startswith("the exact check has no verdicts on the judged moves")
    with Store.open(tmp_path / "mute.sqlite", create=True) as store:
        ct.run(study, store, models=Canned(lambda *_: REFUSAL))
        found = findings(store, "idle", "self-play", draws=100)
    assert found.lacking["Vocabulary and entropy"] == "the self-play dialogues contain no messages"
    assert [row["aborted"] for row in lines(found, "errors-aborts")] == [100]


def test_a_row_of_several_opponents_leads_nowhere(tmp_path: Path) -> None:
    players = {name: {"strategy": name} for name in ("honest", "fair", "greedy")}
    spec = {"name": "three", "games": [{"game": GAME, "fixed": {"objective": "comp"}}],
            "players": players}  # fmt: skip
    with played(tmp_path / "three.sqlite", spec) as store:
        table = findings(store, "three", "self-play", draws=100).tables["scores"]
    leads = {row["partner"]: table.leads(row) for row in table.rows}
    assert leads["others"] is None
    assert leads["itself"] is not None


@pytest.mark.parametrize(
    ("changed", "lacking"),
    [
        ({}, {"Before and after", "Correlation of score and iteration", "Strict competition",
        "Judges"}),
        (
            {"players": {"a-iteration-1": {"strategy": "greedy"},
                         "a-iteration-2": {"strategy": "greedy", "share": 0.9}}, "instances": 3},
            {"Strict competition", "Judges"},
        ),
        (
            {"players": {"b": {"strategy": "honest"}, "a": {"strategy": "greedy"}},
             "pairing": [["a", "b"]], "games": [{"game": GAME, "fixed": {"objective": -1}}]},
            {"Before and after", "Correlation of score and iteration", "Inconsistent messages",
            "Length",
             "Vocabulary and entropy", "Judges"},
        ),
        (
            {"games": [{"game": GAME, "fixed": {"objective": 0.5}}],
             "players": {"a-iteration-1": {"strategy": "honest"},
                         "b-iteration-2": {"strategy": "fair"}}},
            {"Before and after", "Correlation of score and iteration", "Strict competition",
            "Judges"},
        ),
    ],
)  # fmt: skip
def test_the_smallest_studies_give_what_they_can(
    changed: dict[str, Any], lacking: set[str], tmp_path: Path
) -> None:
    spec = {"name": "tiny", "games": [{"game": GAME}], "players": {"a": {"strategy": "honest"}},
            "pairing": "self"} | changed  # fmt: skip
    with played(tmp_path / "tiny.sqlite", spec) as store:
        found = findings(store, "tiny", "self-play", draws=100)
        write_findings(found, tmp_path / "tiny.html")
    assert set(found.lacking) == lacking | {"Cross-play"}
    assert {"scores", "agreements", "errors-aborts"} <= set(found.tables)
    page = (tmp_path / "tiny.html").read_text(encoding="utf-8")
    assert "NaN" not in str(found)
    assert all(reason in page for reason in found.lacking.values())


def test_another_game_alone_says_so(tmp_path: Path) -> None:
    spec = {"name": "other", "games": [{"game": "bargaining"}],
            "players": {"a": {"strategy": "linear"}}}  # fmt: skip
    with played(tmp_path / "other.sqlite", spec) as store:
        found = findings(store, "other", "self-play", draws=100)
    assert list(found.tables) == ["played", "played-by-player"]
    assert set(found.lacking.values()) == {
        "no match of deal_or_no_deal has finished; run the preset self-play"
    }


@pytest.mark.browser
def test_the_presets_page_draws_and_drills_down_in_a_browser(tmp_path: Path) -> None:
    preset = ct.studies.preset("self-play")
    assert preset is not None
    assert [stage_of(label).iteration for label in preset.players] == [*range(11), None]
    with Store.open(tmp_path / "preset.sqlite", create=True) as store:
        ct.run(preset.model_copy(update={"instances": 3}), store)
        found = findings(store, "self-play", "self-play", draws=100)
        page = tmp_path / "page.html"
        write_findings(found, page)
    assert list(found.lacking) == ["Cross-play", "Judges"]

    async def visit(tab: Tab) -> None:
        await tab.visit(page.as_uri(), width=375)
        await tab.until("document.querySelectorAll('.plot svg').length > 20")
        assert await tab.run("document.documentElement.scrollWidth") == 375
        names = await tab.run(
            "[...document.querySelectorAll('.tabular')].map((t) => t.dataset.name)"
        )
        assert set(found.tables) == set(names)
        empty = "[...document.querySelectorAll('.tabular tbody')].filter((b) => !b.rows.length)"
        assert await tab.run(f"{empty}.length") == 0
        await tab.run("document.querySelector('[data-name=scores] tbody a').focus()")
        await tab.press("Enter")
        reader = "document.getElementById('reader')"
        await tab.until(f"{reader}.open && {reader}.querySelectorAll('.turn').length > 1")
        assert "iteration-0" in await tab.run(f"{reader}.querySelector('h2').textContent")
        assert tab.complaints == []

    browse(tmp_path / "profile", visit)
