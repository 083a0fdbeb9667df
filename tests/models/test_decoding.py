"""Decoding small models on a CPU gives the same text as transformers does."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from cheaptalk.models.decoding import TO_COME, Draw, attention, roomy_cache, with_single_draw
from cheaptalk.models.local import Generator
from tests.tiny_model import make_tiny_model

pytestmark = pytest.mark.lm
CHATS, HEADS, GROUPS, WIDTH = 3, 6, 2, 8


@pytest.fixture
def torch() -> Any:
    return import_module("torch")


@pytest.mark.parametrize("tokens", [1, 4])
@pytest.mark.parametrize("masked", [True, False])
def test_attention_matches_pytorch(torch: Any, tokens: int, masked: bool) -> None:
    rng = torch.Generator().manual_seed(7)
    query = torch.randn((CHATS, HEADS, tokens, WIDTH), generator=rng)
    key, value = torch.randn((2, CHATS, GROUPS, 11, WIDTH), generator=rng)
    mask = torch.rand((CHATS, 1, tokens, 11), generator=rng) < 0.7
    mask[..., -1] = True
    many = HEADS // GROUPS
    expected = torch.nn.functional.scaled_dot_product_attention(
        query,
        key.repeat_interleave(many, 1),
        value.repeat_interleave(many, 1),
        attn_mask=mask if masked else None,
        scale=0.3,
    )
    module = SimpleNamespace(num_key_value_groups=many, is_causal=False)
    attn_mask = mask if masked else None
    output, weights = attention(module, query, key, value, attn_mask, scaling=0.3)
    assert weights is None
    torch.testing.assert_close(output, expected.transpose(1, 2))


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_tokens_are_sampled_by_probability(torch: Any, temperature: float) -> None:
    many = 40_000
    scores = torch.tensor([-torch.inf, 1.0, 0.0, -torch.inf, 2.0, -1.0, -torch.inf])
    with torch.random.fork_rng():
        torch.manual_seed(5)
        kept = Draw(temperature)(None, scores.expand(many, -1))
    assert (kept.isfinite().sum(-1) == 1).all()
    shares = torch.bincount(kept.argmax(-1), minlength=len(scores)) / many
    chances = (scores / temperature).softmax(-1)
    assert shares[chances == 0].sum() == 0
    errors = (chances * (1 - chances) / many).sqrt()
    assert ((shares - chances).abs() <= 4 * errors).all()


def test_filtered_sampling_uses_transformers() -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
        ({"temperature": 1.0}, {"top_k": 0}, True),
        ({"temperature": 1.0}, {"top_k": None}, False),
        ({"temperature": 1.0}, {"top_k": 0, "min_p": 0.1}, False),
        ({"temperature": 1.0, "top_p": 0.9}, {"top_k": 0}, False),
        ({}, {"top_k": 0}, False),
    ]
    for given, preset, single_draw in cases:
        config = import_module("transformers").GenerationConfig(do_sample=True, **preset)
        arguments = with_single_draw(
            SimpleNamespace(generation_config=config), given | {"do_sample": True}
        )
        assert arguments["do_sample"] is not single_draw
        assert ("logits_processor" in arguments) is single_draw


def test_roomy_cache_keeps_appended_values(torch: Any) -> None:
    cache = roomy_cache()
    parts: list[Any] = []
    for tokens in (5, *[1] * (TO_COME + 3), TO_COME * 2):
        new = torch.randn((2, CHATS, GROUPS, tokens, WIDTH))
        parts.append(new)
        keys, values = cache.update(*new, 0)
        combined = torch.cat(parts, -2)
        assert torch.equal(keys, combined[0])
        assert torch.equal(values, combined[1])
    assert cache.get_seq_length() == combined.shape[-2]


def test_generation_matches_transformers(tmp_path: Any) -> None:
    generator = Generator(str(make_tiny_model(tmp_path)))
    ids = generator.tokenizer(
        ["A price?", "Or a much longer one?"], padding=True, return_tensors="pt"
    )
    options = {"max_new_tokens": TO_COME + 9, "do_sample": False, "min_new_tokens": TO_COME + 9}
    generated = generator.model.generate(**ids, **options, past_key_values=roomy_cache())
    generator.model.set_attn_implementation("eager")
    assert generated.tolist() == generator.model.generate(**ids, **options).tolist()
