"""The leaderboard: recomputed standings, and ranks that change with newcomers."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.reports.recipes.evidence import Evidence, check_models, check_scripts
from cheaptalk.reports.recipes.leaderboard import _Board
from cheaptalk.reports.recipes.means import means, over_games
from cheaptalk.reports.recipes.tables import ReportTable
from cheaptalk.reports.study.comparability import OPPONENTS
from cheaptalk.statistics import STRATA
from cheaptalk.statistics.participants import PEOPLE
from cheaptalk.studies.runs.scripted import play_scripted
from tests.conftest import Command

SELLERS = {
    "fair": {"alice": "honest", "bob": "trusting"},
    "tough": {"alice": "always_recommend", "bob": "sceptical"},
}
OLD: dict[str, Any] = {
    "name": "old",
    "seed": 3,
    "games": [
        {"game": "bargaining", "fixed": {"horizon": 6}, "grid": {"money": [100, 10_000]}},
        {"game": "persuasion", "fixed": {"horizon": 5}},
    ],
    "players": {
        "fair": {"strategies": {"bargaining": "equal_split", "persuasion": SELLERS["fair"]}},
        "luck": {"strategies": {"bargaining": "random", "persuasion": "random"}},
    },
    "instances": 6,
}
NEW = OLD | {
    "name": "new",
    "players": OLD["players"]
    | {"tough": {"strategies": {"bargaining": "boulware", "persuasion": SELLERS["tough"]}}},
}
TABLES: dict[str, Any] = {
    "name": "tables",
    "games": [{"game": "guess_the_average", "fixed": {"rounds": 3}, "pairing": "self"}],
    "players": {
        "zero": {"strategy": "fixed", "choices": [0]},
        "high": {"strategy": "fixed", "choices": [90]},
    },
    "instances": 3,
}
ONE = OLD | {"name": "one", "players": {"fair": OLD["players"]["fair"]}}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("standing") / "store.sqlite"
    with ct.Store.open(path, create=True) as opened:
        for study in (OLD, NEW, TABLES, ONE):
            ct.run(ct.studies.parse_study(study, "here"), opened)
    return path


def board(store: Path, *studies: str, **options: Any) -> Any:
    with ct.Store.open(store) as opened:
        return ct.reports.leaderboard(opened, studies, draws=200, **options)


def test_standings_are_standardised_by_role_and_configuration(store: Path) -> None:
    shown = board(store, "new").tables["leaderboard"].frame
    got: dict[tuple[Any, ...], list[tuple[str, float]]] = {}
    with ct.Store.open(store) as opened:
        for record in opened.records("new"):
            if record.game == "bargaining" and record.payoffs:
                for seat in ("alice", "bob"):
                    key = (record.parameters["money"], seat)
                    got.setdefault(key, []).append((record.label(seat), record.payoffs[seat]))
    z: dict[str, list[float]] = {}
    for of in got.values():
        numbers = np.array([number for _, number in of])
        for label, number in of:
            z.setdefault(label, []).append((number - numbers.mean()) / numbers.std(ddof=1))
    for row in shown.iter_rows(named=True):
        assert row["bargaining"] == pytest.approx(np.mean(z[row["player"]]))
        assert row["overall"] == pytest.approx((row["bargaining"] + row["persuasion"]) / 2)
    assert shown["rank"].to_list() == [1, 2, 3]
    assert shown["overall"].is_sorted(descending=True)


def test_ranks_change_when_a_player_joins(store: Path) -> None:
    moves = board(store, "new", new=["tough"]).tables["moves"].frame
    original = board(store, "old").tables["leaderboard"].frame
    before = dict(moves.select("player", "without tough").iter_rows())
    assert before["tough"] is None
    assert {who: rank for who, rank in before.items() if rank} == dict(
        original.select("player", "rank").iter_rows()
    )
    stages = board(store, "old", "new").tables["moves"].frame
    assert stages.select("player", "old").equals(
        moves.select("player", pl.col("without tough").alias("old"))
    )


def test_standings_pool_studies_and_games(store: Path) -> None:
    both, alone = (
        board(store, *names).tables["leaderboard"].frame for names in (("old", "new"), ("new",))
    )
    assert both["overall_n"].to_list() == alone["overall_n"].to_list()

    leaderboard = board(store, "new", games=["bargaining"]).tables["leaderboard"]
    wanted = leaderboard.frame.select("overall_wanted", "bargaining_wanted")
    assert wanted["overall_wanted"].equals(wanted["bargaining_wanted"])
    assert wanted["overall_wanted"].drop_nulls().min() >= 25

    shown = board(store, "tables").tables["leaderboard"].frame
    assert shown["player"].to_list() == ["zero", "high"]  # all 0 scores 100, all 90 scores 10
    assert shown["rank"].to_list() == [1, 2]


def test_incomparable_players_are_listed_separately(store: Path, tmp_path: Path) -> None:
    result = board(store, "new", "tables")
    assert sorted(result.tables["leaderboard"].frame["player"]) == ["fair", "luck", "tough"]
    apart = result.tables["not-ranked"].frame
    assert apart["player"].to_list() == ["high", "zero"]
    assert apart["lacks"][0] == (
        "6 of 6 combinations of configuration and role in Bargaining, Persuasion"
    )
    assert apart["z"][1] > 0 > apart["z"][0]
    assert "zero" not in result.answers["Standing"]

    path = tmp_path / "store.sqlite"
    apart = {
        "name": "apart",
        "players": OLD["players"],
        "instances": 6,
        "games": [{"game": "bargaining", "fixed": {"horizon": 6}}],
        "pairing": [["fair", "luck"]],
    }
    with ct.Store.open(path, create=True) as opened:
        ct.run(ct.studies.parse_study(apart, "here"), opened)
    assert board(path, "apart").lacking["Standing"].startswith("no player can be ranked: no two")


def test_opponents_determine_who_is_ranked(tmp_path: Path, store: Path) -> None:
    path = tmp_path / "store.sqlite"
    players: dict[str, Any] = {
        label: {"strategy": "fixed_demand", "share": share}
        for label, share in {"a": 0.5, "b": 0.6, "c": 0.55, "d": 0.65}.items()
    }
    players |= {"soft": {"strategy": "conceder"}, "hard": {"strategy": "boulware"}}
    study = {
        "name": "halves",
        "players": players,
        "instances": 5,
        "games": [{"game": "bargaining", "fixed": {"horizon": 6}}],
        "pairing": [["a", "soft"], ["b", "soft"], ["c", "hard"], ["d", "hard"]],
    }
    with ct.Store.open(path, create=True) as opened:
        ct.run(ct.studies.parse_study(study, "here"), opened)
    shown = board(path, "halves")
    assert sorted(shown.tables["leaderboard"].frame["player"]) == ["a", "b"]
    lacks = dict(shown.tables["not-ranked"].frame.select("player", "lacks").iter_rows())
    assert lacks["c"] == "the opponents soft"
    assert " c " not in shown.answers["Standing"]

    with ct.Store.open(store) as opened:
        evidence = Evidence(opened, "new")
        frames = cast("dict[str, pl.DataFrame]", evidence.frames)
        frame = frames["bargaining"]
        met = pl.concat_list("player_alice", "player_bob").list
        kept = ~met.contains("tough") | met.contains("fair")
        frames["bargaining"] = frame.filter(kept)
        only = _Board((evidence,), ("bargaining",), ())
        shown = [part for part in only.standing(evidence) if isinstance(part, ReportTable)]
    assert sorted(shown[0].frame["player"]) == ["fair", "luck"]
    assert shown[0].notes[-1].startswith("Matches with tough are excluded")
    assert shown[1].frame["lacks"].to_list() == ["the opponents luck"]


def test_constant_results_prevent_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pl.DataFrame(
        [
            {
                "player": who,
                "game": game,
                "configuration": "c",
                "instance": f"{instance}",
                "z": 0.5 if (who, game) == ("still", "persuasion") else instance % 3 - 1.0,
            }
            for who in ("still", "moved")
            for game in ("bargaining", "persuasion")
            for instance in range(30)
        ]
    )
    overall = over_games(means(rows, ["z"], ["player", "game"], strata=STRATA), "z")
    limits = {row["player"]: (row["z.low"], row["z.high"]) for row in overall.iter_rows(named=True)}
    assert limits["still"] == (None, None)
    assert limits["moved"][0] == pytest.approx(-limits["moved"][1])

    lottery = np.zeros(30)
    lottery[7] = 1.0
    text, frame = standing_of({"safe": [0.1] * 30, "lottery": lottery.tolist()}, monkeypatch)
    assert text.startswith("No player is clearly first: safe")
    assert "some players never varied in it" in text
    assert frame["sure"].to_list() == [None, None]


def standing_of(
    gains: Mapping[str, Sequence[float | None]], monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Return the answer and the leaderboard of players with these gains on shared instances."""
    rows = pl.DataFrame(
        [
            {
                "game": "bargaining",
                "role": "alice",
                "match_id": f"{who} {at}",
                "configuration": "c",
                "instance": f"{at}",
                "pairing": f"{who} / rival",
                "player": who,
                OPPONENTS: ["rival"],
                "status": "finished",
                "got": gain,
                "end": "failed" if gain is None else None,
                PEOPLE: None,
            }
            for who, player_gains in gains.items()
            for at, gain in enumerate(player_gains)
        ],
        schema_overrides={PEOPLE: pl.List(pl.String), "end": pl.String},
    )
    monkeypatch.setattr(_Board, "rows", lambda *_: rows)
    evidence = cast("Evidence", SimpleNamespace(draws=300, seed=0))
    answer, _, table = cast("Iterator[Any]", _Board((), (), ()).standing(evidence))
    return answer.text, table.frame


