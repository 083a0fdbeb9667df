"""The doctor reports replies that are recorded for two requests."""

import pytest

import cheaptalk as ct
from cheaptalk import doctor
from cheaptalk.models import ModelCall, Reply
from cheaptalk.models.http.reply_ids import ReplyIds
from cheaptalk.records import Store
from tests.fakes import Canned, legal, study, with_model


@pytest.mark.parametrize("capped", [False, True], ids=["ended", "under way"])
def test_doctor_reports_repeated_replies(
    store: Store, monkeypatch: pytest.MonkeyPatch, capped: bool
) -> None:
    monkeypatch.setattr(ReplyIds, "checked", lambda self, call, reply: reply)  # no check
    ids = iter([1, 1, *range(2, 100)])

    def confused(call: ModelCall, number: str) -> Reply:
        return Reply(text=legal(call), id=f"chatcmpl-{next(ids):030}")

    games = [{"game": "bargaining", "fixed": {"horizon": 6}}]
    made = with_model() | {"instances": 1, "games": games, "pairing": [["tiny", "tiny"]]}
    budget = {"budget": {"calls": 2}} if capped else {}
    ct.run(study(**made, **budget), store, models=Canned(confused), concurrency=1)
    examined = ct.records.examine(store)
    assert examined.damages == []
    (repeated,) = examined.repeated
    assert (repeated.call.request, repeated.other.request) == (1, 0)
    assert repeated.call.match_id == repeated.other.match_id
    checks = doctor.examine_store(store.backend.address, deep=True)
    details = [check.detail for check in checks if not check.ok]
    assert len(details) == 1
    assert "is also recorded for alice in request 0" in details[0]
