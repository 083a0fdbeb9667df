"""A Hugging Face model in this process: real weights, real tokens, though it knows nothing."""

import asyncio
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any, cast

import pytest

import cheaptalk as ct
from cheaptalk.models import (
    ChatMessage,
    Failure,
    ModelCall,
    ModelSettings,
    Reply,
    local,
    model_strings,
)
from cheaptalk.models.clients import open_models
from cheaptalk.models.flow_control import RateLimiter
from cheaptalk.models.local import (
    Generator,
    PendingCall,
    answers,
    give_back,
    together,
    token_bytes,
)
from cheaptalk.models.settings import wire
from cheaptalk.records import Status
from cheaptalk.records.ledger.ledger import lost_calls
from tests.fakes import legal, study
from tests.tiny_model import make_tiny_model

SAID = "Your price?"
OVERHEAD = 3
"""Tokens that a conversation of one message costs beside its bytes."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


def call(folder: Path | str, said: str = SAID, **settings: Any) -> ModelCall:
    return ModelCall(
        model=f"hf/{folder}",
        messages=(ChatMessage(role="user", content=said),),
        settings=ModelSettings.model_validate(settings),
    )


def ask(*calls: ModelCall, deadline: float = 300) -> Sequence[Reply]:
    """What the calls bring, made all at once."""

    async def all_at_once() -> list[Reply]:
        async with open_models() as models:
            return await asyncio.gather(*(models.call(one, "m", deadline) for one in calls))

    return asyncio.run(all_at_once())


@pytest.mark.lm
def test_an_answer_is_counted_in_tokens(tiny: Path) -> None:
    (reply,) = ask(call(tiny, max_tokens=5, temperature=0))
    assert reply.failure is None
    assert reply.usage.input_tokens == len(SAID) + OVERHEAD
    assert 1 <= reply.usage.output_tokens <= 5
    assert (reply.model, reply.sent) == (str(tiny), {"max_tokens": 5, "temperature": 0})
    assert wire(ModelSettings(), f"hf/{tiny}") == {"max_tokens": 1_024}
    assert reply.truncated == (reply.usage.output_tokens == 5)


def test_several_models_are_loaded_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    loading, most = 0, 0

    class Slow:
        def __init__(self, name: str) -> None:
            nonlocal loading, most
            loading += 1
            most = max(most, loading)
            time.sleep(0.05)
            loading -= 1
            raise OSError(f"no {name}")

    monkeypatch.setattr(local, "Generator", Slow)
    replies = ask(*(call(name) for name in ("one", "two", "three")))
    assert [one.detail for one in replies] == [
        f"the model cannot be loaded: no {name}" for name in ("one", "two", "three")
    ]
    assert most == 1


@pytest.mark.lm
def test_a_seed_makes_an_answer_its_own(tiny: Path) -> None:
    asked = [call(tiny, max_tokens=20, seed=seed) for seed in (1, 2, 1)]
    one, two, again = ask(*asked, *[call(tiny, max_tokens=20)] * 3)[:3]
    assert one.text == again.text
    assert one.text != two.text


@pytest.mark.lm
def test_without_a_seed_every_answer_is_drawn_afresh(tiny: Path) -> None:
    drawn = [ask(call(tiny, max_tokens=20, temperature=1))[0].text for _ in range(3)]
    assert len(set(drawn)) == 3


@pytest.mark.lm
def test_no_temperature_always_says_the_same(tiny: Path) -> None:
    calls = [call(tiny, max_tokens=10, temperature=0)] * 3
    assert len({reply.text for reply in ask(*calls)}) == 1


@pytest.mark.lm
def test_calls_of_different_lengths_are_answered_together_as_alone(tiny: Path) -> None:
    texts = ["Short.", "A question that is a good deal longer than the first.", "Or so."]
    calls = [call(tiny, text, max_tokens=12, temperature=0) for text in texts]
    alone = [ask(one)[0] for one in calls]
    for apart, joint in zip(alone, ask(*calls), strict=True):
        assert joint.usage == apart.usage
        assert joint.text == apart.text


@pytest.mark.lm
def test_a_chat_that_goes_on_is_answered_as_if_it_were_read_anew(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on(one: ModelCall, said: str, more: str) -> ModelCall:
        told = (ChatMessage(role="assistant", content=said), ChatMessage(role="user", content=more))
        return one.model_copy(update={"messages": one.messages + told})

    opened, went_on = ("A price?", "Or a longer one?"), ("No.", "A good deal more than that.")
    begun = [call(tiny, said, max_tokens=9, temperature=0) for said in opened]
    read: list[int] = []

    def reading() -> Generator:
        made = Generator(str(tiny))
        forward = made.model.forward

        def counted(*told: Any, **named: Any) -> Any:
            read.append(named["input_ids"].shape[1])
            return forward(*told, **named)

        monkeypatch.setattr(made.model, "forward", counted)
        return made

    asked = reading()
    first = asked.answer(begun, inf)
    going = [
        on(one, reply.text or "", more)
        for one, reply, more in zip(begun, first, went_on, strict=True)
    ]
    read.clear()
    again = asked.answer(going, inf)
    spared = read[0]
    read.clear()
    anew = reading().answer(going, inf)
    assert spared <= read[0] - len(opened[1]), "what was read before is not read again"
    assert [one.text for one in again] == [one.text for one in anew]
    assert [one.usage for one in again] == [one.usage for one in anew]
    other = on(begun[0], "What it never said.", "No.")
    assert asked.answer([other], inf)[0].text == Generator(str(tiny)).answer([other], inf)[0].text


@pytest.mark.lm
def test_a_token_takes_as_much_memory_as_a_model_s_cache_has_for_it(tiny: Path) -> None:
    asked = Generator(str(tiny))
    ids = asked.torch.zeros((1, 7), dtype=asked.torch.long)
    layers = asked.model(ids, use_cache=True).past_key_values.layers
    assert token_bytes(asked.model) * 7 == sum(
        one.keys.nbytes + one.values.nbytes for one in layers
    )


@pytest.mark.lm
@pytest.mark.skipif(sys.platform != "linux", reason="only there does the library give threads back")
def test_threads_that_computed_are_given_back() -> None:
    torch = import_module("torch")
    if torch.get_num_threads() == 1:
        pytest.skip("PyTorch computes with one thread here")

    def threads() -> int:
        return len(list(Path("/proc/self/task").iterdir()))

    give_back()
    idle = threads()
    large = torch.ones(1_000, 1_000)
    assert float((large @ large)[0, 0]) == 1_000
    assert threads() > idle
    give_back()
    assert threads() == idle


@pytest.mark.lm
def test_a_text_ends_before_what_stops_it(tiny: Path) -> None:
    (whole,) = ask(call(tiny, max_tokens=30, temperature=0))
    assert whole.text
    stop = whole.text[len(whole.text) // 2]
    (reply,) = ask(call(tiny, max_tokens=30, temperature=0, stop=[stop]))
    assert reply.text == whole.text.partition(stop)[0]
    assert reply.finish == "stop"


@pytest.mark.lm
def test_a_model_that_is_not_there_is_the_provider_s_failure(tmp_path: Path) -> None:
    (reply,) = ask(call(tmp_path / "nothing"))
    assert (reply.failure, reply.retry) == (Failure.PROVIDER_ERROR, False)
    assert reply.detail is not None
    assert reply.detail.startswith("the model cannot be loaded: ")


@pytest.mark.lm
def test_a_model_that_is_too_slow_is_timed_out(tiny: Path) -> None:
    (reply,) = ask(call(tiny, max_tokens=10_000, temperature=0.01), deadline=0.001)
    assert (reply.text, reply.failure) == (None, Failure.TIMED_OUT)
    assert reply.usage.output_tokens > 0, "it generated them, though in vain"


class SlowBatches:
    """A model that answers 16 calls in 10 ms, and reports how many it was given."""

    most = 16

    def __init__(self, name: str) -> None:
        self.sizes: list[int] = []
        SLOW.append(self)

    def answer(self, calls: list[ModelCall], deadline: float) -> list[Reply]:
        self.sizes.append(len(calls))
        time.sleep(0.01)
        return [Reply(text=legal(one)) for one in calls]


SLOW: list[SlowBatches] = []


@pytest.mark.parametrize("limit", [None, 1, 100])
def test_waiting_in_the_queue_counts_as_no_part_of_a_call_s_time(
    store: ct.Store, monkeypatch: pytest.MonkeyPatch, limit: int | None
) -> None:
    monkeypatch.setattr(local, "Generator", SlowBatches)
    monkeypatch.setattr(model_strings, "IN_PROCESS_NEEDS", ())
    if limit is not None:
        monkeypatch.setattr(RateLimiter, "width", limit)
    tiny = {"model": "hf/tiny", "deadline": 0.02}
    players = {"tiny": tiny, "fair": {"strategy": "equal_split"}}
    games = [{"game": "bargaining", "instances": 100, "fixed": {"horizon": 1}}]
    made = study(games=games, players=players, pairing=[["tiny", "fair"]])
    progress = ct.run(made, store, concurrency=100)
    assert progress.counts == {Status.FINISHED: 100}
    assert max(SLOW[-1].sizes) <= {None: 16, 1: 1, 100: 16}[limit]
    assert lost_calls(store, made.name) == {}


def waiting(deadline: float = 5, **settings: Any) -> PendingCall:
    return PendingCall(call("tiny", **settings), deadline, Future())


def test_calls_with_equal_settings_and_deadlines_are_answered_together() -> None:
    calls = [waiting(temperature=place % 2) for place in range(6)]
    assert together(calls, 16) == (calls[::2], calls[1::2])
    assert together(calls, 2) == (calls[:3:2], [calls[1], *calls[3:]])
    hurried = [waiting(), waiting(deadline=1), waiting()]
    assert together(hurried, 16) == (hurried[::2], hurried[1:2])


class Fragile:
    """Breaks when it is asked something that holds "bad", or two things at once."""

    def answer(self, calls: list[ModelCall], deadline: float) -> list[Reply]:
        said = [one.messages[0].content for one in calls]
        if len(said) > 1 or "bad" in said[0]:
            raise RuntimeError("out of memory")
        return [Reply(text=f"{said[0]} within {deadline:g}")]


def test_a_call_that_breaks_the_model_takes_no_other_with_it() -> None:
    asked = [PendingCall(call("tiny", said), 7, Future()) for said in ("good", "bad", "well")]
    good, bad, well = answers(cast("Generator", Fragile()), asked)
    assert (good.text, well.text) == ("good within 7", "well within 7")
    assert (bad.failure, bad.detail) == (
        Failure.PROVIDER_ERROR, "the model failed: out of memory",
    )  # fmt: skip


def test_a_call_with_a_seed_is_answered_alone() -> None:
    calls = [waiting(seed=1), waiting(seed=1), waiting()]
    assert together(calls, 16) == (calls[:1], calls[1:])
