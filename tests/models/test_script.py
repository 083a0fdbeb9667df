"""Scripted models play every game without a server, a key or costs."""

import asyncio
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

import cheaptalk as ct
from cheaptalk.models import (
    SCRIPTS,
    AnswerForm,
    ChatMessage,
    Failure,
    ModelCall,
    ModelSettings,
    Reply,
)
from cheaptalk.models.scripted import ScriptedModels, made_up
from tests.adapters.remote_agents import every_game

CHAT = (
    ChatMessage(role="system", content="Be brief."),
    ChatMessage(role="user", content="Your price?"),
)


def call_script(name: str, **options: Any) -> Reply:
    call = ModelCall(model=f"script/{name}", messages=CHAT, **options)
    return asyncio.run(ScriptedModels().call(call, "m/0/alice/0/1", 1))


def test_legal_script_finishes_every_game(store: ct.Store) -> None:
    spec = every_game() | {"players": {"x": {"model": "script/legal"}}}
    progress = ct.run(ct.studies.parse_study(spec, "dry.yaml"), store)
    assert (progress.done, progress.failed) == (len(ct.rules.games()), 0)
    records = store.records(str(spec["name"]))
    assert {kind for record in records for kinds in record.kinds.values() for kind in kinds} == {
        "ok"
    }


def test_scripts_reply_as_named_regardless_of_settings() -> None:
    settings = ModelSettings(temperature=1.5, stop=("END",), reasoning="high")
    replies = {name: call_script(name, settings=settings) for name in SCRIPTS}
    assert {name: reply.text or reply.failure for name, reply in replies.items()} == {
        "echo": "Your price?",
        "silent": None,
        "refuse": Failure.REFUSED,
        "fail": Failure.PROVIDER_ERROR,
        "legal": "No comment.",
    }
    sent = {"temperature": 1.5, "stop": ["END"], "reasoning": "high"}
    assert all(reply.sent == sent for reply in replies.values())
    assert replies["echo"].usage.input_tokens == 4


def test_example_in_form_is_the_answer() -> None:
    form = AnswerForm(name="Price", json_schema={}, example='{"price": 3}')
    reply = call_script("legal", form=form)
    assert (reply.text, reply.route) == ('{"price": 3}', "text")
    schema = form.model_copy(update={"route": "schema"})
    assert call_script("legal", form=schema).route == "schema"


class Item(BaseModel):
    name: Literal["left", "right"]


class Sample(BaseModel):
    item: Item
    kind: Literal["offer"]
    many: Annotated[list[Annotated[int, Field(ge=3, le=5)]], Field(min_length=2)]
    pair: tuple[bool, None]
    share: Annotated[float, Field(le=-1)]
    words: Annotated[str, Field(max_length=4)]
    perhaps: int | None


def test_generated_answer_fits_form_and_depends_on_seed() -> None:
    form = AnswerForm(name="Sample", json_schema=Sample.model_json_schema())
    texts = [made_up(form, str(seed)) for seed in range(20)]
    assert all(Sample.model_validate_json(text).many for text in texts)
    assert texts == [made_up(form, str(seed)) for seed in range(20)]
    assert len(set(texts)) > 5
