"""Answers of in-process models follow their JSON schemas."""

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import pytest

from cheaptalk.games.bargaining.rules import Offer
from cheaptalk.games.pirate_game.rules import Plan
from cheaptalk.models import AnswerForm, ChatMessage, ModelCall, ModelSettings, Route
from cheaptalk.models.local.generator import Generator
from cheaptalk.models.local.masks import Schemas, restricted
from cheaptalk.rules import alternative, between
from cheaptalk.rules.actions import schema_of
from tests.tiny_model import answers, make_tiny_model

pytestmark = pytest.mark.lm


def schema(**properties: Any) -> dict[str, Any]:
    fixed = {"required": [*properties], "additionalProperties": False}
    return {"type": "object", "properties": properties, **fixed}


PARTS = ("alice_gain", "bob_gain")
AMOUNT = {"type": "integer", "minimum": 3, "maximum": 120}
SCHEMAS: Sequence[Mapping[str, Any]] = [
    schema(decision={"type": "string", "enum": ["accept", "reject"]}),
    schema(amount=AMOUNT, kind={"const": "offer"}),
    schema(items={"type": "array", "items": AMOUNT}),
    schema(target={"anyOf": [{"$ref": "#/$defs/target"}, {"type": "null"}]})
    | {"$defs": {"target": {"enum": ["ann", "bob"]}}},
]


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Generator:
    return Generator(str(make_tiny_model(tmp_path_factory.mktemp("tiny"))))


def call(json_schema: Mapping[str, Any], route: Route | None = None, **settings: Any) -> ModelCall:
    form = AnswerForm(name="Move", json_schema=dict(json_schema), route=route or "auto")
    return ModelCall(
        model="hf/tiny",
        messages=(ChatMessage(role="user", content="Your move?"),),
        settings=ModelSettings.model_validate({"max_tokens": 80} | settings),
        form=form,
    )


@pytest.mark.parametrize("temperature", [0, 1, 2])
def test_each_row_follows_its_schema_and_ends_with_its_object(
    generator: Generator, temperature: float
) -> None:
    calls = [call(item, temperature=temperature) for item in SCHEMAS]
    calls.append(call(SCHEMAS[0], "text", temperature=temperature))
    *replies, free = answers(generator, calls, range(len(calls)))
    validator = import_module("jsonschema").validate
    for reply, item in zip(replies, SCHEMAS, strict=True):
        validator(json.loads(reply.text or ""), item)
        assert (reply.finish, reply.route) == ("stop", "schema")
        assert (reply.text or "").endswith("}")
        assert reply.usage.output_tokens == len(reply.text or ""), "each byte is a token"
    assert free.route == "text"
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(free.text or "")


def test_batch_and_other_schemas_do_not_change_an_answer(generator: Generator) -> None:
    calls = [call(item) for item in SCHEMAS]
    batched = answers(generator, calls, range(4))
    for seed in (0, 3):
        (single,) = answers(generator, [calls[seed]], [seed])
        assert single.text == batched[seed].text
    assert [reply.sent for reply in batched] == [
        {"temperature": 1.0, "seed": seed, "max_characters": 26} for seed in range(4)
    ]


def test_cut_answer_is_truncated(generator: Generator) -> None:
    (reply,) = answers(generator, [call(SCHEMAS[0], max_tokens=5)], [1])
    assert reply.truncated
    assert (reply.text or "").startswith("{")


def test_answer_with_endless_message_is_complete(generator: Generator) -> None:
    """Characters of texts are limited to a third of the tokens."""
    talk = schema(message={"type": "string", "maxLength": 4_000}, number=AMOUNT)
    for length in (90, 40):
        limited = call(talk, max_tokens=3 * length, temperature=0)
        (reply,) = answers(generator, [limited], [1])
        assert not reply.truncated
        assert len(json.loads(reply.text or "")["message"]) == length
        assert (reply.sent or {})["max_characters"] == length


def test_model_with_reasoning_is_free_to_reason(generator: Generator) -> None:
    replies = answers(generator, [call(SCHEMAS[0], reasoning="high")], [1])
    assert replies[0].route == "text"


def test_masks_exclude_tokens_that_violate_the_schema_and_blanks(generator: Generator) -> None:
    torch = generator.torch
    vocabulary = len(generator.tokenizer)
    schemas = Schemas(generator.tokenizer, vocabulary)
    matcher = schemas.matcher(SCHEMAS[0])
    answer = generator.tokenizer.encode('{"decision": "accept"}', add_special_tokens=False)
    for number, token in enumerate(answer, start=1):
        scores = restricted(torch.zeros((2, vocabulary)), {1: matcher})
        assert scores[0].isfinite().all(), "a row without a schema is free"
        assert scores[1, token] == 0
        assert not scores[1].isfinite().all()
        matcher.consume_token(token)
        assert matcher.is_stopped() == (number == len(answer))
    two_blanks = generator.tokenizer.encode("{  ", add_special_tokens=False)
    assert schemas.matcher(SCHEMAS[0]).validate_tokens(two_blanks) == 2


def test_schema_bounds_numbers_and_lengths(generator: Generator) -> None:
    schemas = Schemas(generator.tokenizer, len(generator.tokenizer))
    bounded = schema(items={"type": "array", "items": AMOUNT, "minItems": 2, "maxItems": 3})
    for items, valid in [((3, 120), True), ((3, 121), False), ((3,), False), ((9,) * 4, False)]:
        text = json.dumps({"items": items})
        tokens = generator.tokenizer.encode(text, add_special_tokens=False)
        assert (schemas.matcher(bounded).validate_tokens(tokens) == len(tokens)) is valid


COINS = {"ann": range(61), "bob": range(31), "carl": range(101)}
OFFER = alternative(**dict.fromkeys(PARTS, between(0, 60.5)), total=60.5)
PLAN = alternative(proposal=alternative(COINS, total=100))
TOTALS = [(schema_of(Offer, [OFFER]), ()), (schema_of(Plan, [PLAN]), ("proposal",))]


@pytest.mark.parametrize(("item", "path"), TOTALS, ids=["numbers", "nested integers"])
def test_numbers_add_up_to_the_total(
    generator: Generator, item: dict[str, Any], path: Sequence[str]
) -> None:
    calls = [call(item, max_tokens=200)] * 2
    for reply in answers(generator, calls, range(2)):
        answer = json.loads(reply.text or "")
        numbers = answer[path[0]] if path else answer
        assert sum(numbers.values()) == pytest.approx(100 if path else 60.5)
        import_module("jsonschema").validate(answer, item)


def test_unsupported_schema_is_reported(generator: Generator) -> None:
    schemas = Schemas(generator.tokenizer, len(generator.tokenizer))
    with pytest.raises(ValueError, match="unsupported JSON schema"):
        schemas.matcher({"type": "no type"})
