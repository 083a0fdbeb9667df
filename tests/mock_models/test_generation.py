"""The mock server's answers match any schema or form and respect the bounds in a request."""

import json
import math
from typing import Annotated, Any, Literal

from pydantic import Field

import cheaptalk as ct
from cheaptalk.mock_models import answer
from cheaptalk.mock_models.formats import with_schema
from cheaptalk.mock_models.generation import Generator, matching
from cheaptalk.models.structured_output import sendable
from cheaptalk.records import Store
from cheaptalk.rules import Ask, alternative, get_game
from cheaptalk.rules.actions import schema_of
from cheaptalk.styles import JsonCodec
from tests.conftest import EXAMPLE_GAMES
from tests.fakes import Canned, study
from tests.mock_models.test_mock_models import collect_kinds

DRAWS = [n / 40 for n in range(40)]
PRETENDED: dict[str, Any] = {"players": {"tiny": {"model": "vllm/tiny"}}, "pairing": "self"}


class Lot(ct.rules.Value):
    name: Annotated[str, Field(min_length=2, max_length=4)]
    count: Annotated[int, Field(ge=1, le=3, strict=True)]


class Bounded(ct.Action):
    integer: Annotated[int, Field(ge=-3, le=4, strict=True)]
    above: Annotated[int, Field(gt=10, lt=13)]
    step: Annotated[int, Field(ge=1, le=40, multiple_of=7)]
    share: Annotated[float, Field(ge=0.25, lt=0.26)]
    huge: Annotated[float, Field(ge=1e6)]
    low: Annotated[float, Field(le=-5)]


class Strings(ct.Action):
    code: Annotated[str, Field(pattern=r"^[A-Z]{3}-\d{2,4}$")]
    short: Annotated[str, Field(max_length=3)]
    long: Annotated[str, Field(min_length=60)]
    choice: Literal["red", "blue"]
    sure: bool
    fixed: Literal["only"]


class Nested(ct.Action):
    lots: Annotated[tuple[Lot, ...], Field(min_length=2, max_length=3)]
    pair: tuple[int, str]
    prices: dict[str, int]
    maybe: Annotated[int, Field(ge=5, le=6)] | None
    either: Annotated[int, Field(ge=5, le=6)] | Literal["none"]


class AllOptional(ct.Action):
    bid: Annotated[int, Field(ge=5, le=6)] | None = None
    remark: ct.Message | None = None


ACTIONS: tuple[type[ct.Action], ...] = (Bounded, Strings, Nested, AllOptional)


def test_generated_values_are_valid() -> None:
    for action in ACTIONS:
        schema = action.model_json_schema()
        for draw in DRAWS:
            value = Generator(schema, draw).value(schema)
            assert value
            action.model_validate(value)


class Unbounded(ct.Action):
    amount: float
    count: int
    note: ct.Message
    choice: Literal["red", "blue"]
    items: tuple[int, ...]
    sure: bool
    maybe: int | None


def test_answers_to_requests_with_schemas_or_forms_are_parsed() -> None:
    codec = JsonCodec()
    actions: list[type[ct.Action]] = [*ACTIONS, Unbounded]
    for action in actions:
        request = f"Answer with one JSON object: {codec.form(action)}."
        schema = None if action is Unbounded else action.model_json_schema()
        messages = with_schema([{"role": "user", "content": request}], schema)
        for seed in range(20):
            codec.read(answer(messages, seed), Ask("alice", action, ct.Event()))


def test_numbers_respect_bounds_in_text() -> None:
    for request_, low, high in [
        ("A whole number from 3 to 900.", 3, 900),
        ("Bid between 5 and 7 tokens.", 5, 7),
        ("Bid at least 2; the buyer pays 40 thousand dollars at most.", 2, 40),
        ("Your last answer does not count: the price must not lie above 47.", 0, 47),
    ]:
        form = '{"bid": <whole number>}'
        texts = [answer([{"role": "user", "content": f"{request_} {form}"}], n) for n in range(40)]
        bids = [json.loads(text[text.index("{") : text.rindex("}") + 1])["bid"] for text in texts]
        assert low <= min(bids)
        assert max(bids) <= high
        assert len(set(bids)) > 1


def test_strings_match_schema_pattern() -> None:
    for pattern in ("^[a-z]{4}$", "^(yes|no)$", r"^[^a-z]+\d$", "^#[0-9A-F]{6}$", r"^\w+@\w+\.o$"):

        class Patterned(ct.Action):
            text: Annotated[str, Field(pattern=pattern)]

        Patterned(text=matching(pattern))


def test_mock_model_plays_example_games_legally(store: Store, example_games: None) -> None:
    for with_form in [True, False]:
        for name in EXAMPLE_GAMES:

            def reply(call: Any, _: str, with_form: bool = with_form) -> str:
                schema = call.form.json_schema if with_form else None
                return answer(
                    with_schema([message.model_dump() for message in call.messages], schema)
                )

            made = study(name=name, games=[{"game": name}], instances=4, **PRETENDED)
            ct.run(made, store, models=Canned(reply))
            assert collect_kinds(store, name) == {("finished", "ok")}


def test_mock_model_negotiates_legally_at_any_scale(store: Store) -> None:
    for style in ["plain", "reworded", "reworded_euros"]:
        for scale in [100, 1_000_000]:
            assert style in get_game("negotiation").styles
            games = [
                {"game": "negotiation", "fixed": {"scale": scale}},
                {"game": "bargaining", "fixed": {"money": scale}},
            ]
            made = study(games=games, instances=2, models={"style": style}, **PRETENDED)
            ct.run(made, store, models=Canned())
            assert collect_kinds(store, "small") == {("finished", "ok")}
            records = store.records("small", bodies=True)
            actions = [reply.action or {} for record in records for reply in record.answers]
            prices = [action["price"] for action in actions if "price" in action]
            assert prices
            assert all(math.isfinite(price) and scale / 10 < price < 10 * scale for price in prices)


class Offer(ct.Action):
    reasoning: str | None = None
    action: Literal["ACCEPT", "WALK", "OFFER"]
    offer: tuple[int, ...] | None = None


class Shares(ct.Action):
    shares: dict[str, int]


COUNTS = [range(8), range(1), range(3)]
STRICT: list[tuple[type[ct.Action], list[ct.rules.Schema]]] = [
    (
        Offer,
        [
            alternative(action=["ACCEPT", "WALK"], offer=None),
            alternative(action="OFFER", offer=COUNTS),
        ],
    ),
    (Shares, [alternative(shares=alternative(ann=range(101), bob=range(101), total=100))]),
]


def test_answers_to_strict_schemas_are_legal() -> None:
    """Strict schemas cannot express totals, a range of each number, or which fields go together."""
    for action, alternatives in STRICT:
        schema, strict = sendable(schema_of(action, alternatives))
        assert strict
        for seed in range(40):
            messages = with_schema([{"role": "user", "content": "Your turn."}], schema)
            given = JsonCodec().read(answer(messages, seed), Ask("ann", action, ct.Event()))
            if isinstance(given, Offer):
                assert (given.offer is None) == (given.action != "OFFER")
                numbers = given.offer or [0, 0, 0]
                assert all(n in counts for n, counts in zip(numbers, COUNTS, strict=True))
            elif isinstance(given, Shares):
                assert sum(given.shares.values()) == 100
