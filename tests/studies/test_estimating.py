"""What a study is going to cost: the range holds what it does cost, and says what it rests on."""

import json
import math
from datetime import date
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.games.item_bargaining.best_response import Responder
from cheaptalk.models import ModelCall, Reply, Usage
from cheaptalk.models.prices import Price, Prices
from cheaptalk.models.scripted import ScriptedModels
from cheaptalk.models.usage import characters
from cheaptalk.records import Store
from cheaptalk.records.ledger.spending import answered, spent
from cheaptalk.studies import Cap, Estimate, Range, estimate, usage_histories
from cheaptalk.studies.estimates import rehearsal as rehearsing
from cheaptalk.studies.estimates.amounts import Amounts
from cheaptalk.studies.estimates.rehearsal import rehearse
from cheaptalk.studies.estimates.usage_history import ENOUGH
from tests.fakes import legal, study

DEAR = Price(models=("script/*",), input=10, cached_input=1, output=40, as_of=date(2026, 1, 1))
PRICES = Prices({"test": (DEAR,)})


class Counting(ScriptedModels):
    """Legal answers of a server that counts a token for four characters."""

    def __init__(self) -> None:
        self.calls: list[ModelCall] = []

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        self.calls.append(call)
        reply = await super().call(call, number, deadline)
        said = -(-len(reply.text or "") // 4)
        usage = Usage(input_tokens=characters(call) // 4, output_tokens=said)
        return reply.model_copy(update={"usage": usage})


class Talking(Counting):
    """Answers by a hash of the conversation, of a server that counts a token for each word."""

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        self.calls.append(call)
        said = legal(call)
        words = sum(len(message.content.split()) for message in call.messages)
        usage = Usage(input_tokens=words, output_tokens=len(said.split()))
        return Reply(text=said, model="talking", usage=usage)


def made(*games: str, model: Any = None, **changes: Any) -> ct.Study:
    """A study of a scripted model at these games."""
    players = {"model": {"model": "script/legal"} | (model or {})}
    usual = {"games": [{"game": game} for game in games], "players": players, "instances": 10}
    return study(**usual | {"pairing": "self"} | changes)


def within(value: float, range_: Range) -> bool:
    return range_.low <= value <= range_.high


@pytest.mark.parametrize(
    "game",
    [
        "bargaining", "negotiation", "persuasion", "deal_or_no_deal", "item_bargaining",
        "chip_trading", "guess_the_average", "pirate_game",
    ],
)  # fmt: skip
def test_what_a_study_takes_lies_in_the_range(store: Store, game: str) -> None:
    instances = 2 if game in ("chip_trading", "guess_the_average") else 10
    planned = ct.studies.plan(made(game, instances=instances))
    found = estimate(planned, PRICES)
    models = Counting()
    assert ct.run(planned, store, models=models, prices=PRICES).left == 0
    taken, total = spent(store, 1), found.total
    assert found.matches == len(planned.matches)
    assert within(taken.calls, total.calls)
    assert within(taken.usage.input_tokens, total.input_tokens)
    assert within(taken.usage.output_tokens, total.output_tokens)
    assert total.dollars is not None
    assert within(taken.dollars, total.dollars)
    assert total.dollars.low > 0


@pytest.mark.parametrize(
    ("game", "fixed"),
    [
        ("bargaining", {"money": 100, "horizon": 30}),
        ("bargaining", {"money": 100, "horizon": 6}),
        ("negotiation", {}),
        ("deal_or_no_deal", {}),
        ("persuasion", {}),
    ],
)
def test_the_low_end_holds_for_quick_players_and_thrifty_servers(
    store: Store, game: str, fixed: dict[str, Any]
) -> None:
    hard = {"hard": {"strategy": "boulware"}} if game == "bargaining" else {}
    players = {"model": {"model": "script/legal"}} | hard
    pairing = [["model", "hard"], ["hard", "model"]] if hard else "self"
    games = [{"game": game, "fixed": fixed}]
    planned = ct.studies.plan(made(games=games, players=players, pairing=pairing, instances=20))
    found = estimate(planned, PRICES).total
    assert ct.run(planned, store, models=Talking(), prices=PRICES).left == 0
    taken = spent(store, 1)
    assert within(taken.calls, found.calls)
    assert within(taken.tokens, found.tokens)
    assert found.dollars is not None
    assert within(taken.dollars, found.dollars)


def test_the_low_end_counts_on_what_came_back_of_matches_that_are_gone_on_with(
    store: Store,
) -> None:
    planned = ct.studies.plan(made("persuasion", instances=2))
    capped = Cap(calls=25)
    assert ct.run(planned, store, models=Counting(), prices=PRICES, cap=capped).halted
    begun = answered(store)
    bought = [cost for seats in begun.values() for cost in seats.values()]
    assert sum(cost.calls for cost in bought) == 25
    whole, rest = estimate(planned, PRICES).total, estimate(planned, PRICES, begun=begun).total
    assert rest.calls == Range(whole.calls.low - 25, whole.calls.high)
    models = Counting()
    assert ct.run(planned, store, models=models, prices=PRICES).left == 0
    assert within(len(models.calls), rest.calls)
    assert rest.input_tokens.low < whole.input_tokens.low
    assert rest.dollars is not None
    assert whole.dollars is not None
    assert 0 < rest.dollars.low < whole.dollars.low


def test_a_schema_is_counted_in_the_high_end_only() -> None:
    def asked(**settings: Any) -> Range:
        model = settings | {"max_tokens": 50}
        return estimate(ct.studies.plan(made("bargaining", model=model))).total.input_tokens

    formal, plain = asked(answers="schema"), asked(answers="text")
    assert formal.low == plain.low
    assert formal.high > plain.high


def test_a_match_is_estimated_where_it_takes_the_most() -> None:
    players = {"model": {"model": "script/legal"}, "bob": {"strategy": "trusting"}}
    pairing = [["model", "bob"], ["model", "model"]]
    planned = ct.studies.plan(made("persuasion", players=players, pairing=pairing, instances=3))
    found = estimate(planned, PRICES)
    assert found.total.calls.low == 3 * 20 + 3 * 40
    assert found.per_match.calls.low == 40
    assert found.as_json()["per_match"]["calls"] == [40, 48]


def test_players_are_told_apart_and_scripted_ones_cost_nothing(store: Store) -> None:
    players = {
        "curt": {"model": "script/legal"},
        "chatty": {"model": "script/legal", "chain_of_thought": "first", "persona": "x " * 4_000},
        "fair": {"strategy": "equal_split"},
    }
    pairing = [["curt", "fair"], ["chatty", "fair"], ["fair", "fair"]]
    planned = ct.studies.plan(made("bargaining", players=players, pairing=pairing))
    found = estimate(planned, PRICES)
    assert list(found.players) == ["curt", "chatty"]
    assert found.matches == 20, "matches without models are no part of it"
    curt, chatty = found.players.values()
    assert chatty.calls.low == curt.calls.low
    assert chatty.input_tokens.low > curt.input_tokens.low + 8_000 / 5
    assert chatty.output_tokens.high > curt.output_tokens.high + 400


def test_what_is_settled_is_not_estimated_again() -> None:
    planned = ct.studies.plan(made("bargaining"))
    gone = {match.id for match in planned.matches[:7]}
    assert estimate(planned, PRICES, gone).matches == 3
    nothing = estimate(planned, PRICES, {match.id for match in planned.matches})
    assert (nothing.matches, nothing.total.calls) == (0, Range(0, 0))


def test_reasoning_is_counted_by_its_setting_and_never_beyond_the_most_tokens() -> None:
    def output(**settings: Any) -> Range:
        planned = ct.studies.plan(made("bargaining", model={"model": "openai/o3"} | settings))
        return estimate(planned).total.output_tokens

    by_itself, little, much = output(), output(reasoning="low"), output(reasoning="high")
    assert little.high < by_itself.high < much.high
    model = {"model": "openai/gpt-4o", "max_tokens": 5}
    capped = estimate(ct.studies.plan(made("bargaining", model=model))).total
    assert capped.output_tokens.high <= 5.05 * capped.calls.high  # which is rounded


def test_it_says_what_it_rests_on() -> None:
    players = {"o3": {"model": "openai/o3"}, "odd": {"model": "openai/unheard-of"}}
    planned = ct.studies.plan(made("bargaining", players=players, pairing="all"))
    found = estimate(planned)
    text = str(found)
    assert "o3 (which reasons by default) reasons in 100 to 8,000 tokens before each answer" in text
    assert "unknown price of openai/unheard-of" in text.splitlines()[0]
    assert "odd: " in text
    assert "unknown price" in text
    data = json.loads(json.dumps(found.as_json()))
    assert data["unpriced"] == ["openai/unheard-of"]
    assert data["players"]["odd"]["dollars"] is None
    assert data["dollars"] == data["players"]["o3"]["dollars"]
    assert data["assumes"] == list(found.assumes)


def test_a_summary_and_candidates_are_calls_too() -> None:
    def calls(**settings: Any) -> Range:
        model = settings
        return estimate(ct.studies.plan(made("bargaining", model=model))).total.calls

    assert calls(history="summary").high > calls().high
    assert calls(refine={"candidates": 3}).low > calls().low


def test_a_hundred_thousand_matches_are_estimated_from_few() -> None:
    grid = [{"game": "bargaining", "grid": {"money": [100, 1_000], "messages": [True, False]}}]
    planned = ct.studies.plan(made(games=grid, instances=25_000))
    found = estimate(planned, PRICES)
    assert found.matches == 100_000
    assert found.rehearsed <= 40
    assert found.total.calls.low >= 200_000


def test_a_game_without_a_stand_in_is_named(toys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = ct.studies.plan(made("giving", instances=1))
    monkeypatch.setattr(rehearsing, "strategies", lambda game: {})
    found = estimate(planned)
    assert found.total.calls == Range(0, 0)
    assert "giving is not included: no strategy can simulate it" in found.assumes


def test_a_rehearsal_reads_what_the_match_would(store: Store) -> None:
    planned = ct.studies.plan(made("bargaining", instances=1))
    models = Counting()
    ct.run(planned, store, models=models)
    found = rehearse(planned.matches[0], "random")
    assert found is not None
    loads = found.loads.values()
    assert sum(load.calls for load in loads) == found.batch_rounds == len(models.calls)
    sent = sum(load.sent + load.schema for load in loads)
    assert sent == sum(map(characters, models.calls))


def test_nobody_searches_for_best_responses_to_find_out_what_a_match_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def search(*_: Any) -> None:
        raise AssertionError("it searches")

    monkeypatch.setattr(Responder, "plan", search)
    players = {"model": {"model": "script/legal"}, "sharp": {"strategy": "best_response"}}
    pairing = [["model", "sharp"], ["model", "model"]]
    planned = ct.studies.plan(made("item_bargaining", players=players, pairing=pairing))
    ct.studies.try_strategies(planned)
    assert estimate(planned, PRICES).total.calls.low > 0


@pytest.mark.parametrize(
    ("game", "settings"),
    [
        ("bargaining", {"chain_of_thought": "first"}),
        ("bargaining", {"answers": "text"}),
        ("item_bargaining", {"style": "circle_0"}),
    ],
)
def test_who_is_told_to_think_in_words_writes_many(game: str, settings: dict[str, Any]) -> None:
    found = estimate(ct.studies.plan(made(game, model=settings)), PRICES).total
    assert found.output_tokens.high > 1_000 * found.calls.high


def test_messages_are_written_and_then_read_by_all() -> None:
    def amounts(messages: bool) -> Amounts:
        games = [{"game": "bargaining", "fixed": {"messages": messages, "horizon": 12}}]
        return estimate(ct.studies.plan(made(games=games)), PRICES).total

    silent, talking = amounts(messages=False), amounts(messages=True)
    assert talking.output_tokens.high > silent.output_tokens.high + 100 * talking.calls.high
    extra = talking.input_tokens.high - silent.input_tokens.high
    assert extra > talking.output_tokens.high - silent.output_tokens.high


class Chatty(Counting):
    """Legal answers after long thoughts, of a server that counts two characters to a token."""

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        reply = await super().call(call, number, deadline)
        usage = Usage(input_tokens=characters(call) // 2, output_tokens=900)
        return reply.model_copy(update={"usage": usage, "seconds": 7.0})


def test_after_some_replies_a_model_is_taken_to_go_on_as_it_began(store: Store) -> None:
    planned = ct.studies.plan(made("bargaining", instances=40, model={"chain_of_thought": "first"}))
    guessed = estimate(planned, PRICES)

    def left(calls: int) -> tuple[Estimate, float]:
        ct.run(planned, store, models=Chatty(), prices=PRICES, cap=Cap(calls=calls), concurrency=1)
        settled = {record.id for record in store.records() if record.status in ct.studies.SETTLED}
        seen = usage_histories(store, planned.study.name, {"script/legal"})
        return estimate(planned, PRICES, settled, history=seen), spent(store, 1).dollars

    few, _ = left(ENOUGH - 1)
    assert "goes on" not in str(few)
    enough, before = left(ENOUGH)
    assert "model in bargaining: as in" in str(enough)
    assert ct.run(planned, store, models=Chatty(), prices=PRICES).left == 0
    rest, (low, high) = spent(store, 1).dollars - before, enough.total.dollars or (0, 0)
    assert guessed.total.dollars is not None
    assert low <= rest <= high
    assert high / low < guessed.total.dollars.high / guessed.total.dollars.low / 5
    assert 0.8 < enough.seconds.low / (7 * enough.total.calls.low / enough.matches) < 1.3


def test_replies_to_other_calls_tell_nothing(store: Store) -> None:
    models, cheap = Chatty(), {"script/legal"}
    ct.run(made("bargaining", instances=20), store, models=models, prices=PRICES)
    seen = usage_histories(store, "small", cheap)
    assert len(models.calls) > ENOUGH

    def foretold(*games: str, **settings: Any) -> bool:
        planned = ct.studies.plan(made(*games, model=settings))
        return ": as in " in str(estimate(planned, PRICES, history=seen))

    assert foretold("bargaining")
    assert not foretold("negotiation")
    assert not foretold("bargaining", temperature=0.5)
    assert not foretold("bargaining", chain_of_thought="first")
    assert not foretold("bargaining", model="script/echo")


def test_a_batch_is_announced_at_its_price() -> None:
    half = Prices({"test": (DEAR.model_copy(update={"batch": 0.5}),)})
    planned = ct.studies.plan(made("bargaining"))
    whole, batch = estimate(planned, half), estimate(planned, half, batch=True)
    assert whole.total.dollars is not None
    assert batch.total.dollars == whole.total.dollars.times(0.5)
    assert whole.batch_rounds is None


def batched(game: str, concurrency: int | None = None, **changes: Any) -> Estimate:
    planned = ct.studies.plan(made(game, **changes))
    return estimate(planned, PRICES, batch=True, concurrency=concurrency)


def test_batches_are_counted_in_plies_of_up_to_a_day() -> None:
    found = batched("bargaining", games=[{"game": "bargaining", "fixed": {"horizon": 6}}])
    assert found.batch_rounds is not None
    assert 2 <= found.batch_rounds.low <= found.batch_rounds.high
    assert 2 * 6 <= found.batch_rounds.high < 3 * 6, (
        "an offer and an answer a round, some asked again"
    )
    assert found.seconds == (3_600 * found.batch_rounds.low, 86_400 * found.batch_rounds.high)
    assert found.at_once == 10_000
    low, high = (round(end) for end in found.batch_rounds)
    assert (
        f"estimated time: {low} to {high} sequential rounds of batches, in {low} h 0 min "
        f"to {high} d 0 h, with up to 10,000 matches at once"
    ) in str(found)
    assert found.as_json()["batch_rounds"] == [*found.batch_rounds]


def test_who_is_asked_at_once_is_in_one_batch() -> None:
    fixed = {"players": 5, "rounds": 3}
    games = [{"game": "guess_the_average", "fixed": fixed}]
    assert batched("guess_the_average", games=games).batch_rounds == Range(3, 4)


def test_matches_that_wait_for_others_need_batches_of_their_own() -> None:
    whole, parts = (batched("persuasion", number).batch_rounds for number in (None, 4))
    assert whole is not None
    assert parts == Range(math.ceil(whole.low * 10 / 4), whole.high * 3)


def test_more_matches_at_once_take_less_time() -> None:
    planned = ct.studies.plan(made("bargaining", instances=50))
    one, many = (estimate(planned, PRICES, concurrency=at_once) for at_once in (1, 32))
    assert many.seconds.low == pytest.approx(one.seconds.low / 32)
    assert many.seconds.high < one.seconds.high / 4
    assert one.total == many.total
