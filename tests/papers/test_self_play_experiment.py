"""A self-play experiment end to end: two iterations of a very small model."""

import json
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.papers.self_play.experiment import (
    EXPERIMENTS,
    _seatings,
    read_experiment,
    run_experiment,
)
from cheaptalk.records import Store
from tests.conftest import Command


@pytest.mark.lm
def test_experiment_trains_evaluates_and_resumes(tmp_path: Path, cheaptalk: Command) -> None:
    out = tmp_path / "out"
    command = ["train", "experiment", "--preset", "seconds", "--out", str(out)]
    result = cheaptalk(*command)
    assert result.status == 0, result.err
    assert "semi with fair: payoff " in result.out
    results = json.loads((out / "results.json").read_text())
    assert {(row["partner"], row["iteration"]) for row in results} == {
        *((name, at) for name in ("itself", "fair") for at in (0, 1, 2)),
        ("semi-iteration-2", 0),
        ("semi-iteration-0", 2),
    }
    page = (out / "report.html").read_text()
    assert "Cross-play" in page
    with Store.open(out / "examination.sqlite") as store:
        for row in results:
            name = f"semi-iteration-{row['iteration']}"
            other = name if row["partner"] == "itself" else row["partner"]
            payoffs = [
                (record.payoffs or {})[place]
                for record in store.records("examination")
                if sorted(record.label(at) for at in record.seats) == sorted([name, other])
                for place in record.seats
                if record.label(place) == name
            ]
            assert len(payoffs) == 24
            assert row["means"]["payoff"] == pytest.approx(sum(payoffs) / len(payoffs))

    (out / "report.html").unlink()
    models = [(out / "base"), *(out / "semi" / f"model-{n}" for n in (1, 2))]
    written = [path.stat().st_mtime_ns for path in models]
    again = cheaptalk(*command, "--json")
    assert json.loads(again.out) == results
    assert [path.stat().st_mtime_ns for path in models] == written
    assert (out / "report.html").read_text() == page


def test_bundled_experiments_are_valid() -> None:
    for name in EXPERIMENTS:
        experiment = read_experiment(name)
        assert not set(experiment.examination.partners) & set(experiment.lineages)


def test_last_iterations_of_seed_replicas_meet() -> None:
    experiment = read_experiment("tiny")
    stages = {name: ["base", *map(str, range(1, 11))] for name in experiment.lineages}
    label = "semi-3-iteration-10"
    seated = list(_seatings(experiment, "semi-3", 10, stages))
    met = {other for player, other in seated if player == label and "semi-3" not in other}
    assert met == {"semi-1-iteration-10", "semi-2-iteration-10", "fair", "conceding"}
    assert all([other, label] in seated for other in met)
    assert not any("semi" in other for _, other in _seatings(experiment, "comp", 10, stages))
    early = _seatings(experiment, "semi-3", 5, stages)
    assert not any("semi-1" in other for _, other in early)


def test_invalid_experiments_raise_error(tmp_path: Path) -> None:
    with pytest.raises(
        ct.CheaptalkError,
        match=r"unknown experiment nothing; use gpu, inverted, options, seconds, tiny or the "
        r"path",
    ):
        read_experiment("nothing")
    with pytest.raises(ct.CheaptalkError, match="tiny has no lineage semi; use semi-1, "):
        run_experiment(read_experiment("tiny"), tmp_path / "out", lineages=["semi"])
    with pytest.raises(ct.CheaptalkError, match="options has no corpus for a base model"):
        run_experiment(read_experiment("options"), tmp_path / "out")
    with pytest.raises(ct.CheaptalkError, match="is not a language model's folder"):
        run_experiment(read_experiment("options"), tmp_path / "none", base=str(tmp_path))
    assert not (tmp_path / "none").exists()
    (tmp_path / "wrong.yaml").write_text("name: wrong\nlineage: {}\n")
    with pytest.raises(ct.CheaptalkError, match="lineage"):
        read_experiment(str(tmp_path / "wrong.yaml"))
    (tmp_path / "wrong.yaml").write_text(
        "name: wrong\ndescription: wrong\nself_play: {matchs: 3}\nlineages: {one: {}}\n"
        "examination: {instances: 1}\n"
    )
    with pytest.raises(ct.CheaptalkError, match=r"wrong.yaml: lineage one: unknown key .matchs"):
        read_experiment(str(tmp_path / "wrong.yaml"))
