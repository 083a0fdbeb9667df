"""Self-play: what is kept, what the next model learns from, and what is taken up again."""

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

SAID = tuple(ChatMessage(role=role, content=role) for role in ("system", "user", "assistant"))


def heard(
    *payoffs: float,
    instance: str = "",
    messages: tuple[ChatMessage, ...] = SAID,
    counts: bool = True,
) -> list[ScoredChat]:
    return [
        ScoredChat(
            Chat("m", "game", "seat", "place", "player", Status.FINISHED, one, messages), one,
            instance,
            counts,
        )
        for one in payoffs
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        ("above_mean", [8.0]),  # 24 by 5 is 4.8; one that said nothing counts in the mean alone
        ("positive", [4.0, 8.0]),
        ("everything", [0.0, 4.0, 8.0, 0.0]),
        (0.4, [8.0]),
        (1.0, [8.0, 4.0, 0.0, 0.0]),
    ],
)
def test_filters_keep_what_they_say(keep: str | float, kept: list[float]) -> None:
    all_of_them = [*heard(0.0, 4.0, 8.0, 0.0), *heard(12.0, messages=SAID[:1])]
    assert [one.better.payoff for one in select_chats(all_of_them, "cloning", keep)] == kept


def test_what_got_no_more_than_others_is_not_above_the_mean() -> None:
    assert select_chats([], "cloning", "above_mean") == []
    assert select_chats(heard(3.0, 3.0), "cloning", "above_mean") == []
    assert select_chats(heard(1.0) + heard(5.0, counts=False), "cloning", "above_mean") == []


@pytest.mark.parametrize(
    ("way", "found"),
    [
        ("weighted", [(4.0, 0.667, None), (8.0, 1.333, None)]),
        ("dpo", [(8.0, 1.0, 0.0)]),
        ("grpo", [(0.0, -1.225, None), (4.0, 0.0, None), (8.0, 1.225, None)]),
    ],
)
def test_better_chats_count_more(way: Way, found: list[tuple[float, float, float | None]]) -> None:
    told = select_chats(
        heard(0.0, 4.0, 8.0) + heard(0.0, 0.0, instance="another"), way, "everything"
    )
    got = [
        (one.better.payoff, round(one.weight, 3), one.worse and one.worse.payoff) for one in told
    ]
    assert got == found


