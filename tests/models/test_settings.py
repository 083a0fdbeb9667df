"""Settings: translation for each provider, and rejection of unsupported ones."""

from typing import Any

import pytest

from cheaptalk.models import PROVIDERS, ModelName, ModelSettings, check_settings
from cheaptalk.models.settings import routes, wire
from cheaptalk.yaml_files import parse_yaml

CHAT = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 9, "seed": 1, "stop": ["END"]}


def sent(model: str, **settings: Any) -> dict[str, Any]:
    return wire(ModelSettings.model_validate(settings), model)


def test_chat_settings_keep_their_names() -> None:
    assert sent("vllm/qwen", **CHAT) == CHAT
    for entry in PROVIDERS.values():
        assert all(bool(model.reasoning) == bool(model.levels) for model in entry.models)


TRANSLATED = """
openai/gpt-4o | {max_tokens: 9} | {max_completion_tokens: 9}
openai/o3 | {reasoning: low} | {reasoning_effort: low}
openai/o3 | {stream: true} | {stream: true, stream_options: {include_usage: true}}
gemini/gemini-2.5-flash | {stream: true} | {stream: true, stream_options: {include_usage: true}}
openai/gpt-5-mini | {reasoning: minimal} | {reasoning_effort: minimal}
openai/gpt-5.2 | {reasoning: none, temperature: 1} | {reasoning_effort: none, temperature: 1}
anthropic/claude-3-5-haiku-latest | {temperature: 1, stop: [END]} |
    {temperature: 1, stop_sequences: [END], max_tokens: 4096}
anthropic/claude-opus-4-1 | {reasoning: low} |
    {thinking: {type: enabled, budget_tokens: 4096}, max_tokens: 8192}
anthropic/claude-sonnet-4-5 | {reasoning: 2000, max_tokens: 3000} |
    {thinking: {type: enabled, budget_tokens: 2000}, max_tokens: 3000}
anthropic/claude-sonnet-4-20250514 | {reasoning: none, temperature: 0} |
    {thinking: {type: disabled}, temperature: 0, max_tokens: 4096}
anthropic/claude-opus-4-7 | {reasoning: high} |
    {thinking: {type: adaptive}, output_config: {effort: high}, max_tokens: 20480}
gemini/gemini-2.5-flash | {reasoning: none} | {reasoning_effort: none}
gemini/gemini-2.5-pro | {reasoning: 512} |
    {extra_body: {google: {thinking_config: {thinking_budget: 512}}}}
openrouter/qwen/qwen3 | {reasoning: medium} |
    {reasoning: {effort: medium}, provider: {require_parameters: true}}
openrouter/qwen/qwen3 | {reasoning: 900} |
    {reasoning: {max_tokens: 900}, provider: {require_parameters: true}}
vllm/qwen3 | {reasoning: none} | {chat_template_kwargs: {enable_thinking: false}}
vllm/openai/gpt-oss-20b | {reasoning: low} | {reasoning_effort: low}
ollama/qwen3 | {reasoning: high} | {reasoning_effort: high}
llamacpp/qwen3 | {reasoning: none} |
    {chat_template_kwargs: {enable_thinking: false}, max_tokens: 1024}
script/legal | {temperature: 1, reasoning: 2000} | {temperature: 1, reasoning: 2000}
together/openai/gpt-oss-120b | {reasoning: high} | {reasoning_effort: high}
"""
"""Model strings, settings, and the fields of the request."""
REJECTED = """
openai/o3 | {temperature: 0.5} | openai/o3 does not support temperature: remove it
openai/gpt-5 | {stop: [END]} | does not support stop
openai/gpt-5.2 | {temperature: 1, reasoning: low} | does not support temperature with reasoning
openai/gpt-4o | {reasoning: low} | has no reasoning setting
openai/o3 | {reasoning: none} | reasoning: none; use low, medium, high
openai/o3 | {reasoning: 2000} | does not support reasoning: 2000
anthropic/claude-opus-4-1 | {seed: 1} | does not support seed
anthropic/claude-opus-4-1 | {temperature: 1.5} | supports temperatures up to 1
anthropic/claude-opus-4-1 | {reasoning: high, top_p: 0.9} | does not support top_p with
anthropic/claude-opus-4-1 | {reasoning: 100} | requires at least 1,024 reasoning tokens
anthropic/claude-opus-4-1 | {reasoning: 2000, max_tokens: 2000} | above 2,000
anthropic/claude-opus-4-7 | {temperature: 1} | does not support temperature
gemini/gemini-2.5-pro | {seed: 1} | does not support seed
gemini/gemini-2.5-pro | {reasoning: none} | reasoning: none; use minimal, low, medium
openrouter/anthropic/claude-opus-4.7 | {temperature: 1} | does not support temperature
openai-compatible/x@http://h/v1 | {reasoning: low} | no reasoning setting
vllm/qwen3@http://h/v1 | {reasoning: low} |
    vllm/qwen3 does not support reasoning: low; use none, high
agent/mine@http://h | {max_tokens: 1} | does not support max_tokens
anthropic/claude-opus-4-1 | {stream: true} | does not support stream: remove it
hf/tiny | {stream: true} | does not support stream
"""
"""Model strings, settings, and a part of the error."""


def rows(table: str) -> list[list[str]]:
    return [row.split(" | ") for row in table.strip().replace("|\n   ", "|").splitlines()]


def test_settings_are_translated_for_provider() -> None:
    for model, settings, expected in rows(TRANSLATED):
        assert sent(model, **parse_yaml(settings)) == parse_yaml(expected)


def test_unsupported_settings_are_rejected() -> None:
    for model, settings, error in rows(REJECTED):
        with pytest.raises(ValueError, match=error):
            check_settings(ModelSettings.model_validate(parse_yaml(settings)), model)


def test_unsupported_answer_route_is_rejected() -> None:
    check_settings(ModelSettings(), "openai/gpt-4o", "schema")
    model = "anthropic/claude-opus-4-1"
    with pytest.raises(ValueError, match="support answers: schema; set answers to tool or text"):
        check_settings(ModelSettings(), model, "schema")
    with pytest.raises(ValueError, match="support answers: tool; set answers to text"):
        check_settings(ModelSettings(reasoning="low"), model, "tool")
    for name in ("openai/gpt-4-turbo", "openai/gpt-3.5-turbo", "openai/gpt-4"):
        assert "schema" not in routes(ModelSettings(), ModelName.parse(name))
