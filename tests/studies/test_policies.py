"""Policies for matches in which a player gave no valid answer."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import cheaptalk as ct
from cheaptalk.frames import read_matches
from cheaptalk.players import Kind
from cheaptalk.records import Status
from cheaptalk.records.exclusions import Unanswered, policies_of
from cheaptalk.reports.study.facts import UnansweredKind, exclusions
from cheaptalk.studies import plan_in_store
from tests.fakes import REFUSAL, Canned, Refusing, legal, study, with_model

KINDS = ("illegal", "unparsable", "truncated", "refused", "filtered", "timed_out")


def test_strictest_policy_applies() -> None:
    for policies, kinds, policy in [
        ({}, {"alice": {"refused": 1, "illegal": 2}}, "keep"),
        ({"refused": "drop"}, {"alice": {"refused": 1}}, "drop"),
        ({"refused": "drop"}, {"alice": {"refused": 0, "ok": 4}, "bob": {"illegal": 1}}, "keep"),
        ({"refused": "drop"}, {"alice": {"ok": 1}, "bob": {"refused": 1}}, "drop"),
        ({"refused": "replace", "illegal": "drop"}, {"a": {"illegal": 1, "refused": 1}}, "replace"),
        ({"refused": "drop", "illegal": "keep"}, {"a": {"illegal": 1, "refused": 1}}, "drop"),
        ({"refused": "replace"}, {}, "keep"),
    ]:
        assert Unanswered(**policies).of(kinds) == policy


def test_all_unanswered_kinds_have_policies_that_round_trip() -> None:
    others = {Kind.OK, Kind.REPAIRED, Kind.PROVIDER_ERROR}
    policies = Unanswered().by_kind
    assert set(policies) == {kind.value for kind in Kind} - others
    assert policies == dict.fromkeys(KINDS, "keep") | dict.fromkeys(("left", "stood_in"), "drop")
    spec = study(unanswered={"refused": "replace", "max_replacements": 2})
    assert spec.written()["unanswered"] == {"refused": "replace", "max_replacements": 2}
    assert policies_of(spec.written()) == spec.unanswered
    assert study().written()["unanswered"] == {}
    assert policies_of({"imported": "glee"}) == Unanswered()


def test_invalid_policy_raises_error() -> None:
    cases: list[Any] = [
        ({"unanswered": {"refusd": "drop"}}, r'unanswered: unknown key "refusd".*"refused"'),
        ({"unanswered": {"refused": "forget"}}, "unanswered.refused: should be 'keep', 'drop' or"),
        ({"unanswered": {"provider_error": "drop"}}, "unknown key"),
        (
            {"unanswered": {"max_replacements": 0}},
            "unanswered.max_replacements: should be greater than or equal to",
        ),
        (
            {"games": [], "instances_from": "other", "unanswered": {"refused": "replace"}},
            "replace cannot be combined with instances_from",
        ),
    ]
    for changes, message in cases:
        with pytest.raises(ct.studies.StudyError, match=message):
            study(**changes)


def run_six(
    path: Path, models: Canned, **unanswered: Any
) -> tuple[ct.Progress, list[ct.MatchRecord]]:
    """Run six matches with a model, one at a time, and return progress and records."""
    spec = study(**with_model(), unanswered=unanswered)
    with ct.Store.open(path, create=True) as store:
        progress = ct.run(spec, store, models=models, concurrency=1)
        return progress, list(store.records("small", bodies=True))


def test_single_refusal_is_retried_and_recorded(tmp_path: Path) -> None:
    def once(call: ct.models.ModelCall, number: str) -> ct.models.Reply | str:
        return REFUSAL if number.split("/")[3] == "0" else legal(call)

    progress, records = run_six(tmp_path / "s.sqlite", Canned(once), refused="replace")
    assert (progress.planned, progress.counts) == (6, {Status.FINISHED: 6})
    assert set(progress.kinds["tiny"]) == {Kind.REPAIRED}
    answers = [answer for record in records for answer in record.answers if answer.calls]
    failures = [[call["reply"].get("failure") for call in answer.calls] for answer in answers]
    assert failures == [["refused", None]] * len(answers)


def test_dropped_matches_are_recorded_and_not_replayed(tmp_path: Path) -> None:
    progress, records = run_six(tmp_path / "s.sqlite", Refusing(2), refused="drop")
    assert (progress.planned, progress.done, progress.left) == (6, 6, 0)
    assert Counter(record.status for record in records) == {Status.FINISHED: 4, Status.FORFEITED: 2}
    tiny = progress.kinds["tiny"]
    assert tiny["refused"] == 2
    assert tiny["ok"] == sum(
        record.kinds.get(place, {}).get("ok", 0)
        for record in records
        for place in record.seats
        if record.label(place) == "tiny"
    )


def test_replaced_match_keeps_players_on_new_instance(tmp_path: Path) -> None:
    progress, records = run_six(tmp_path / "s.sqlite", Refusing(2), refused="replace")
    assert (progress.planned, progress.done, progress.left) == (8, 8, 0)
    refused = [record for record in records if record.status is Status.FORFEITED]
    again = [record for record in records if "+" in record.instance_key]
    assert len(refused) == len(again) == 2
    for old in refused:
        (new,) = (
            r for r in again if r.instance_key == f"{old.instance_key}+1" and r.seats == old.seats
        )
        assert new.status is Status.FINISHED
        assert new.parameters == old.parameters
        assert new.body["seed"] == f"{old.body['seed']}+1"


def test_replacements_are_limited_and_resumed_runs_plan_the_same(tmp_path: Path) -> None:
    straight, stopped = tmp_path / "straight.sqlite", tmp_path / "stopped.sqlite"
    progress, expected = run_six(straight, Refusing(10**6), refused="replace", max_replacements=2)
    assert (progress.planned, progress.left) == (18, 0)
    assert Counter(record.instance_key for record in expected) == {
        f"{instance}{suffix}": 2 for instance in range(3) for suffix in ("", "+1", "+2")
    }
    unanswered = {"refused": "replace", "max_replacements": 2}
    spec = study(**with_model(), unanswered=unanswered, budget={"calls": 5})
    with ct.Store.open(stopped, create=True) as store:
        assert ct.run(spec, store, models=Refusing(10**6), concurrency=2).halted
        assert len(plan_in_store(spec, store).matches) > 6
    _, resumed = run_six(stopped, Refusing(10**6), refused="replace", max_replacements=2)
    assert sorted(record.id for record in resumed) == sorted(record.id for record in expected)
    models = Refusing(10**6)
    progress, _ = run_six(stopped, models, refused="replace", max_replacements=2)
    assert (progress.planned, progress.before, models.calls) == (18, 18, [])


def test_later_policy_replaces_earlier_refusals(tmp_path: Path) -> None:
    run_six(tmp_path / "s.sqlite", Refusing(2))
    models = Canned()
    progress, records = run_six(tmp_path / "s.sqlite", models, refused="replace")
    assert (progress.planned, progress.before) == (8, 6)
    assert len(records) == 8
    assert {number.partition("/")[0] for number in models.numbers} == {
        record.id for record in records if "+" in record.instance_key
    }


FINISHES = {
    "games": [{"game": "item_bargaining"}],
    "players": {"tiny": {"model": "vllm/tiny"}, "luck": {"strategy": "random"}},
    "pairing": [["tiny", "luck"]],
    "instances": 3,
}
"""A game that ends by its own rule when a seat does not answer."""


@pytest.mark.parametrize("policy", ["keep", "drop", "replace"])
def test_dropped_matches_are_excluded_from_metrics(policy: str, tmp_path: Path) -> None:
    spec = study(**FINISHES, unanswered={"refused": policy, "max_replacements": 1})
    with ct.Store.open(tmp_path / "s.sqlite", create=True) as store:
        ct.run(spec, store, models=Canned(lambda *_: REFUSAL))
        frame = read_matches(store, "small")["item_bargaining"]
        excluded = exclusions(store.study("small").spec, {"item_bargaining": frame})
        view = store.scalars(sa.text("select dropped from v_matches"))
    assert list(map(bool, view)) == frame["dropped"].to_list()
    dropped = policy != "keep"
    count = 6 if policy == "replace" else 3
    assert frame["status"].to_list() == ["finished"] * count
    assert frame["dropped"].to_list() == [dropped] * count
    assert frame["payoff_player_1"].is_null().all() == dropped
    assert frame["answers_player_1_refused"].to_list() == [1] * count
    assert excluded.kinds == [UnansweredKind("refused", policy, count)]  # type: ignore[arg-type]
    assert (excluded.dropped, excluded.replaced) == (count * dropped, count - 3)
