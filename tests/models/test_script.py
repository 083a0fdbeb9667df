"""Scripted models: every game can be played without a server, a key or a bill."""

import asyncio
from typing import Annotated, Any, Literal

import pytest
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

ASKED = (
    ChatMessage(role="system", content="Be brief."),
    ChatMessage(role="user", content="Your price?"),
)


def ask(name: str, **more: Any) -> Reply:
    call = ModelCall(model=f"script/{name}", messages=ASKED, **more)
    return asyncio.run(ScriptedModels().call(call, "m/0/alice/0/1", 1))


def study(model: str, game: str) -> ct.Study:
    spec = {"name": "dry", "games": [{"game": game}], "instances": 1, "pairing": "self"}
    return ct.studies.parse_study(spec | {"players": {"x": {"model": model}}}, "dry.yaml")


@pytest.mark.parametrize("game", ct.rules.games())
def test_a_legal_model_finishes_every_game(game: str, tmp_path: Any) -> None:
    with ct.Store.open(tmp_path / "dry.sqlite", create=True) as store:
        progress = ct.run(study("script/legal", game), store)
        records = list(store.records("dry", bodies=True))
    assert (progress.done, progress.failed) == (1, 0)
    kinds = {given["kind"] for record in records for given in record.as_json()["answers"]}
    assert kinds == {"ok"}


def test_each_does_as_it_says() -> None:
    assert ask("echo").text == "Your price?"
    assert ask("silent").text == ""
    assert ask("refuse").failure is Failure.REFUSED
    assert ask("fail").failure is Failure.PROVIDER_ERROR
    assert ask("legal").text == "No comment."
    assert ask("echo").usage.input_tokens == 4
    assert {"echo", "silent", "refuse", "fail", "legal"} == SCRIPTS.keys()


def test_settings_are_noted_and_change_nothing() -> None:
    set_ = ModelSettings(temperature=1.5, stop=("END",), reasoning="high")
    assert ask("echo", settings=set_).text == ask("echo").text
    for name in ("echo", "refuse"):
        sent = ask(name, settings=set_).sent
        assert sent == {"temperature": 1.5, "stop": ["END"], "reasoning": "high"}


def test_a_form_is_asked_for_as_demanded() -> None:
    form = AnswerForm(name="Price", json_schema={}, example="{}", route="schema")
    assert ask("legal", form=form).route == "schema"


def test_a_call_that_is_shown_an_answer_gets_it() -> None:
    form = AnswerForm(name="Price", json_schema={}, example='{"price": 3}')
    reply = ask("legal", form=form)
    assert (reply.text, reply.route) == ('{"price": 3}', "text")


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


@pytest.mark.parametrize("seed", range(20))
def test_what_is_made_up_fits_the_form(seed: int) -> None:
    form = AnswerForm(name="Sample", json_schema=Sample.model_json_schema())
    said = made_up(form, str(seed))
    assert Sample.model_validate_json(said).many
    assert said == made_up(form, str(seed))


def test_what_is_made_up_differs_between_questions() -> None:
    form = AnswerForm(name="Sample", json_schema=Sample.model_json_schema())
    assert len({made_up(form, str(seed)) for seed in range(20)}) > 5
