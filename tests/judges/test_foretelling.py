"""What a judge is going to cost: told before, without asking, and near what it then takes."""

import pytest

import cheaptalk as ct
from cheaptalk.judges import estimate as foretelling
from cheaptalk.judges import estimate_judging
from cheaptalk.judges.estimate import READ
from cheaptalk.models.prices import Price
from cheaptalk.records import Store
from tests.fakes import Canned
from tests.judges.judged import STUDY, always, judge_of, play, says


def test_the_calls_are_those_that_are_then_made_and_the_tokens_within_the_range(
    store: Store,
) -> None:
    play(store)
    takes = estimate_judging(store, STUDY, judge_of())
    models = Canned(lambda *_: says("consistent"))
    state = ct.judge(store, STUDY, judge_of(), models=models)
    assert takes.items == takes.amounts.calls.low == state.judged == len(models.calls)
    assert takes.amounts.calls.high == pytest.approx(1.2 * takes.items)
    sent = sum(len(message.content) for call in models.calls for message in call.messages)
    low, high = takes.amounts.input_tokens
    assert low < sent / 4 < high
    written = len(says("consistent")) * len(models.calls)
    assert takes.amounts.output_tokens.low <= 2 * written / 4
    assert takes.amounts.output_tokens.high > written / 4


def test_what_is_judged_is_not_counted_again(store: Store) -> None:
    play(store, instances=10)
    whole = estimate_judging(store, STUDY, judge_of())
    ct.judge(store, STUDY, judge_of(), models=always("consistent"), sample=4)
    rest = estimate_judging(store, STUDY, judge_of())
    assert rest.before > 0
    assert rest.items + rest.before == whole.items
    ct.judge(store, STUDY, judge_of(), models=always("consistent"))
    none = estimate_judging(store, STUDY, judge_of())
    assert (none.items, none.nothing) == (0, "everything was judged before")
    assert none.amounts.calls == none.amounts.output_tokens == (0, 0)


def test_of_many_matches_some_are_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    play(store)
    whole = estimate_judging(store, STUDY, judge_of())
    assert whole.read == 30 < READ
    monkeypatch.setattr(foretelling, "READ", 15)
    part = estimate_judging(store, STUDY, judge_of())
    assert (part.matches, part.read) == (30, 15)
    assert part.items == pytest.approx(whole.items, rel=0.3)
    assert "the 30 matches resemble the 15 that were read" in part.assumes
    assert estimate_judging(store, STUDY, judge_of(), sample=5).read == 5


def test_the_price_is_that_of_the_judges_model(store: Store) -> None:
    play(store, instances=2)
    assert estimate_judging(store, STUDY, judge_of("together/odd")).amounts.dollars is None
    takes = estimate_judging(store, STUDY, judge_of("openai/gpt-4o")).amounts
    price = ct.models.load_prices().of("openai/gpt-4o")
    assert isinstance(price, Price)
    assert takes.dollars is not None
    low, high = takes.input_tokens.high, takes.output_tokens.high
    assert takes.dollars.high == pytest.approx((low * price.input + high * price.output) / 1e6)
