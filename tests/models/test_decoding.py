"""Attention of small models on a CPU, and the choice of tokens."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from cheaptalk.models import ModelSettings
from cheaptalk.models.local.attention import attention
from cheaptalk.models.local.sampling import filters, penalised, sample, stream, temperature_of

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
    streams = [*map(stream, range(many))]
    tokens = sample(scores.expand(many, -1), temperature, [], streams)
    shares = torch.bincount(tokens, minlength=len(scores)) / many
    chances = (scores / temperature).softmax(-1)
    assert shares[chances == 0].sum() == 0
    errors = (chances * (1 - chances) / many).sqrt()
    assert ((shares - chances).abs() <= 4 * errors).all()


def test_seed_determines_tokens_of_a_row_in_any_batch(torch: Any) -> None:
    scores = torch.zeros((1, 1_000))

    def drawn(*seeds: int) -> list[list[int]]:
        streams = [*map(stream, seeds)]
        steps = [sample(scores.expand(len(seeds), -1), 1.0, [], streams) for _ in range(5)]
        rows: list[list[int]] = torch.stack(steps, 1).tolist()
        return rows

    first, second = drawn(7, 8)
    assert drawn(9, 7)[1] == first != second


def test_unset_settings_come_from_the_generation_config() -> None:
    transformers = import_module("transformers")
    cases: list[tuple[dict[str, Any], dict[str, Any], float, list[str]]] = [
        ({}, {}, 1.0, []),
        ({}, {"temperature": 0.6}, 1.0, []),
        ({}, {"do_sample": True, "temperature": 0.6, "top_k": 20}, 0.6, ["TopK"]),
        ({"temperature": 0.3, "top_p": 0.9}, {"top_k": 0, "min_p": 0.1}, 0.3, ["TopP", "MinP"]),
        ({"top_p": 1}, {"do_sample": True, "top_p": 0.5}, 1.0, []),
        ({"temperature": 0}, {"do_sample": True}, 0, []),
    ]
    for given, preset, temperature, names in cases:
        settings = ModelSettings.model_validate(given)
        config = transformers.GenerationConfig(**preset)
        assert temperature_of(settings, config) == temperature
        classes = [type(item).__name__ for item in filters(settings, config)]
        assert classes == [f"{name}LogitsWarper" for name in names]


def test_repetition_penalty_concerns_only_tokens_of_the_row(torch: Any) -> None:
    config = import_module("transformers").GenerationConfig(repetition_penalty=2.0)
    scores = torch.tensor([[4.0, -4.0, 1.0], [4.0, -4.0, 1.0]])
    penalty = penalised(scores, [[0, 1], [2]], config)
    assert penalty.tolist() == [[2.0, -8.0, 1.0], [4.0, -4.0, 0.5]]
