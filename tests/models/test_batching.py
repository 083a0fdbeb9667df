"""Calls join and leave a batch of an in-process model without changing each other's answers."""

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cheaptalk.models import ChatMessage, Failure, ModelCall, ModelSettings
from cheaptalk.models.local.batch import Batch
from cheaptalk.models.local.generator import Generator
from cheaptalk.models.local.prefix_cache import Readings
from cheaptalk.models.local.row_cache import SPARE, RowCache
from tests.tiny_model import answers, make_tiny_model, pending_calls, run

pytestmark = pytest.mark.lm
PROMPTS = ("A price?", "A good deal longer: what is your price for these three books?", "Well?", "")


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Generator:
    return Generator(str(make_tiny_model(tmp_path_factory.mktemp("tiny"))))


def calls(model: str = "tiny", **settings: Any) -> list[ModelCall]:
    return [
        ModelCall(
            model=f"hf/{model}",
            messages=(ChatMessage(role="user", content=prompt),),
            settings=ModelSettings.model_validate({"max_tokens": 90 - 20 * number} | settings),
        )
        for number, prompt in enumerate(PROMPTS)
    ]


@pytest.mark.parametrize("temperature", [0, 1])
def test_calls_that_join_later_do_not_change_answers(
    generator: Generator, temperature: int
) -> None:
    expected = [
        answers(generator, [call], [seed])[0].text
        for seed, call in enumerate(calls(temperature=temperature))
    ]
    pending = pending_calls(calls(temperature=temperature), range(len(PROMPTS)))
    batch = Batch(generator)
    for call in pending:
        waiting = [call]
        for _ in range(7):
            batch.advance(waiting)
        assert not waiting
    assert len(batch) > 1
    assert [reply.text for reply in run(batch, pending)] == expected


def test_free_rows_are_used_again_and_then_removed(generator: Generator) -> None:
    many = [call for _ in range(3) for call in calls(temperature=0)]
    batch = Batch(generator)
    batch.limit = 4
    replies = run(batch, pending_calls(many, range(12)))
    assert [reply.text for reply in replies[4:8]] == [reply.text for reply in replies[:4]]
    assert batch.limit > 4
    assert not batch._rows
    assert batch._cache is None


def test_caches_are_freed_without_garbage_collection(generator: Generator) -> None:
    gc.collect()
    gc.disable()
    try:
        answers(generator, calls(), range(4))
        assert not [each for each in gc.get_objects() if type(each) is RowCache]
    finally:
        gc.enable()


def test_model_without_key_value_cache_is_reported(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path, family="Mamba", expand=2, state_size=4)
    with pytest.raises(ValueError, match="no key-value cache; use a server"):
        Generator(str(folder))


def test_call_with_a_seed_is_answered_without_others(generator: Generator) -> None:
    pending = pending_calls([*calls()[:1], *calls(seed=5)[:2], *calls()[2:3]], range(4))
    batch, sizes = Batch(generator), set()
    waiting = [*pending]
    while waiting or batch:
        batch.advance(waiting)
        if any(row.seeded for row in batch._live):
            sizes.add(len(batch))
    assert sizes == {1}
    (alone,) = answers(generator, calls(seed=5)[1:2], [2])
    assert pending[2].reply.result().text == alone.text


def test_failing_call_does_not_affect_others(
    generator: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = generator.scores

    def fragile(tokens: Sequence[Sequence[int]], lengths: Sequence[int], cache: Any) -> Any:
        if len(tokens) > 2 or len(PROMPTS[1]) < len(tokens[0]):
            raise RuntimeError("out of memory")
        return scores(tokens, lengths, cache)

    expected = [reply.text for reply in answers(generator, calls(temperature=0), range(4))]
    monkeypatch.setattr(generator, "scores", fragile)
    monkeypatch.setattr(generator, "readings", Readings(0))
    replies = answers(generator, calls(temperature=0), range(4))
    failed = replies.pop(1)
    assert [reply.text for reply in replies] == [expected[0], *expected[2:]]
    assert (failed.failure, failed.detail) == (
        Failure.PROVIDER_ERROR,
        "the model failed: out of memory",
    )


FAMILIES: dict[str, dict[str, Any]] = {
    "Llama": {},
    "Gemma3Text": {"sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]},
    "Qwen3Next": {
        "layer_types": ["linear_attention", "full_attention"],
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 2,
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 8,
        "mlp_only_layers": [0, 1],
    },
    "DeepseekV3": {
        "first_k_dense_replace": 2,
        "kv_lora_rank": 12,
        "q_lora_rank": 8,
        "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 8,
        "v_head_dim": 4,
        "head_dim": 8,
        "num_key_value_heads": 4,
    },
}


@pytest.mark.parametrize("family", FAMILIES)
def test_generation_matches_transformers(tmp_path: Path, family: str) -> None:
    config = FAMILIES[family] | {"initializer_range": 0.5}
    generator = Generator(str(make_tiny_model(tmp_path, 1, family, **config)))
    assert (generator.token is None) == (family in ("Qwen3Next", "DeepseekV3"))
    tokens = SPARE + 9
    options = {"max_new_tokens": tokens, "do_sample": False, "return_dict_in_generate": True}
    for call, reply in zip(
        calls(max_tokens=tokens, temperature=0),
        answers(generator, calls(max_tokens=tokens, temperature=0), range(4)),
        strict=True,
    ):
        prompt = generator.prompt(call, "text")
        ids = generator.torch.tensor([prompt])
        sequence = generator.model.generate(ids, **options).sequences[0, len(prompt) :]
        assert reply.text == generator.tokenizer.decode(sequence, skip_special_tokens=True)
