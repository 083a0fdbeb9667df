"""The packaged model ``smollm2`` plays matches, and learns from its chats."""

from importlib import import_module
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.learning.language.trainers.local import LocalTraining, fine_tune
from cheaptalk.learning.language.trainers.trainer import TrainingExample
from cheaptalk.models.local.files import missing_files
from cheaptalk.records.exports.chats import chats

pytestmark = pytest.mark.lm


def test_smollm2_gives_valid_answers_and_can_be_fine_tuned(tmp_path: Path) -> None:
    study = ct.Study(
        name="small",
        games=[{"game": "negotiation", "fixed": {"messages": False, "horizon": 2}}],
        players={"lm": {"model": "smollm2", "temperature": 0}, "soft": "conceder"},
        pairing=[["lm", "soft"]],
        instances=1,
    )
    ct.run(study, tmp_path / "s.sqlite")
    with ct.Store.open(tmp_path / "s.sqlite") as store:
        (record,) = store.records("small", bodies=True)
    assert record.kinds["alice"].keys() == {"ok"}, "the schema permits only legal answers"
    (chat,) = (chat for chat in chats(record) if chat.player == "lm")
    example = TrainingExample(chat.as_json()["messages"])
    settings = LocalTraining(epochs=1, rate=1e-3, lora=2)
    fine_tune("smollm2", [example], tmp_path / "tuned", settings)
    config = import_module("transformers").AutoConfig.from_pretrained(tmp_path / "tuned")
    assert not hasattr(config, "quantization_config")
    assert missing_files(str(tmp_path / "tuned")) is None
