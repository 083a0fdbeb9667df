"""Self-play: filters, the training data of the next model, and resumption."""

import json
import shutil
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from aiohttp import web

import cheaptalk as ct
from cheaptalk.learning.language.iterations import (
    STORE,
    SelfPlay,
    SelfPlayFailed,
    _study,
    self_play,
)
from cheaptalk.learning.language.pretraining import Shape, pretrain
from cheaptalk.learning.language.trainers.local import LocalTraining
from cheaptalk.learning.language.trainers.trainer import TrainingFailed
from cheaptalk.learning.language.training_data import ScoredChat, Way, select_chats
from cheaptalk.models import ChatMessage
from cheaptalk.records import Status, Store
from cheaptalk.records.exports.chats import Chat, chats
from cheaptalk.rules.errors import legal
from tests.batch_server import BatchServer
from tests.tiny_model import make_tiny_model

MESSAGES = tuple(ChatMessage(role=role, content=role) for role in ("system", "user", "assistant"))


def chats_of(
    *payoffs: float,
    instance: str = "",
    messages: tuple[ChatMessage, ...] = MESSAGES,
    counts: bool = True,
) -> list[ScoredChat]:
    return [
        ScoredChat(
            Chat("m", "game", "seat", "place", "player", Status.FINISHED, payoff, messages),
            payoff,
            instance,
            counts,
        )
        for payoff in payoffs
    ]


def test_filters_select_chats_by_payoff() -> None:
    cases: list[tuple[str | float, list[float]]] = [
        ("above_mean", [8.0]),  # mean 24 / 5; a chat without an answer only counts there
        ("positive", [4.0, 8.0]),
        ("everything", [0.0, 4.0, 8.0, 0.0]),
        (0.4, [8.0]),
        (1.0, [8.0, 4.0, 0.0, 0.0]),
    ]
    for keep, kept in cases:
        scored = [*chats_of(0.0, 4.0, 8.0, 0.0), *chats_of(12.0, messages=MESSAGES[:1])]
        assert [chat.better.payoff for chat in select_chats(scored, "cloning", keep)] == kept
    equal, uncounted = chats_of(3.0, 3.0), chats_of(1.0) + chats_of(5.0, counts=False)
    for scored in ([], equal, uncounted):
        assert select_chats(scored, "cloning", "above_mean") == []


def test_better_chats_weigh_more() -> None:
    cases: list[tuple[Way, list[tuple[float, float, float | None]]]] = [
        ("weighted", [(4.0, 0.667, None), (8.0, 1.333, None)]),
        ("dpo", [(8.0, 1.0, 0.0)]),
        ("grpo", [(0.0, -1.225, None), (4.0, 0.0, None), (8.0, 1.225, None)]),
    ]
    for way, wanted in cases:
        selected = select_chats(
            chats_of(0.0, 4.0, 8.0) + chats_of(0.0, 0.0, instance="another"), way, "everything"
        )
        got = [
            (pair.better.payoff, round(pair.weight, 3), pair.worse and pair.worse.payoff)
            for pair in selected
        ]
        assert got == wanted


