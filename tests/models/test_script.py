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

CHAT = (
    ChatMessage(role="system", content="Be brief."),
    ChatMessage(role="user", content="Your price?"),
)


def call_script(name: str, **options: Any) -> Reply:
    call = ModelCall(model=f"script/{name}", messages=CHAT, **options)
    return asyncio.run(ScriptedModels().call(call, "m/0/alice/0/1", 1))


def test_legal_script_finishes_every_game(store: ct.Store) -> None:
    spec: dict[str, Any] = {"name": "dry", "games": [{"game": game} for game in ct.rules.games()]}
    spec |= {"players": {"x": {"model": "script/legal"}}, "instances": 1, "pairing": "self"}
    progress = ct.run(ct.studies.parse_study(spec, "dry.yaml"), store)
    records = list(store.records("dry", bodies=True))
    assert (progress.done, progress.failed) == (len(ct.rules.games()), 0)
    kinds = {given["kind"] for record in records for given in record.as_json()["answers"]}
    assert kinds == {"ok"}


def test_scripts_reply_as_named() -> None:
    assert call_script("echo").text == "Your price?"
    assert call_script("silent").text == ""
    assert call_script("refuse").failure is Failure.REFUSED
    assert call_script("fail").failure is Failure.PROVIDER_ERROR
    assert call_script("legal").text == "No comment."
    assert call_script("echo").usage.input_tokens == 4
    assert {"echo", "silent", "refuse", "fail", "legal"} == SCRIPTS.keys()


def test_settings_are_recorded_without_effect() -> None:
    settings = ModelSettings(temperature=1.5, stop=("END",), reasoning="high")
    assert call_script("echo", settings=settings).text == call_script("echo").text
    for name in ("echo", "refuse"):
        sent = call_script(name, settings=settings).sent
        assert sent == {"temperature": 1.5, "stop": ["END"], "reasoning": "high"}


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


def test_generated_answer_fits_form() -> None:
    for seed in range(20):
        form = AnswerForm(name="Sample", json_schema=Sample.model_json_schema())
        text = made_up(form, str(seed))
        assert Sample.model_validate_json(text).many
        assert text == made_up(form, str(seed))


def test_generated_answers_differ_between_seeds() -> None:
    form = AnswerForm(name="Sample", json_schema=Sample.model_json_schema())
    assert len({made_up(form, str(seed)) for seed in range(20)}) > 5
