"""Cost estimates of studies: ranges contain the actual cost, and assumptions are listed."""

import json
import math
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.games.item_bargaining.best_response import Responder
from cheaptalk.models import ModelCall, Reply, Usage
from cheaptalk.models.local.speed import Speed
from cheaptalk.models.prices import Price, Prices
from cheaptalk.models.scripted import ScriptedModels
from cheaptalk.models.usage import characters
from cheaptalk.records import Store
from cheaptalk.records.ledger.spending import reused_costs, spent
from cheaptalk.studies import Cap, Estimate, Range, estimate, usage_histories
from cheaptalk.studies.estimates import rehearsal as rehearsing
from cheaptalk.studies.estimates.amounts import Amounts
from cheaptalk.studies.estimates.rehearsal import rehearse
from cheaptalk.studies.estimates.usage_history import ENOUGH
from tests.fakes import legal, study

DEAR = Price(models=("script/*",), input=10, cached_input=1, output=40, as_of=date(2026, 1, 1))
PRICES = Prices({"test": (DEAR,)})


class CountingModels(ScriptedModels):
    """Scripted models whose usage is one token per four characters."""

    def __init__(self) -> None:
        self.calls: list[ModelCall] = []

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        self.calls.append(call)
        reply = await super().call(call, number, deadline)
        output_tokens = -(-len(reply.text or "") // 4)
        usage = Usage(input_tokens=characters(call) // 4, output_tokens=output_tokens)
        return reply.model_copy(update={"usage": usage})


class WordCountingModels(CountingModels):
    """Models that answer by a hash of the conversation and count one token per word."""

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        self.calls.append(call)
        text = legal(call)
        words = sum(len(message.content.split()) for message in call.messages)
        usage = Usage(input_tokens=words, output_tokens=len(text.split()))
        return Reply(text=text, model="talking", usage=usage)


def build(*games: str, model: Any = None, **changes: Any) -> ct.Study:
    """Return a study of these games with a scripted model."""
    players = {"model": {"model": "script/legal"} | (model or {})}
    usual = {"games": [{"game": game} for game in games], "players": players, "instances": 3}
    return study(**usual | {"pairing": "self"} | changes)


def within(value: float, range_: Range) -> bool:
    return range_.low <= value <= range_.high


TWO_SEATS = ("bargaining", "negotiation", "persuasion", "deal_or_no_deal", "item_bargaining")
LONG_GAMES = ("chip_trading", "guess_the_average")
HARD = {
    "players": {"model": {"model": "script/legal"}, "hard": {"strategy": "boulware"}},
    "pairing": [["model", "hard"], ["hard", "model"]],
    "games": [{"game": "bargaining", "fixed": {"money": 100, "horizon": 30}}],
}
SHORT = [{"game": "persuasion", "fixed": {"horizon": 10}}]


@pytest.mark.parametrize(
    ("made", "models"),
    [
        *[(build(game, instances=5), CountingModels()) for game in (*TWO_SEATS, "pirate_game")],
        *[(build(game, instances=1), CountingModels()) for game in LONG_GAMES],
        (build(**HARD, instances=8), WordCountingModels()),
        (build("deal_or_no_deal", instances=8), WordCountingModels()),
        (build(games=SHORT, instances=8), WordCountingModels()),
    ],
    ids=lambda item: item.games[0].game if isinstance(item, ct.Study) else type(item).__name__,
)
def test_actual_usage_is_within_estimated_range(
    store: Store, made: ct.Study, models: CountingModels
) -> None:
    """It is so even for short matches and for tokenizers with a token per word."""
    planned = ct.studies.plan(made)
    forecast = estimate(planned, PRICES)
    assert ct.run(planned, store, models=models, prices=PRICES).left == 0
    taken, total = spent(store, 1), forecast.total
    assert forecast.matches == len(planned.matches)
    assert within(taken.calls, total.calls)
    assert within(taken.tokens, total.tokens)
    if not isinstance(models, WordCountingModels):
        assert within(taken.usage.input_tokens, total.input_tokens)
        assert within(taken.usage.output_tokens, total.output_tokens)
    assert total.dollars is not None
    assert within(taken.dollars, total.dollars)
    assert total.dollars.low > 0


def test_low_estimate_subtracts_recorded_calls_of_live_matches(store: Store) -> None:
    planned = ct.studies.plan(build("persuasion", instances=2))
    capped = Cap(calls=25)
    assert ct.run(planned, store, models=CountingModels(), prices=PRICES, cap=capped).halted
    begun = reused_costs(store)
    bought = [cost for seats in begun.values() for cost in seats.values()]
    assert sum(cost.calls for cost in bought) == 25
    total, rest = estimate(planned, PRICES).total, estimate(planned, PRICES, begun=begun).total
    assert rest.calls == Range(total.calls.low - 25, total.calls.high)
    models = CountingModels()
    assert ct.run(planned, store, models=models, prices=PRICES).left == 0
    assert within(len(models.calls), rest.calls)
    assert rest.input_tokens.low < total.input_tokens.low
    assert rest.dollars is not None
    assert total.dollars is not None
    assert 0 < rest.dollars.low < total.dollars.low


def total_of(game: str = "bargaining", **settings: Any) -> Amounts:
    """Return the estimated usage of a model with settings."""
    return estimate(ct.studies.plan(build(game, model=settings)), PRICES).total


def test_schema_counts_in_high_estimate_only() -> None:
    formal, plain = (total_of(answers=way, max_tokens=50) for way in ("schema", "text"))
    assert formal.input_tokens.low == plain.input_tokens.low
    assert formal.input_tokens.high > plain.input_tokens.high


def test_per_match_estimate_uses_most_expensive_pairing() -> None:
    players = {"model": {"model": "script/legal"}, "bob": {"strategy": "trusting"}}
    pairing = [["model", "bob"], ["model", "model"]]
    planned = ct.studies.plan(build("persuasion", players=players, pairing=pairing, instances=3))
    forecast = estimate(planned, PRICES)
    assert forecast.total.calls.low == 3 * 20 + 3 * 40
    assert forecast.per_match.calls.low == 40
    assert forecast.as_json()["per_match"]["calls"] == [40, 48]


def test_estimates_are_per_player_and_exclude_scripted_ones(store: Store) -> None:
    players = {
        "curt": {"model": "script/legal"},
        "chatty": {"model": "script/legal", "chain_of_thought": "first", "persona": "x " * 4_000},
        "fair": {"strategy": "equal_split"},
    }
    pairing = [["curt", "fair"], ["chatty", "fair"], ["fair", "fair"]]
    planned = ct.studies.plan(build("bargaining", players=players, pairing=pairing))
    forecast = estimate(planned, PRICES)
    assert list(forecast.players) == ["curt", "chatty"]
    assert forecast.matches == 6, "matches without models are excluded"
    curt, chatty = forecast.players.values()
    assert chatty.calls.low == curt.calls.low
    assert chatty.input_tokens.low > curt.input_tokens.low + 8_000 / 5
    assert chatty.output_tokens.high > curt.output_tokens.high + 400


def test_settled_matches_are_not_estimated() -> None:
    planned = ct.studies.plan(build("bargaining"))
    gone = {match.id for match in planned.matches[:2]}
    assert estimate(planned, PRICES, gone).matches == 1
    nothing = estimate(planned, PRICES, {match.id for match in planned.matches})
    assert (nothing.matches, nothing.total.calls) == (0, Range(0, 0))


def test_reasoning_tokens_follow_setting_and_max_tokens() -> None:
    efforts: list[dict[str, str]] = [{"reasoning": "low"}, {}, {"reasoning": "high"}]
    planned = [
        ct.studies.plan(build("bargaining", model={"model": "openai/o3"} | effort))
        for effort in efforts
    ]
    little, by_itself, much = (estimate(plan).total.output_tokens.high for plan in planned)
    assert little < by_itself < much
    capped = total_of(model="openai/gpt-4o", max_tokens=5)
    assert capped.output_tokens.high <= 5.05 * capped.calls.high  # the ratio is rounded


def test_estimate_lists_assumptions_and_unknown_prices() -> None:
    players = {"o3": {"model": "openai/o3"}, "odd": {"model": "openai/unheard-of"}}
    planned = ct.studies.plan(build("bargaining", players=players, pairing="all"))
    forecast = estimate(planned)
    text = str(forecast)
    assert "o3 (which reasons by default) reasons in 100 to 8,000 tokens before each answer" in text
    assert "unknown price of openai/unheard-of" in text.splitlines()[0]
    assert "odd: " in text
    assert "unknown price" in text
    data = json.loads(json.dumps(forecast.as_json()))
    assert data["unpriced"] == ["openai/unheard-of"]
    assert data["players"]["odd"]["dollars"] is None
    assert data["dollars"] == data["players"]["o3"]["dollars"]
    assert data["assumes"] == list(forecast.assumes)


def test_summaries_and_candidates_count_as_calls() -> None:
    assert total_of(history="summary").calls.high > total_of().calls.high
    assert total_of(refine={"candidates": 3}).calls.low > total_of().calls.low


def test_large_study_is_estimated_from_a_few_rehearsals() -> None:
    grid = [{"game": "bargaining", "grid": {"money": [100, 1_000], "messages": [True, False]}}]
    planned = ct.studies.plan(build(games=grid, instances=2_500))
    forecast = estimate(planned, PRICES)
    assert forecast.matches == 10_000
    assert forecast.rehearsed <= 40
    assert forecast.total.calls.low >= 20_000


def test_game_without_a_strategy_is_listed(toys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = ct.studies.plan(build("giving", instances=1))
    monkeypatch.setattr(rehearsing, "strategies", lambda game: {})
    forecast = estimate(planned)
    assert forecast.total.calls == Range(0, 0)
    assert "giving is not included: no strategy can simulate it" in forecast.assumes


def test_rehearsal_sends_same_calls_as_the_match(store: Store) -> None:
    planned = ct.studies.plan(build("bargaining", instances=1))
    models = CountingModels()
    ct.run(planned, store, models=models)
    rehearsal = rehearse(planned.matches[0], "random")
    assert rehearsal is not None
    loads = rehearsal.loads.values()
    assert sum(load.calls for load in loads) == rehearsal.batch_rounds == len(models.calls)
    sent = sum(load.sent + load.schema for load in loads)
    assert sent == sum(map(characters, models.calls))


def test_rehearsals_do_not_compute_best_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    def search(*_: Any) -> None:
        raise AssertionError("it searches")

    monkeypatch.setattr(Responder, "_plan", search)
    players = {"model": {"model": "script/legal"}, "sharp": {"strategy": "best_response"}}
    pairing = [["model", "sharp"], ["model", "model"]]
    planned = ct.studies.plan(build("item_bargaining", players=players, pairing=pairing))
    ct.studies.try_strategies(planned)
    assert estimate(planned, PRICES).total.calls.low > 0


def test_explicit_reasoning_raises_output_estimate() -> None:
    for total in (
        total_of(chain_of_thought="first"),
        total_of(answers="text"),
        total_of("item_bargaining", style="circle_0"),
    ):
        assert total.output_tokens.high > 1_000 * total.calls.high


def test_messages_add_output_and_input_tokens() -> None:
    def amounts(messages: bool) -> Amounts:
        games = [{"game": "bargaining", "fixed": {"messages": messages, "horizon": 12}}]
        return estimate(ct.studies.plan(build(games=games)), PRICES).total

    silent, talking = amounts(messages=False), amounts(messages=True)
    assert talking.output_tokens.high > silent.output_tokens.high + 100 * talking.calls.high
    extra = talking.input_tokens.high - silent.input_tokens.high
    assert extra > talking.output_tokens.high - silent.output_tokens.high


class Verbose(CountingModels):
    """Scripted models with long reasoning whose usage is one token per two characters."""

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        reply = await super().call(call, number, deadline)
        usage = Usage(input_tokens=characters(call) // 2, output_tokens=900)
        return reply.model_copy(update={"usage": usage, "seconds": 7.0})


def test_estimate_uses_history_after_enough_replies(store: Store) -> None:
    study = build("bargaining", instances=15, model={"chain_of_thought": "first"})
    planned = ct.studies.plan(study)
    guessed = estimate(planned, PRICES)

    def estimate_after(calls: int) -> tuple[Estimate, float]:
        ct.run(planned, store, models=Verbose(), prices=PRICES, cap=Cap(calls=calls), concurrency=1)
        settled = {record.id for record in store.records() if record.status in ct.studies.SETTLED}
        seen = usage_histories(store, planned.study.name, {"script/legal"})
        return estimate(planned, PRICES, settled, history=seen), spent(store, 1).dollars

    few, _ = estimate_after(ENOUGH - 1)
    assert "goes on" not in str(few)
    enough, before = estimate_after(ENOUGH)
    assert "model in bargaining: as in" in str(enough)
    assert ct.run(planned, store, models=Verbose(), prices=PRICES).left == 0
    rest, (low, high) = spent(store, 1).dollars - before, enough.total.dollars or (0, 0)
    assert guessed.total.dollars is not None
    assert low <= rest <= high
    assert high / low < guessed.total.dollars.high / guessed.total.dollars.low / 5
    assert 0.8 < enough.seconds.low / (7 * enough.total.calls.low / enough.matches) < 1.3


def test_history_applies_to_same_game_and_settings_only(store: Store) -> None:
    models, cheap = Verbose(), {"script/legal"}
    ct.run(build("bargaining", instances=20), store, models=models, prices=PRICES)
    seen = usage_histories(store, "small", cheap)
    assert len(models.calls) > ENOUGH

    def uses_history(*games: str, **settings: Any) -> bool:
        planned = ct.studies.plan(build(*games, model=settings))
        return ": as in " in str(estimate(planned, PRICES, history=seen))

    assert uses_history("bargaining")
    assert not uses_history("negotiation")
    assert not uses_history("bargaining", temperature=0.5)
    assert not uses_history("bargaining", chain_of_thought="first")
    assert not uses_history("bargaining", model="script/echo")


def test_batch_estimate_applies_batch_discount() -> None:
    half = Prices({"test": (DEAR.model_copy(update={"batch": 0.5}),)})
    planned = ct.studies.plan(build("bargaining"))
    regular, batch = estimate(planned, half), estimate(planned, half, batch=True)
    assert regular.total.dollars is not None
    assert batch.total.dollars == regular.total.dollars.times(0.5)
    assert regular.batch_rounds is None


def batched(game: str, concurrency: int | None = None, **changes: Any) -> Estimate:
    planned = ct.studies.plan(build(game, **changes))
    return estimate(planned, PRICES, batch=True, concurrency=concurrency)


def test_batch_rounds_follow_sequential_decisions() -> None:
    forecast = batched("bargaining", games=[{"game": "bargaining", "fixed": {"horizon": 6}}])
    rounds = forecast.batch_rounds
    assert rounds is not None
    assert 2 <= rounds.low <= rounds.high
    assert 2 * 6 <= rounds.high < 3 * 6, "an offer and an answer per round, and some retries"
    assert forecast.seconds == (3_600 * rounds.low, 86_400 * rounds.high)
    assert forecast.at_once == 10_000
    low, high = (round(end) for end in rounds)
    rounds_text = f"{low} to {high} sequential rounds of batches"
    duration = f"in {low} h 0 min to {high} d 0 h, with up to 10,000 matches at once"
    assert f"estimated time: {rounds_text}, {duration}" in str(forecast)
    assert forecast.as_json()["batch_rounds"] == [*rounds]


def test_simultaneous_decisions_share_batches_and_limited_concurrency_adds_some() -> None:
    games = [{"game": "guess_the_average", "fixed": {"players": 5, "rounds": 3}}]
    assert batched("guess_the_average", games=games).batch_rounds == Range(3, 4)
    unlimited, limited = (batched("persuasion", number).batch_rounds for number in (None, 2))
    assert unlimited is not None
    assert limited == Range(math.ceil(unlimited.low * 3 / 2), unlimited.high * 2)


def test_concurrency_shortens_estimated_time() -> None:
    games = [{"game": "bargaining", "fixed": {"horizon": 2}}]
    planned = ct.studies.plan(build(games=games, instances=50))
    serial, parallel = (estimate(planned, PRICES, concurrency=at_once) for at_once in (1, 32))
    assert parallel.seconds.low == pytest.approx(serial.seconds.low / 32)
    assert parallel.seconds.high < serial.seconds.high / 4
    assert serial.total == parallel.total


def test_measured_speed_determines_duration_of_local_models() -> None:
    """Twice the speed halves the duration, and concurrent answers share only the writing."""
    made = build("negotiation", model={"model": "hf/tiny"}, instances=20)
    planned = ct.studies.plan(made)
    calls: list[tuple[ModelCall, int]] = []

    def speed_of(speed: float, chats: int = 16) -> Callable[[ModelCall, int], Speed]:
        def measure(call: ModelCall, at_once: int) -> Speed:
            calls.append((call, at_once))
            return Speed(min(chats, at_once), 100 * speed, speed, 0.25)

        return measure

    slow = estimate(planned, PRICES, speed_of=speed_of(10), concurrency=12)
    fast = estimate(planned, PRICES, speed_of=speed_of(20), concurrency=12)
    single = estimate(planned, PRICES, speed_of=speed_of(10, chats=1), concurrency=12)
    for quick, end, lonely in zip(fast.seconds, slow.seconds, single.seconds, strict=True):
        assert end == pytest.approx(2 * quick)
        assert end < lonely < 12 * end
    call, at_once = calls[0]
    assert (call.model, at_once) == ("hf/tiny", 12)
    assert call.form is not None
    assert "message" in call.form.json_schema["properties"]
    assert any("model reads 1,000 tokens per second" in text for text in slow.assumes)
    total = slow.total
    assert total.output_tokens.high < 60 * total.calls.high, "messages are limited"


def test_unmeasured_local_model_is_estimated_like_a_server() -> None:
    planned = ct.studies.plan(build("negotiation", model={"model": "hf/./tiny"}))
    forecast = ct.studies.forecast(planned, None, measured=True)  # there is no such model
    assert forecast.takes == estimate(planned)
