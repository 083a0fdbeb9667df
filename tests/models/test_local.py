"""A Hugging Face model in this process, with random weights and a real tokenizer."""

import asyncio
import itertools
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pytest

import cheaptalk as ct
from cheaptalk.models import ChatMessage, Failure, ModelCall, ModelSettings, Reply
from cheaptalk.models.clients import AllModels
from cheaptalk.models.flow_control import RateLimiter
from cheaptalk.models.local import client, files
from cheaptalk.models.local.batch import PendingCall
from cheaptalk.models.local.client import give_back
from cheaptalk.models.local.generator import LOADED, Generator
from cheaptalk.models.local.prefix_cache import shared_prefixes
from cheaptalk.models.local.speed import CHARACTERS, local_speed
from cheaptalk.models.settings import wire
from cheaptalk.records import Status
from cheaptalk.records.ledger.ledger import lost_calls
from tests.fakes import legal, study
from tests.tiny_model import answers, make_tiny_model, save_as_gguf

PROMPT = "Your price?"
SEEDS = (1, 2)
TOKEN_OVERHEAD = 3
"""Tokens of a conversation of one message in addition to its bytes."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


def call(folder: Path | str, prompt: str = PROMPT, **settings: Any) -> ModelCall:
    return ModelCall(
        model=f"hf/{folder}",
        messages=(ChatMessage(role="user", content=prompt),),
        settings=ModelSettings.model_validate(settings),
    )


COUNT = itertools.count()
"""Numbers of calls, which determine their seeds."""


def call_models(*calls: ModelCall, deadline: float = 300) -> Sequence[Reply]:
    """Make calls concurrently and return their replies."""

    async def all_at_once() -> list[Reply]:
        async with AllModels() as models:
            return await asyncio.gather(
                *(models.call(call, str(next(COUNT)), deadline) for call in calls)
            )

    return asyncio.run(all_at_once())


@pytest.mark.lm
def test_reply_reports_token_usage(tiny: Path) -> None:
    (reply,) = call_models(call(tiny, max_tokens=5, temperature=0))
    assert reply.failure is None
    assert reply.usage.input_tokens == len(PROMPT) + TOKEN_OVERHEAD
    assert 1 <= reply.usage.output_tokens <= 5
    assert (reply.model, reply.sent) == (str(tiny), {"max_tokens": 5, "temperature": 0})
    assert wire(ModelSettings(), f"hf/{tiny}") == {"max_tokens": 1_024}
    assert reply.truncated == (reply.usage.output_tokens == 5)


@pytest.mark.lm
def test_speed_is_measured_once_with_the_model_of_the_next_run(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    speed = local_speed(call(tiny, "x" * 900), 4)
    assert speed is not None
    assert speed.chats == 4
    assert 0 < speed.writing < speed.reading
    assert speed.density == pytest.approx((CHARACTERS + TOKEN_OVERHEAD) / CHARACTERS)

    def loading_again(name: str, **_: object) -> None:
        raise AssertionError(f"{name} is loaded again")

    monkeypatch.setattr(client, "Generator", loading_again)
    monkeypatch.setattr("cheaptalk.models.local.speed.Generator", loading_again)
    assert local_speed(call(tiny), 4) is speed
    assert call_models(call(tiny, max_tokens=5))[0].text is not None
    assert not LOADED, "the run has unloaded it"
    assert local_speed(call("not/downloaded"), 4) is None


def test_models_are_loaded_sequentially(monkeypatch: pytest.MonkeyPatch) -> None:
    loading, most = 0, 0

    class FailingGenerator:
        def __init__(self, name: str) -> None:
            nonlocal loading, most
            loading += 1
            most = max(most, loading)
            time.sleep(0.02)
            loading -= 1
            raise OSError(f"no {name}")

    monkeypatch.setattr(client, "Generator", FailingGenerator)
    replies = call_models(call("one"), call("two"))
    assert [(reply.failure, reply.retry, reply.detail) for reply in replies] == [
        (Failure.PROVIDER_ERROR, False, f"the model cannot be loaded: no {name}")
        for name in ("one", "two")
    ]
    assert most == 1


@pytest.mark.lm
def test_seed_or_zero_temperature_determines_answer(tiny: Path) -> None:
    seeded = [call(tiny, max_tokens=20, seed=seed) for seed in (1, 2, 1)]
    first, second, repeated = call_models(*seeded, *[call(tiny, max_tokens=20)] * 3)[:3]
    assert first.text == repeated.text != second.text
    assert (first.sent or {}).get("seed") == 1
    for temperature, distinct in ((0, 1), (1, 3)):
        drawn = [call_models(call(tiny, max_tokens=20, temperature=temperature)) for _ in range(3)]
        assert len({reply.text for (reply,) in drawn}) == distinct


@pytest.mark.lm
def test_batching_does_not_change_answers(tiny: Path) -> None:
    texts = ["Short.", "A question that is a good deal longer than the first.", "Or so."]
    calls = [call(tiny, text, max_tokens=12, temperature=0) for text in texts]
    separate = [call_models(single)[0] for single in calls]
    for single_reply, batched in zip(separate, call_models(*calls), strict=True):
        assert batched.usage == single_reply.usage
        assert batched.text == single_reply.text


def continued(first: ModelCall, answer: str, prompt: str) -> ModelCall:
    turns = (
        ChatMessage(role="assistant", content=answer),
        ChatMessage(role="user", content=prompt),
    )
    return first.model_copy(update={"messages": first.messages + turns})


@pytest.mark.lm
def test_cached_prefix_does_not_change_answers(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def counting_generator() -> Generator:
        made = Generator(str(tiny))
        forward = made.model.forward

        def forward_counted(*args: Any, **kwargs: Any) -> Any:
            lengths.append(kwargs["input_ids"].shape[1])
            return forward(*args, **kwargs)

        monkeypatch.setattr(made.model, "forward", forward_counted)
        return made

    openings, follow_ups = ("A price?", "Or a longer one?"), ("No.", "A good deal more than that.")
    opening_calls = [call(tiny, prompt, max_tokens=9, temperature=0) for prompt in openings]
    generator = counting_generator()
    continued_calls = [
        continued(pending, reply.text or "", prompt)
        for pending, reply, prompt in zip(
            opening_calls, answers(generator, opening_calls, SEEDS), follow_ups, strict=True
        )
    ]
    lengths.clear()
    again = answers(generator, continued_calls, SEEDS)
    cached = lengths[0]
    lengths.clear()
    fresh = answers(counting_generator(), continued_calls, SEEDS)
    assert cached <= lengths[0] - len(openings[1]), "what was read before is not read again"
    assert [reply.text for reply in again] == [reply.text for reply in fresh]
    assert [reply.usage for reply in again] == [reply.usage for reply in fresh]
    other = [continued(opening_calls[0], "What it never said.", "No.")]
    expected = answers(Generator(str(tiny)), other, SEEDS[:1])[0].text
    assert answers(generator, other, SEEDS[:1])[0].text == expected


@pytest.mark.lm
def test_shared_prefix_is_processed_once_and_does_not_change_answers(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules, others = "The rules of the game. " * 20, "Other rules apply here. " * 20
    prompts = [rules + "You are Ann.", others + "You are Bob.", rules + "Now Carol, you are next."]
    calls = [call(tiny, prompt, max_tokens=9, temperature=0) for prompt in [*prompts, others]]
    generator = Generator(str(tiny))
    shapes: list[tuple[int, int]] = []
    forward = generator.model.base_model.forward

    def forward_counted(*args: Any, **kwargs: Any) -> Any:
        shapes.append(tuple(kwargs["input_ids"].shape))
        return forward(*args, **kwargs)

    monkeypatch.setattr(generator.model.base_model, "forward", forward_counted)
    replies = answers(generator, calls, SEEDS * 2)
    longest = max(map(len, prompts))
    assert sum(rows * tokens for rows, tokens in shapes) < 2 * longest + 4 * 60
    separate = [answers(Generator(str(tiny)), [single], [1])[0] for single in calls]
    assert [reply.text for reply in replies] == [reply.text for reply in separate]
    assert [reply.usage for reply in replies] == [reply.usage for reply in separate]


def test_prefixes_are_shared_only_if_it_saves_tokens() -> None:
    rules, others = [1] * 100, [2] * 80
    prompts = {0: [*rules, 5], 1: [*others, 5, 6], 4: [*rules, 7], 5: [*others, 8, 9, 10]}
    groups = {(frozenset(group.rows), group.tokens) for group in shared_prefixes(prompts)}
    assert groups == {(frozenset({0, 4}), 100), (frozenset({1, 5}), 80)}
    assert shared_prefixes({0: [1, 2, 3], 1: [1, 2, 4]}) == []
    assert shared_prefixes({0: rules}) == shared_prefixes({}) == []
    assert [group.tokens for group in shared_prefixes({0: rules, 1: rules})] == [99]


@pytest.mark.lm
@pytest.mark.skipif(sys.platform != "linux", reason="only there does the library give threads back")
def test_give_back_releases_threads() -> None:
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
def test_gguf_file_gives_the_answers_of_its_model(tiny: Path, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"max_tokens": 12, "temperature": 0}
    file = save_as_gguf(tiny, tmp_path / "tiny.gguf")
    replies = call_models(call(tiny, **settings), call(file, **settings))
    assert replies[0].text
    assert replies[0].text == replies[1].text


@pytest.mark.lm
def test_text_ends_before_stop_sequence(tiny: Path) -> None:
    (full,) = call_models(call(tiny, max_tokens=30, temperature=0))
    assert full.text
    stop = full.text[len(full.text) // 2]
    (reply,) = call_models(call(tiny, max_tokens=30, temperature=0, stop=[stop]))
    assert reply.text == full.text.partition(stop)[0]
    assert reply.finish == "stop"


@pytest.mark.lm
def test_slow_model_times_out(tiny: Path) -> None:
    (reply,) = call_models(call(tiny, max_tokens=10_000, temperature=0.01), deadline=0.001)
    assert (reply.text, reply.failure) == (None, Failure.TIMED_OUT)
    assert reply.usage.output_tokens > 0, "it generated them, though in vain"


class SlowGenerator:
    """A model that answers up to 16 calls at a time."""

    most = 16

    def __init__(self, name: str) -> None:
        """Load nothing."""


class SlowBatch:
    """A batch that answers its calls in 10 ms, and records their number."""

    sizes: ClassVar[list[int]] = []

    def __init__(self, generator: SlowGenerator) -> None:
        self.most = generator.most

    def __len__(self) -> int:
        return 0

    def advance(self, waiting: list[PendingCall]) -> None:
        calls = waiting[: self.most]
        del waiting[: self.most]
        self.sizes.append(len(calls))
        time.sleep(0.01)
        for call in calls:
            call.reply.set_result(Reply(text=legal(call.call)))


@pytest.mark.parametrize("limit", [None, 1, 40])
def test_queueing_does_not_count_towards_deadline(
    store: ct.Store, monkeypatch: pytest.MonkeyPatch, limit: int | None
) -> None:
    monkeypatch.setattr(client, "Generator", SlowGenerator)
    monkeypatch.setattr(client, "Batch", SlowBatch)
    SlowBatch.sizes.clear()
    monkeypatch.setattr(files, "NEEDED", ())
    if limit is not None:
        monkeypatch.setattr(RateLimiter, "width", limit)
    tiny = {"model": "hf/tiny", "deadline": 0.02}
    players = {"tiny": tiny, "fair": {"strategy": "equal_split"}}
    games = [{"game": "bargaining", "instances": 40, "fixed": {"horizon": 1}}]
    spec = study(games=games, players=players, pairing=[["tiny", "fair"]])
    progress = ct.run(spec, store, concurrency=40)
    assert progress.counts == {Status.FINISHED: 40}
    assert max(SlowBatch.sizes) <= {None: 16, 1: 1, 40: 16}[limit]
    assert lost_calls(store, spec.name) == {}
