"""Cost estimates of judges: made without calls, and close to the actual cost."""

import pytest

import cheaptalk as ct
from cheaptalk.judges import estimate as foretelling
from cheaptalk.judges import estimate_judging
from cheaptalk.judges.estimate import READ
from cheaptalk.models.prices import Price
from cheaptalk.records import Store
from tests.fakes import Canned
from tests.judges.judged import STUDY, always, judge_of, play, verdict_text


def test_estimate_matches_actual_calls_and_tokens(store: Store) -> None:
    play(store, instances=6)
    takes = estimate_judging(store, STUDY, judge_of())
    models = Canned(lambda *_: verdict_text("consistent"))
    state = ct.judge(store, STUDY, judge_of(), models=models)
    assert takes.items == takes.amounts.calls.low == state.judged == len(models.calls)
    assert takes.amounts.calls.high == pytest.approx(1.2 * takes.items)
    sent = sum(len(message.content) for call in models.calls for message in call.messages)
    low, high = takes.amounts.input_tokens
    assert low < sent / 4 < high
    written = len(verdict_text("consistent")) * len(models.calls)
    assert takes.amounts.output_tokens.low <= 2 * written / 4
    assert takes.amounts.output_tokens.high > written / 4


def test_estimate_excludes_judged_items(store: Store) -> None:
    play(store, instances=6)
    total = estimate_judging(store, STUDY, judge_of())
    ct.judge(store, STUDY, judge_of(), models=always("consistent"), sample=4)
    rest = estimate_judging(store, STUDY, judge_of())
    assert rest.before > 0
    assert rest.items + rest.before == total.items
    ct.judge(store, STUDY, judge_of(), models=always("consistent"))
    none = estimate_judging(store, STUDY, judge_of())
    assert (none.items, none.nothing) == (0, "everything was judged before")
    assert none.amounts.calls == none.amounts.output_tokens == (0, 0)


def test_estimate_samples_many_matches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    play(store)
    total = estimate_judging(store, STUDY, judge_of())
    assert total.read == 12 < READ
    monkeypatch.setattr(foretelling, "READ", 6)
    part = estimate_judging(store, STUDY, judge_of())
    assert (part.matches, part.read) == (12, 6)
    assert part.items == pytest.approx(total.items, rel=0.3)
    assert "the 12 matches resemble the 6 that were read" in part.assumes
    assert estimate_judging(store, STUDY, judge_of(), sample=5).read == 5


def test_estimate_uses_price_of_judge_model(store: Store) -> None:
    play(store, instances=2)
    assert estimate_judging(store, STUDY, judge_of("together/odd")).amounts.dollars is None
    takes = estimate_judging(store, STUDY, judge_of("openai/gpt-4o")).amounts
    price = ct.models.load_prices().of("openai/gpt-4o")
    assert isinstance(price, Price)
    assert takes.dollars is not None
    low, high = takes.input_tokens.high, takes.output_tokens.high
    assert takes.dollars.high == pytest.approx((low * price.input + high * price.output) / 1e6)