DINNER: dict[str, Any] = {"players": 2, "rounds": 1}
SMALL: dict[str, Any] = {
    "game": "diners_dilemma", "parameters": DINNER, "matches": 8, "iterations": 2,
    "player": {"max_tokens": 24, "tries": 3, "temperature": 1.0},
    "training": {"epochs": 1, "batch": 4, "rate": 1e-3},
}  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that orders this or that, mostly in due form."""
    folder = tmp_path_factory.mktemp("base")
    study: dict[str, Any] = {
        "name": "dinner", "instances": 40, "games": [{"game": "diners_dilemma", "fixed": DINNER}],
        "players": {"random": "random"}, "pairing": "self",
    }  # fmt: skip
    ct.run(ct.studies.parse_study(study, "test"), folder / "s.sqlite")
    with Store.open(folder / "s.sqlite") as store:
        said = [one.as_json()["messages"] for record in store.records("dinner", bodies=True)
                for one in chats(record)]  # fmt: skip
    pretrain(said, folder / "model", Shape(vocabulary=900, hidden=32, layers=1, heads=2),
             LocalTraining(epochs=20, batch=8, rate=1e-2))  # fmt: skip
    return folder / "model"


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.lm
def test_each_model_learns_from_the_better_half_of_the_one_before(
    base: Path, tmp_path: Path
) -> None:
    settings = SelfPlay.model_validate(SMALL)
    done = self_play(base, tmp_path, settings)
    assert [one.number for one in done] == [0, 1, 2]
    assert [one.model for one in done] == [
        str(base),
        *(str(tmp_path / f"model-{n}") for n in (1, 2)),
    ]
    assert done[-1].kept is None
    instances = set[str]()
    with Store.open(tmp_path / STORE) as store:
        for one in done:
            records = list(store.records(f"iteration-{one.number}", bodies=True))
            payoffs = [payoff for record in records for payoff in (record.payoffs or {}).values()]
            assert len(records) == 8
            assert one.mean == pytest.approx(fmean(payoffs))
            instances |= {record.body["seed"] for record in records}
            if one.kept is not None:
                kept = rows(tmp_path / f"chats-{one.number + 1}.jsonl")
                assert len(kept) == one.kept == sum(got > one.mean for got in payoffs)
                assert {row["match_id"] for row in kept} <= {record.id for record in records}
                assert all(row["payoff"] > one.mean for row in kept)
    assert len(instances) == 24
    models = [(tmp_path / f"model-{number}" / "model.safetensors") for number in (1, 2)]
    written = [one.stat().st_mtime_ns for one in models]
    assert models[0].read_bytes() != models[1].read_bytes()

    shutil.rmtree(models[1].parent)  # as if it had been stopped there
    file = tmp_path / "self-play.json"
    noted = json.loads(file.read_text())
    del noted["past"]  # as an older version notes it
    file.write_text(json.dumps(noted))
    assert self_play(base, tmp_path, settings) == done
    assert models[0].stat().st_mtime_ns == written[0]
    with pytest.raises(SelfPlayFailed, match="belongs to a self-play with matches 8, not 9"):
        self_play(base, tmp_path, settings.model_copy(update={"matches": 9}))


@pytest.mark.lm
def test_where_nobody_is_above_the_mean_there_is_nothing_to_learn(tmp_path: Path) -> None:
    settings = SelfPlay.model_validate(SMALL | {"matches": 2, "player": {"max_tokens": 4}})
    tiny = make_tiny_model(tmp_path / "tiny")  # which never says anything
    with pytest.raises(
        SelfPlayFailed, match="none of the 0 chats of finished matches in iteration 0"
    ):
        self_play(tiny, tmp_path / "out", settings)
    assert not (tmp_path / "out" / "model-1").exists()


def test_a_folder_that_holds_no_model_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in ("empty", "missing"):
        with pytest.raises(TrainingFailed, match=f"{folder} is not a language model's folder"):
            self_play(tmp_path / folder, tmp_path / "out", SelfPlay.model_validate(SMALL))


@pytest.mark.lm
def test_matches_that_cannot_be_played_are_no_silence(tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "config.json").write_text("{}")
    with pytest.raises(SelfPlayFailed, match=r"iteration 0 is incomplete.*cannot be loaded"):
        self_play(tmp_path / "odd", tmp_path / "out", SelfPlay.model_validate(SMALL))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"keep": "abovemean"}, '"abovemean" is not a filter; use above_mean, '),
        ({"keep": 1.5}, "1.5 is not a filter"),
        ({"keep": ["positive"]}, "is not a filter"),
        ({"keep": True}, "keep: true is not a number"),
        ({"learn": "dpo"}, "dpo compares matches on the same instance: repeats must be 2 or more"),
        ({"where": "pareto"}, 'deal_or_no_deal has no metric "pareto"'),
        ({"training": {"trainer": "azure"}}, "training: should be local or openai, not"),
        ({"matches": 4, "past": 2}, "matches must be 5 or more"),
    ],
)
def test_what_is_no_self_play_is_said_in_a_sentence(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ct.CheaptalkError, match=said):
        legal(SelfPlay, wrong)


def test_an_iteration_meets_its_partners_and_its_past_in_both_seats() -> None:
    settings = SelfPlay.model_validate({
        "matches": 50, "repeats": 2, "past": 2, "partners": {"fair": "fair"},
    })  # fmt: skip
    study = _study(["base", "one", "two", "three"], settings)
    assert study.instances == 50 // (2 * 7)
    pairs = [tuple(one) for one in study.pairing if isinstance(one, list)]
    assert pairs[:3] == [
        ("iteration-3", "iteration-3"), ("iteration-3", "fair"), ("fair", "iteration-3"),
    ]  # fmt: skip
    past = {label for pair in pairs[3:] for label in pair} - {"iteration-3"}
    assert len(past) == 2
    assert past < {"iteration-0", "iteration-1", "iteration-2"}
    assert len(pairs) == 7
    assert "iteration-1" not in _study(["base"], settings).players


@pytest.mark.lm
def test_a_server_plays_what_is_trained_here(base: Path, tmp_path: Path) -> None:
    loaded: list[dict[str, str]] = []

    async def special(step: str, request: web.Request) -> web.StreamResponse | None:
        if step != "adapter":
            return None
        wanted = await request.json()
        again = wanted in loaded
        loaded.append(wanted)
        told = {"error": {"message": f"{wanted['lora_name']} has already been loaded"}}
        return web.json_response(told, status=400) if again else web.Response(text="Success")

    with BatchServer(before=special) as there:
        training = {"epochs": 1, "batch": 4, "rate": 1e-2, "lora": 4, "serve": there.url}
        settings = SelfPlay.model_validate(SMALL | {"keep": "everything", "training": training})
        done = self_play(base, tmp_path / "here", settings)
    assert [one["lora_name"] for one in loaded] == ["here-model-1", "here-model-1", "here-model-2"]
    assert loaded[0]["lora_path"] == done[1].model
    changes = [(Path(one.model) / "adapter_model.safetensors").read_bytes() for one in done[1:]]
    assert changes[0] != changes[1]
    with Store.open(tmp_path / "here" / STORE) as store:
        (asked,) = {
            call["call"]["model"]
            for record in store.records("iteration-2", bodies=True)
            for answer in record.answers for call in answer.calls
        }  # fmt: skip
    assert asked == f"vllm/here-model-2@{there.url}"


def test_a_server_that_does_not_load_is_told(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").touch()
    training = LocalTraining(lora=4, serve="http://127.0.0.1:9/v1")
    with pytest.raises(TrainingFailed, match=r"cannot load .*: no server answers"):
        training.ready(str(tmp_path))
    with pytest.raises(ValueError, match="serve: only LoRA adapters can be served"):
        LocalTraining(serve="http://127.0.0.1:9/v1")