def test_instances_with_a_failed_match_are_excluded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: a player that failed on poor instances was first "with 95 % confidence"."""
    luck = np.random.default_rng(8).normal(size=40).tolist()
    flees = [gain if gain > 0 else None for gain in luck]
    text, frame = standing_of({"steady": luck, "fleeing": flees}, monkeypatch)
    assert text.startswith(("fleeing and steady have the same", "steady and fleeing have the same"))
    assert frame["rank"].to_list() == [1, 1]
    remaining = sum(gain > 0 for gain in luck)
    assert f" {40 - remaining} of {40 + remaining} results are excluded because a match" in text


def test_verdict_states_ties_and_uncertainty(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [1e-3, 0.1, 0.7, 0.2, 1 / 3, 1e-6, 0.9, 1 / 7]
    gains = {who: values[turn:] + values[:turn] for turn, who in enumerate("abcd")}
    text, frame = standing_of(gains, monkeypatch)
    assert frame["rank"].to_list() == [1, 1, 1, 1]
    assert frame["overall"].to_list() == [0, 0, 0, 0]
    assert text.startswith(
        "All 4 players have the same mean, 0.00 standard deviations above the average, on these 8 "
        "instances; this does not show that they are equal: the difference between a and d is 0.00 "
        "(simultaneous 95 % interval -"
    )
    assert "more instances" not in text

    luck = np.random.default_rng(2)
    shared, noise = luck.normal(size=30), luck.normal(size=(3, 30)) / 10
    ahead, behind, last = (shared + noise[at] + gain for at, gain in enumerate((0.5, 0.0, -0.5)))
    text, frame = standing_of({"a": ahead, "b": behind, "c": last}, monkeypatch)
    assert frame["sure"].to_list() == ["1 to 1", "2 to 2", "3 to 3"]
    assert frame["overall_low"][0] < frame["overall"][0]
    lead = frame["overall"][0] - frame["overall"][1]
    assert f" is first, {lead:.2f} ahead of b (simultaneous 95 % interval " in text
    low = float(text.split("interval ")[1].split(" to ")[0])
    assert 0 < low < lead
    text, _ = standing_of({"a": noise[0], "b": noise[1], "c": noise[2]}, monkeypatch)
    assert text.startswith("No player is clearly first yet")
    assert float(text.split("interval ")[1].split(" to ")[0]) <= 0

    few, _ = standing_of({"a": [0.1, 0.9, 0.4], "b": [0.3, 0.5, 0.45]}, monkeypatch)
    assert "these are too few instances to estimate how many are needed" in few
    draws = np.random.default_rng(5).normal(size=(2, 40))
    close = {"a": draws[0], "b": draws[1] - draws[1].mean() + draws[0].mean() - 0.01}
    tiny, _ = standing_of(close, monkeypatch)
    assert tiny.endswith("a clear result would need more than 100 times as many instances.")
    close["b"] -= 0.25
    more, _ = standing_of(close, monkeypatch)
    assert re.search(r"about \d+\.\d times as many instances would show it in 4 of 5 studies", more)


def test_single_player_gives_no_leaderboard(
    cheaptalk: Command, store: Path, tmp_path: Path
) -> None:
    done = cheaptalk("leaderboard", "one", "--store", str(store))
    assert done.status == 1
    assert "requires finished matches of at least two players" in done.out
    result = board(store, "new", new=["tough", "luck"])
    assert "without the new players, no match remains" in result.lacking["Rank changes"]


def test_command_prints_writes_and_reports_errors(
    cheaptalk: Command, store: Path, tmp_path: Path
) -> None:
    where = ("--store", str(store))
    done = cheaptalk(
        "leaderboard", "new", "--newcomer", "tough", *where, "--json", "--out", "b.html"
    )
    assert done.status == 0, done.err
    assert list(json.loads(done.out)["tables"]) == ["leaderboard", "moves"]
    assert "Ranks by stage" in (tmp_path / "b.html").read_text()
    for arguments, sentence in (
        (("knew",), 'no study "knew"'),
        (("new", "--newcomer", "rough"), 'no player "rough" (did you mean "tough"?) in new'),
        (("new", "--game", "bargainin"), 'no game "bargainin" (did you mean "bargaining"?)'),
    ):
        wrong = cheaptalk("leaderboard", *arguments, *where)
        assert wrong.status == 2
        assert sentence in wrong.said


def test_storage_order_does_not_change_standings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def backwards(*given: Any) -> Any:
        return ((share, [*reversed(chunk)]) for share, chunk in play_scripted(*given))

    study = ct.studies.parse_study(NEW | {"instances": 20}, "here")
    ct.run(study, tmp_path / "one.sqlite")
    monkeypatch.setattr("cheaptalk.studies.runs.run.play_scripted", backwards)
    ct.run(study, tmp_path / "other.sqlite")
    first, second = (board(tmp_path / name, "new") for name in ("one.sqlite", "other.sqlite"))
    assert first.tables["leaderboard"].frame.equals(second.tables["leaderboard"].frame)


def test_labels_must_name_one_player() -> None:
    cool = {"model": "openai/gpt", "temperature": 0.2}
    same: dict[str, Any] = {"a": {"gpt": cool}, "b": {"gpt": cool, "fair": {"strategy": "x"}}}
    check_models(same | {"c": {"fair": {"strategy": "y"}}})
    with pytest.raises(ct.CheaptalkError, match="gpt differs between a and d: temperature"):
        check_models(same | {"d": {"gpt": cool | {"temperature": 1.0}}})

    def at(game: str, share: float) -> dict[str, Any]:
        return {"game": game, "strategy": "fixed_demand", "settings": {"share": share}}

    first = {"a": {"hard": [at("bargaining", 0.7), at("bargaining", 0.8)]}}
    for fits in ([at("bargaining", 0.7)], [at("negotiation", 0.1)], []):
        check_scripts(first | {"b": {"hard": fits, "soft": [at("bargaining", 0.1)]}})
    with pytest.raises(ct.CheaptalkError, match="hard differs between a and b: the player plays"):
        check_scripts(first | {"b": {"hard": [at("bargaining", 0.9)]}})
