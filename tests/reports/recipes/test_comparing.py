"""Comparisons of two studies: paired on shared instances, by cell otherwise."""

import json
import math
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from scipy import stats

import cheaptalk as ct
from cheaptalk.reports.recipes.comparison import _Comparison
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Answer
from cheaptalk.reports.recipes.study_differences import Difference, difference, unchanged_pairs
from cheaptalk.rules.bounds import SHARE
from cheaptalk.statistics.limits import UNBOUNDED, Bounds
from tests.conftest import Command
from tests.known import known
from tests.statistics.hall import wider_interval

FIRST: dict[str, Any] = {
    "name": "first",
    "seed": 3,
    "games": [{"game": "bargaining", "fixed": {"horizon": 6}}],
    "players": {"fair": {"strategy": "equal_split"}, "luck": {"strategy": "random"}},
    "instances": 12,
}
SECOND = FIRST | {
    "name": "second",
    "players": {"fair": {"strategy": "boulware"}, "luck": {"strategy": "random"}},
}
ELSEWHERE = SECOND | {"name": "elsewhere", "seed": 4}
NAMED = SECOND | {
    "name": "named",
    "players": {"new": {"strategy": "boulware"}, "luck": {"strategy": "random"}},
}
TWO_GAMES = FIRST | {
    "name": "two-games",
    "games": [*FIRST["games"], {"game": "negotiation", "fixed": {"horizon": 4}}],
    "players": {
        "us": {"strategies": {"bargaining": "equal_split", "negotiation": "zero_intelligence"}},
        "luck": {"strategies": {"bargaining": "random", "negotiation": "random"}},
    },
    "instances": 8,
}
TWO_CHANGED = TWO_GAMES | {
    "name": "two-games-changed",
    "players": TWO_GAMES["players"]
    | {"us": {"strategies": {"bargaining": "boulware", "negotiation": "boulware"}}},
}
PERSUADED = FIRST | {
    "name": "persuaded",
    "games": [{"game": "persuasion", "fixed": {"horizon": 3}}],
    "players": {"fair": {"strategies": {"persuasion": "random"}}},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compared") / "store.sqlite"
    with ct.Store.open(path, create=True) as opened:
        for study in (FIRST, SECOND, ELSEWHERE, NAMED, PERSUADED, TWO_GAMES, TWO_CHANGED):
            ct.run(ct.studies.parse_study(study, "here"), opened)
    return path


@pytest.fixture(scope="module")
def findings(store: Path) -> ct.reports.Findings:
    """The comparison of the first and second studies."""
    with ct.Store.open(store) as opened:
        return ct.reports.compare(opened, "first", "second")


@pytest.fixture(scope="module")
def differences(findings: ct.reports.Findings) -> pl.DataFrame:
    """The differences between the first and second studies."""
    return findings.tables["compare-bargaining"].frame


def compared(store: Path, *studies: str, **options: Any) -> pl.DataFrame:
    with ct.Store.open(store) as opened:
        findings = ct.reports.compare(opened, *studies, **options)
    return findings.tables["compare-bargaining"].frame


def gains(store: Path, study: str, label: str) -> dict[tuple[str, str], float]:
    """Return a player's payoffs as Alice by rival and instance."""
    with ct.Store.open(store) as opened:
        return {
            (record.label("bob"), record.instance_key): record.payoffs["alice"] / 10_000
            for record in opened.records(study)
            if record.label("alice") == label and record.payoffs
        }


def row_of(frame: pl.DataFrame, who: str, score: str = "Self gain Alice") -> dict[str, Any]:
    chosen = (pl.col("who") == who) & (pl.col("score") == score) & (pl.col("role") == "Alice")
    return frame.row(by_predicate=chosen, named=True)


def test_pairs_need_the_same_instances(store: Path, differences: pl.DataFrame) -> None:
    row = row_of(differences, "fair")
    before, after = gains(store, "first", "fair"), gains(store, "second", "fair")
    assert row["difference_n"] == len(before) == 24
    assert row["difference_clusters"] == 12
    changes = {key: after[key] - before[key] for key in before}
    assert row["difference"] == pytest.approx(np.mean(list(changes.values())))
    by_instance: dict[str, list[float]] = {}
    for (_, instance), value in changes.items():
        by_instance.setdefault(instance, []).append(value - row["difference"])
    off = np.array([sum(values) / 24 for values in by_instance.values()])
    limits = wider_interval(off, row["difference"], 11)
    assert (row["difference_low"], row["difference_high"]) == pytest.approx(limits)
    low, high = wider_interval(off, row["difference"], 11, 1 - row["p"])
    assert min(abs(low), abs(high)) == pytest.approx(0, abs=1e-9)

    row = row_of(compared(store, "first", "elsewhere"), "luck")
    by_study: list[list[float]] = []
    for study in ("first", "elsewhere"):
        payoffs = gains(store, study, "luck")
        instances = {instance for _, instance in payoffs}
        by_study.append(
            [(payoffs["fair", instance] + payoffs["luck", instance]) / 2 for instance in instances]
        )
    assert row["difference_n"] == 2
    assert row["difference"] == pytest.approx(np.mean(by_study[1]) - np.mean(by_study[0]))
    welch = stats.ttest_ind(by_study[1], by_study[0], equal_var=False)
    assert row["difference_low"] <= welch.confidence_interval().low + 1e-12
    assert row["difference_high"] >= welch.confidence_interval().high - 1e-12
    assert row["p"] >= welch.pvalue - 1e-12


def results(rows: Iterable[tuple[str, str, int, float]]) -> pl.DataFrame:
    """Return a player's gains by configuration, pairing and instance."""
    return pl.DataFrame(
        [
            {"who": "gpt", "configuration": c, "pairing": pairing, "instance": f"{instance}"}
            | {"repeat": 0, "gain": float(gain)}
            for c, pairing, instance, gain in rows
        ]
    )


def changed(
    before: pl.DataFrame, after: pl.DataFrame, *, paired: bool = True, bounds: Bounds = UNBOUNDED
) -> Difference:
    """Return the difference of a player's mean gains in two studies."""
    return known(difference(before, after, "gain", paired, bounds))


def test_equal_players_with_shared_instances_rarely_differ() -> None:
    luck = np.random.default_rng(7)
    significant = 0
    for _ in range(30):
        before, after = (played(luck, pairings=6, instances=10) for _ in range(2))
        result = changed(before, after, paired=False)
        assert (result.n, result.clusters) == (12, 20)
        significant += known(result.p) < 0.05
    assert significant / 30 == pytest.approx(0.05, abs=0.05)  # 0.34 if cells were independent


def test_rounding_is_not_a_change() -> None:
    before = played(np.random.default_rng(7), pairings=6, instances=37)
    before = before.with_columns(pl.col("gain").first().over("pairing"))
    result = changed(before, before.with_columns(pl.col("gain") + 0.7), paired=False)
    assert result.difference == pytest.approx(0.7)
    assert result.limits == (None, None)
    assert result.p == pytest.approx(2 / math.comb(74, 37) ** 2)

    before = played(np.random.default_rng(3), pairings=3, instances=4)
    after = before.with_columns(pl.col("gain") * (1 + 3e-16)).sample(fraction=1, shuffle=True)
    for paired in (True, False):
        result = changed(before, after, paired=paired)
        assert result.difference == 0
        assert result.p == (1 if paired else pytest.approx(1))


def test_pairings_with_one_instance_each_show_no_change() -> None:
    """Regression: with one match per pairing, equal players changed in 17 of 20 studies."""
    draw, significant = np.random.default_rng(8), 0
    for _ in range(15):
        before, after = (
            results(
                (f"c{cell}", f"q{rival} / gpt", rival, draw.normal())
                for cell in range(5)
                for rival in range(3)
            )
            for _ in range(2)
        )
        result = changed(before, after, paired=False)
        significant += result.p is not None and result.p < 0.05
    assert significant <= 1


def outcomes(luck: np.random.Generator, instances: Sequence[int], share: float) -> pl.DataFrame:
    """Return a player's wins, with these numbers of instances by configuration."""
    return results(
        (str(place), "gpt / rival", instance, float(luck.random() < share))
        for place, count in enumerate(instances)
        for instance in range(count)
    )


def test_equal_players_rarely_differ_on_few_instances() -> None:
    for paired in (True, False):
        for instances in ([2], [1, *[2] * 19], [*[1] * 10, *[3] * 10]):
            luck, significant = np.random.default_rng(11), 0
            for _ in range(25):
                before, after = (outcomes(luck, instances, 0.6) for _ in range(2))
                result = changed(before, after, paired=paired, bounds=SHARE)
                low, high = result.limits
                if low is not None and high is not None:
                    assert -1 <= low <= result.difference <= high <= 1
                significant += result.p is not None and result.p < 0.05
            assert significant <= 3  # 25 if a missing p counted as a change


def test_too_few_instances_are_inconclusive() -> None:
    luck = np.random.default_rng(2)
    before, after = (outcomes(luck, [1, *[4] * 19], share) for share in (0.1, 0.9))
    result = changed(before, after, paired=False)
    assert known(result.p) < 0.001

    before = results(("a", "x", instance, gain) for instance, gain in enumerate((0.1, 0.3)))
    after = before.with_columns(gain=pl.Series([0.5, 0.9]))
    result = changed(before, after, bounds=SHARE)
    assert (result.p, result.limits) == (None, (None, None))
    after = before.with_columns(pl.col("gain") + 0.5)
    alike = changed(before, after, bounds=SHARE)
    assert (alike.p, alike.limits) == (0.5, (None, None))  # two instances with the same sign


def played(luck: np.random.Generator, *, pairings: int, instances: int) -> pl.DataFrame:
    """Return matches in two configurations whose instances affect all pairings alike."""
    rows = []
    for configuration, scale in (("a", 1.0), ("b", 2.0)):
        moved = scale * luck.normal(size=instances)
        gained = moved[:, None] + luck.normal(size=(instances, pairings))
        rows += [
            (configuration, f"gpt / {rival}", instance, gained[instance, rival])
            for instance in range(instances)
            for rival in range(pairings)
        ]
    return results(rows)


def test_aliases_match_players_with_different_labels(
    store: Path, differences: pl.DataFrame
) -> None:
    assert compared(store, "first", "named", renamed={"new": "fair"}).equals(differences)
    swapped = compared(store, "first", "second", renamed={"luck": "fair"})
    assert set(swapped["who"]) == {"fair"}
    assert row_of(swapped, "fair")["difference_n"] == 12  # only against itself

    with pytest.raises(ct.CheaptalkError, match="fair and luck can't both replace fair"):
        compared(store, "first", "second", renamed={"luck": "fair", "fair": "fair"})


def test_matches_in_both_studies_are_excluded(
    cheaptalk: Command, store: Path, tmp_path: Path, findings: ct.reports.Findings
) -> None:
    """Regression: they were paired with themselves, which pulled differences to 0."""
    frame = findings.tables["compare-bargaining"].frame
    assert row_of(frame, "luck")["difference_n"] == 12  # only against fair, not itself
    copy = tmp_path / "copy.sqlite"
    shutil.copy(store, copy)
    with ct.Store.open(store) as opened:
        with_copy = ct.reports.compare(opened, "first", "second", other_store=copy)
    assert with_copy.tables["compare-bargaining"].frame.equals(frame)
    for answers in (findings.answers, with_copy.answers):
        assert answers["Bargaining"].endswith(
            " 12 matches belong to both studies and are excluded."
        )
    done = cheaptalk("compare", "first", "first", "--store", str(store))
    assert done.status == 1
    assert "share only 48 stored matches, so nothing can differ" in " ".join(done.out.split())


def test_unchanged_studies_have_equal_outcomes(store: Path) -> None:
    for shift, sentence in [
        (0, "nothing changed: the outcome is the same in all 48 pairs of matches."),
        (1, "no significant change in 20 differences."),  # equal means
    ]:
        with ct.Store.open(store) as opened:
            before, after = Evidence(opened, "first"), Evidence(opened, "first")
            frames = cast("dict[str, pl.DataFrame]", after.frames)
            instances = pl.col("instance").gather((pl.int_range(pl.len()) + shift) % pl.len())
            frames["bargaining"] = (
                frames["bargaining"]
                .sort("instance")
                .with_columns(
                    instances.over("configuration", "pairing"),
                    match_id=pl.col("match_id") + " again",
                )
            )
            made = [*_Comparison(after, {}, ("bargaining",)).changes("bargaining", before)]
        assert isinstance(made[0], Answer)
        assert made[0].text == f"From “first” to “first”, {sentence}"

    pair = pl.DataFrame(
        {"configuration": "c", "pairing": "a / b", "instance": ["0", "1"], "repeat": 0}
    )
    same = pair.with_columns(x=pl.Series([1.0, None]), y=pl.Series([True, False]))
    assert unchanged_pairs(same, same, ["x", "y"]) == 2
    assert unchanged_pairs(same, same.with_columns(x=1.0), ["x", "y"]) is None
    assert unchanged_pairs(same, same.with_columns(y=True), ["x", "y"]) is None


def test_p_values_are_corrected_for_comparisons_in_all_games(store: Path) -> None:
    with ct.Store.open(store) as opened:
        findings = ct.reports.compare(opened, "two-games", "two-games-changed")
    frames = [table.frame for name, table in findings.tables.items() if name.startswith("compare")]
    assert len(frames) == 2
    every = pl.concat(frame.select("p", "p_corrected") for frame in frames)
    smallest = every.sort("p", nulls_last=True).row(0, named=True)
    assert smallest["p_corrected"] == pytest.approx(min(1, smallest["p"] * len(every)))
    for frame, answer in zip(frames, findings.answers.values(), strict=False):
        assert len(frame) < len(every)
        assert f"{len(every)} differences" in answer


def test_gains_are_charted_first_and_not_repeated_as_payoffs(
    findings: ct.reports.Findings,
) -> None:
    drawn = [panel.title for panel in findings.charts["compare-bargaining-figures"].panels]
    assert drawn == [
        "Self gain Alice",
        "Self gain Bob",
        "Agreement",
        "Efficiency",
        "Fairness",
        "Rounds played",
    ]

    scores = set(findings.tables["compare-bargaining"].frame["score"])
    assert "Self gain Alice" in scores
    assert not any(score.startswith("Payoff") for score in scores)


def test_command_prints_writes_and_reports_errors(
    cheaptalk: Command, store: Path, tmp_path: Path
) -> None:
    where = ("--store", str(store))
    done = cheaptalk("compare", "first", "second", *where, "--out", "page.html")
    assert done.status == 0, done.err
    assert done.out.startswith("Bargaining: From “first” to “second”, ")
    assert "\nBargaining: change from first to second\n" in done.out
    assert "change from first to second" in (tmp_path / "page.html").read_text()
    result = cheaptalk("compare", "first", "second", *where, "--json")
    assert json.loads(result.out)["tables"]["compare-bargaining"][0]["who"] == "fair"
    for arguments, sentence in (
        (("first", "third"), 'no study "third"'),
        (("first", "named", "--alias", "new"), 'expected ALIAS=NAME, got "new"'),
        (
            ("first", "named", "--alias", "knew=fair"),
            'no player "knew" (did you mean "new"?) in named',
        ),
        (
            ("first", "named", "--alias", "new=air"),
            'no player "air" (did you mean "fair"?) in first',
        ),
    ):
        wrong = cheaptalk("compare", *arguments, *where)
        assert wrong.status == 2
        assert sentence in wrong.said


def test_existing_files_are_not_replaced(cheaptalk: Command, store: Path, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text("mine")
    before = store.read_bytes()
    for options, sentence in (
        (("--out", str(store)), "is a store; choose another file name"),
        (("--out", "study.yaml"), "study.yaml is an existing YAML file; choose another file name"),
        (("--out", "page.html", "--tables", "study.yaml"), "is a file; choose a folder"),
    ):
        done = cheaptalk("compare", "first", "second", "--store", str(store), *options)
        assert (done.status, sentence in done.said) == (2, True)
    assert (store.read_bytes(), (tmp_path / "study.yaml").read_text()) == (before, "mine")
    assert not (tmp_path / "page.html").exists()


def test_studies_with_nothing_in_common_fail(
    cheaptalk: Command, store: Path, tmp_path: Path
) -> None:
    where = ("--store", str(store))
    done = cheaptalk("compare", "first", "persuaded", *where)
    assert done.status == 1
    assert "no match of persuasion in first has finished" in done.out
    done = cheaptalk("compare", "named", "persuaded", *where, "--json")
    data = json.loads(done.out)
    assert data["tables"] == {}
    assert data["lacking"] == {
        "Persuasion": "no match of persuasion in named has finished",
        "Bargaining": "no match of bargaining in persuaded has finished",
    }