DINNER: dict[str, Any] = {"players": 2, "rounds": 1}
SMALL: dict[str, Any] = {
    "game": "diners_dilemma",
    "parameters": DINNER,
    "matches": 8,
    "iterations": 2,
    "player": {"max_tokens": 24, "tries": 3, "temperature": 1.0},
    "training": {"epochs": 1, "batch": 4, "rate": 1e-3},
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose orders are valid most of the time."""
    folder = tmp_path_factory.mktemp("base")
    study: dict[str, Any] = {
        "name": "dinner",
        "instances": 40,
        "games": [{"game": "diners_dilemma", "fixed": DINNER}],
        "players": {"random": "random"},
        "pairing": "self",
    }
    ct.run(ct.studies.parse_study(study, "test"), folder / "s.sqlite")
    with Store.open(folder / "s.sqlite") as store:
        dialogues = [
            chat.as_json()["messages"]
            for record in store.records("dinner", bodies=True)
            for chat in chats(record)
        ]
    pretrain(
        dialogues,
        folder / "model",
        Shape(vocabulary=900, hidden=32, layers=1, heads=2),
        LocalTraining(epochs=20, batch=8, rate=1e-2),
    )
    return folder / "model"


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.lm
def test_each_model_learns_from_its_predecessors_chats_above_the_mean(
    base: Path, tmp_path: Path
) -> None:
    settings = SelfPlay.model_validate(SMALL)
    done = self_play(base, tmp_path, settings)
    assert [iteration.number for iteration in done] == [0, 1, 2]
    assert [iteration.model for iteration in done] == [
        str(base),
        *(str(tmp_path / f"model-{n}") for n in (1, 2)),
    ]
    assert done[-1].kept is None
    instances = set[str]()
    with Store.open(tmp_path / STORE) as store:
        for iteration in done:
            records = list(store.records(f"iteration-{iteration.number}", bodies=True))
            payoffs = [payoff for record in records for payoff in (record.payoffs or {}).values()]
            assert len(records) == 8
            assert iteration.mean == pytest.approx(fmean(payoffs))
            instances |= {record.body["seed"] for record in records}
            if iteration.kept is not None:
                kept = rows(tmp_path / f"chats-{iteration.number + 1}.jsonl")
                assert len(kept) == iteration.kept == sum(got > iteration.mean for got in payoffs)
                assert {row["match_id"] for row in kept} <= {record.id for record in records}
                assert all(row["payoff"] > iteration.mean for row in kept)
    assert len(instances) == 24
    models = [(tmp_path / f"model-{number}" / "model.safetensors") for number in (1, 2)]
    written = [path.stat().st_mtime_ns for path in models]
    assert models[0].read_bytes() != models[1].read_bytes()

    shutil.rmtree(models[1].parent)  # as if training had been interrupted
    file = tmp_path / "self-play.json"
    state = json.loads(file.read_text())
    del state["past"]  # the format of an older version
    file.write_text(json.dumps(state))
    assert self_play(base, tmp_path, settings) == done
    assert models[0].stat().st_mtime_ns == written[0]
    with pytest.raises(SelfPlayFailed, match="belongs to a self-play with matches 8, not 9"):
        self_play(base, tmp_path, settings.model_copy(update={"matches": 9}))


@pytest.mark.lm
def test_no_chat_above_the_mean_fails_self_play(tmp_path: Path) -> None:
    settings = SelfPlay.model_validate(SMALL | {"matches": 2, "player": {"max_tokens": 4}})
    tiny = make_tiny_model(tmp_path / "tiny")  # gives no valid answer
    with pytest.raises(
        SelfPlayFailed, match="the model gave no valid answer in iteration 0; start"
    ):
        self_play(tiny, tmp_path / "out", settings)
    assert not (tmp_path / "out" / "model-1").exists()


def test_folder_without_a_model_raises_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in ("empty", "missing"):
        with pytest.raises(TrainingFailed, match=f"{folder} is not a language model's folder"):
            self_play(tmp_path / folder, tmp_path / "out", SelfPlay.model_validate(SMALL))


def test_unknown_model_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(SelfPlayFailed, match="smolm2"):
        self_play("smolm2", tmp_path / "out", SelfPlay.model_validate(SMALL))
    assert not (tmp_path / "out").exists()


@pytest.mark.lm
def test_unplayable_matches_raise_error(tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "config.json").write_text("{}")
    with pytest.raises(SelfPlayFailed, match=r"iteration 0 is incomplete.*cannot be loaded"):
        self_play(tmp_path / "odd", tmp_path / "out", SelfPlay.model_validate(SMALL))


def test_invalid_settings_are_rejected() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"keep": "abovemean"}, '"abovemean" is not a filter; use above_mean, '),
        ({"keep": 1.5}, "1.5 is not a filter"),
        ({"keep": ["positive"]}, "is not a filter"),
        ({"keep": True}, "keep: true is not a number"),
        ({"learn": "dpo"}, "dpo compares matches on the same instance: repeats must be 2 or more"),
        ({"where": "pareto"}, 'deal_or_no_deal has no metric "pareto"'),
        ({"training": {"trainer": "azure"}}, "training: should be local or openai, not"),
        ({"matches": 4, "past": 2}, "matches must be 5 or more"),
    ]
    for wrong, message in cases:
        with pytest.raises(ct.CheaptalkError, match=message):
            legal(SelfPlay, wrong)


def test_iteration_plays_partners_and_past_models_in_both_seats() -> None:
    settings = SelfPlay.model_validate(
        {"matches": 50, "repeats": 2, "past": 2, "partners": {"fair": "fair"}}
    )
    study = _study(["base", "one", "two", "three"], settings)
    assert study.instances == 50 // (2 * 7)
    pairs = [tuple(pair) for pair in study.pairing if isinstance(pair, list)]
    assert pairs[:3] == [
        ("iteration-3", "iteration-3"),
        ("iteration-3", "fair"),
        ("fair", "iteration-3"),
    ]
    past = {label for pair in pairs[3:] for label in pair} - {"iteration-3"}
    assert len(past) == 2
    assert past < {"iteration-0", "iteration-1", "iteration-2"}
    assert len(pairs) == 7
    assert "iteration-1" not in _study(["base"], settings).players


@pytest.mark.lm
def test_server_plays_locally_trained_adapters(base: Path, tmp_path: Path) -> None:
    loads: list[dict[str, str]] = []

    async def special(step: str, request: web.Request) -> web.StreamResponse | None:
        if step != "adapter":
            return None
        wanted = await request.json()
        again = wanted in loads
        loads.append(wanted)
        error = {"error": {"message": f"{wanted['lora_name']} has already been loaded"}}
        return web.json_response(error, status=400) if again else web.Response(text="Success")

    with BatchServer(before=special) as server:
        training = {"epochs": 1, "batch": 4, "rate": 1e-2, "lora": 4, "serve": server.url}
        settings = SelfPlay.model_validate(SMALL | {"keep": "everything", "training": training})
        done = self_play(base, tmp_path / "here", settings)
    assert [load["lora_name"] for load in loads] == ["here-model-1", "here-model-1", "here-model-2"]
    assert loads[0]["lora_path"] == done[1].model
    changes = [(Path(step.model) / "adapter_model.safetensors").read_bytes() for step in done[1:]]
    assert changes[0] != changes[1]
    with Store.open(tmp_path / "here" / STORE) as store:
        (model,) = {
            call["call"]["model"]
            for record in store.records("iteration-2", bodies=True)
            for answer in record.answers
            for call in answer.calls
        }
    assert model == f"vllm/here-model-2@{server.url}"


def test_unreachable_server_raises_error(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").touch()
    training = LocalTraining(lora=4, serve="http://127.0.0.1:9/v1")
    with pytest.raises(TrainingFailed, match=r"cannot load .*: no server answers"):
        training.ready(str(tmp_path))
    with pytest.raises(ValueError, match="serve: only LoRA adapters can be served"):
        LocalTraining(serve="http://127.0.0.1:9/v1")
