"""Local training of language models: from scratch, in full, and by LoRA."""

import json
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.learning.language.pretraining import Shape, pretrain
from cheaptalk.learning.language.tokens import TokenizedChat, tokenize_chat
from cheaptalk.learning.language.trainers import local, memory
from cheaptalk.learning.language.trainers.local import LocalTraining, fine_tune
from cheaptalk.learning.language.trainers.losses import Example, padded
from cheaptalk.learning.language.trainers.trainer import Loss, Step, TrainingExample, TrainingFailed
from cheaptalk.records.exports.chats import chats
from tests.tiny_model import make_tiny_model, save_as_gguf

pytestmark = pytest.mark.lm

SHAPE = Shape(vocabulary=1_200, hidden=16, layers=1, heads=2)
Chats = list[list[dict[str, str]]]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Chats:
    """Chats of scripted negotiators."""
    study: dict[str, Any] = {
        "name": "said",
        "instances": 12,
        "games": [{"game": "deal_or_no_deal"}],
        "players": {"honest": "honest"},
        "pairing": "self",
    }
    file = tmp_path_factory.mktemp("said") / "s.sqlite"
    ct.run(ct.studies.parse_study(study, "test"), file)
    with ct.Store.open(file) as store:
        scripted = [chat for record in store.records("said", bodies=True) for chat in chats(record)]
    return [json.loads(json.dumps(chat.as_json()))["messages"] for chat in scripted]


def training_examples(corpus: Chats, weight: float = 1.0) -> list[TrainingExample]:
    return [TrainingExample(chat, weight) for chat in corpus]


@pytest.fixture(scope="module")
def base(corpus: Chats, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small, undertrained model."""
    folder = tmp_path_factory.mktemp("base")
    pretrain(corpus, folder / "model", SHAPE, LocalTraining(epochs=8, batch=8, rate=2e-2))
    return folder / "model"


def weights(folder: Path) -> Any:
    torch, transformers = import_module("torch"), import_module("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def test_repeated_briefings_need_few_tokens(base: Path, corpus: Chats) -> None:
    tokenizer = import_module("transformers").AutoTokenizer.from_pretrained(base)
    assert len(tokenizer) <= SHAPE.vocabulary
    briefing = corpus[0][0]["content"]
    ids = tokenizer(briefing)["input_ids"]
    assert tokenizer.decode(ids) == briefing
    assert len(ids) < len(briefing.split()) / 2
    assert len(tokenizer("2 hats, 12 balls and “ö”")["input_ids"]) > 10  # unseen text


@pytest.mark.parametrize(("lora", "rate", "weight"), [(0, 2e-2, 1), (8, 3e-2, 1), (8, 3e-2, 2)])
def test_training_lowers_the_loss_and_is_reproducible(
    corpus: Chats, base: Path, tmp_path: Path, lora: int, rate: float, weight: float
) -> None:
    steps: list[Step] = []
    settings = LocalTraining(epochs=6, batch=8, rate=rate, lora=lora)
    examples = training_examples(corpus, weight)
    fine_tune(base, examples, tmp_path / "tuned", settings, steps.append)
    assert [step.done for step in steps] == [*range(19)]
    assert steps[-1].of == 18
    assert steps[-1].seconds_left == 0
    assert all(step.tokens_per_second and step.peak_memory for step in steps)
    forecast, *learned = steps
    assert forecast.line.startswith("estimated 18 steps, about ")
    assert forecast.loss == pytest.approx(learned[0].loss, rel=0.2)  # no weight changed
    first, last = (fmean(step.loss for step in part) for part in (learned[:3], learned[-3:]))
    assert last < first - 0.05
    fine_tune(base, examples, tmp_path / "again", settings)
    assert weights(tmp_path / "tuned").equal(weights(tmp_path / "again"))
    assert not weights(tmp_path / "tuned").equal(weights(base))


def scores(model: Path, chats: Chats) -> list[float]:
    """Return the log-likelihood of each chat under a model."""
    torch, transformers = import_module("torch"), import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(model).float()
    values = []
    for chat in chats:
        (sequence,) = tokenize_chat(tokenizer, chat)
        batch = padded([Example(sequence)], 0)
        with torch.no_grad():
            logits = loaded(batch["input_ids"]).logits.transpose(1, 2)[..., :-1]
        loss = torch.nn.functional.cross_entropy(logits, batch["labels"][:, 1:], reduction="sum")
        values.append(-float(loss))
    return values


@pytest.mark.parametrize("loss", ["cloning", "dpo", "grpo"])
def test_training_increases_preference_for_better_chats(
    corpus: Chats, base: Path, tmp_path: Path, loss: Loss
) -> None:
    better, worse = corpus[:6], corpus[6:12]
    examples = training_examples(better, 2.0)
    if loss == "dpo":
        examples = [TrainingExample(*pair) for pair in zip(better, [1.0] * 6, worse, strict=True)]
    elif loss == "grpo":
        examples = training_examples(better) + training_examples(worse, -1.0)
    settings = LocalTraining(epochs=4, batch=4, rate=1e-2)
    fine_tune(base, examples, tmp_path / "out", settings, loss=loss)
    gained = [
        sum(scores(tmp_path / "out", chats)) - sum(scores(base, chats)) for chats in (better, worse)
    ]
    assert gained[0] > gained[1] + 1
    assert loss != "cloning" or gained[0] > 1


def test_gguf_file_is_trained_like_its_model(corpus: Chats, tmp_path: Path) -> None:
    tiny = make_tiny_model(tmp_path / "tiny")
    file = save_as_gguf(tiny, tmp_path / "tiny.gguf")
    settings = LocalTraining(epochs=1, batch=4, rate=1e-3)
    for number, model in enumerate((tiny, file)):
        fine_tune(model, training_examples(corpus[:4]), tmp_path / str(number), settings)
    first, second = weights(tmp_path / "0"), weights(tmp_path / "1")
    assert bool((first - second).abs().max() < 1e-6)
    assert bool((first - weights(tiny)).abs().max() > 1e-6)


def test_kl_penalty_keeps_the_model_near_its_reference(
    corpus: Chats, base: Path, tmp_path: Path
) -> None:
    moved = []
    for kl in (0.0, 50.0):
        settings = LocalTraining(epochs=4, batch=4, rate=1e-2, kl=kl)
        fine_tune(base, training_examples(corpus[:6]), tmp_path / f"{kl}", settings, reference=base)
        moved.append(sum(scores(tmp_path / f"{kl}", corpus[:6])) - sum(scores(base, corpus[:6])))
    assert moved[1] < moved[0] / 2


def test_trained_model_plays_a_match(base: Path, tmp_path: Path) -> None:
    study: dict[str, Any] = {
        "name": "seated",
        "instances": 1,
        "games": [{"game": "deal_or_no_deal"}],
        "players": {"model": {"model": f"hf/{base}", "max_tokens": 8, "tries": 2}},
        "pairing": "self",
    }
    ct.run(ct.studies.parse_study(study, "test"), tmp_path / "s.sqlite")
    with ct.Store.open(tmp_path / "s.sqlite") as store:
        (record,) = store.records("seated", bodies=True)
    assert record.over
    assert all(call["reply"]["text"] is not None for turn in record.answers for call in turn.calls)


def test_untrainable_inputs_raise_errors(corpus: Chats, tmp_path: Path) -> None:
    plain = LocalTraining()
    with pytest.raises(TrainingFailed, match=r"is not a language model's folder: no config\.json"):
        fine_tune(tmp_path, training_examples(corpus), tmp_path / "out", plain)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(TrainingFailed, match="cannot be loaded as a language model"):
        fine_tune(tmp_path, training_examples(corpus), tmp_path / "out", plain)
    tiny = make_tiny_model(tmp_path / "tiny")
    with pytest.raises(TrainingFailed, match="the training data contain no chat"):
        fine_tune(tiny, [], tmp_path / "out", plain)
    with pytest.raises(TrainingFailed, match="tiny already exists; choose a new folder"):
        fine_tune(tiny, training_examples(corpus), tiny, plain)
    with pytest.raises(TrainingFailed, match=r"of memory, but may use 0.1 GB; set lora=16, or to"):
        fine_tune(tiny, training_examples(corpus), tmp_path / "out", LocalTraining(memory=0.1))
    with pytest.raises(TrainingFailed, match="became infinite or NaN"):
        fine_tune(
            tiny,
            training_examples(corpus[:2]),
            tmp_path / "out",
            LocalTraining(rate=1e30, batch=1, epochs=2),
        )
    assert not (tmp_path / "out").exists()


def test_insufficient_memory_reduces_the_batch_size(
    corpus: Chats, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny, room = make_tiny_model(tmp_path / "tiny"), 2
    attempts: list[tuple[int, bool]] = []
    learn = local._trained

    def cramped(*arguments: Any) -> Any:
        attempts.append(tuple(arguments[5]))
        if arguments[5].chats > room:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return learn(*arguments)

    monkeypatch.setattr(local, "_trained", cramped)
    settings = LocalTraining(epochs=1, batch=8)
    fine_tune(tiny, training_examples(corpus[:4]), tmp_path / "out", settings)
    assert attempts == [(8, False), (4, False), (2, False)]
    room = 0
    with pytest.raises(TrainingFailed, match="too little memory to learn from a single chat"):
        fine_tune(tiny, training_examples(corpus[:4]), tmp_path / "none", settings)
    assert not (tmp_path / "none").exists()


def test_limits_fit_the_allowed_memory(corpus: Chats, monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = import_module("transformers")
    config = transformers.LlamaConfig(  # of 3.1 million parameters
        vocab_size=1_000,
        hidden_size=256,
        num_hidden_layers=4,
        intermediate_size=512,
        num_attention_heads=4,
    )
    monkeypatch.setattr(memory, "resident_memory", lambda: 0)
    monkeypatch.setattr(memory, "fast_bfloat16", lambda: False)  # on any machine
    example = Example(TokenizedChat([1] * 4_000, [False] * 3_900 + [True] * 100))
    libraries = memory.LIBRARIES / memory.GB
    for lora, allowed, count, checkpointing in [
        (0, 3.1, 8, False),
        (0, libraries + 0.75, 2, False),
        (0, libraries + 0.25, 1, True),
        (8, libraries + 0.22, 1, True),
    ]:
        limit, *_ = memory.MemoryNeeds(config, lora, 0, [example] * 9).fitting(8, allowed)
        assert limit == (count, checkpointing)
    with pytest.raises(TrainingFailed, match=r"set lora=16, or to try anyway, set memory=0\.6"):
        memory.MemoryNeeds(config, 0, 0, [example]).fitting(8, libraries + 0.11)


def test_gradients_do_not_depend_on_the_parts_of_a_step(
    corpus: Chats, base: Path, tmp_path: Path
) -> None:
    moved = []
    for count in (4, 1):
        limit = [memory.StepLimits(count, checkpointing=count == 1)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(memory.MemoryNeeds, "fitting", lambda *_, limit=limit: limit)
            settings = LocalTraining(epochs=1, batch=4, rate=1e-2)
            fine_tune(base, training_examples(corpus[:4], 2.0), tmp_path / f"{count}", settings)
        moved.append(weights(tmp_path / f"{count}") - weights(base))
    assert float((moved[0] - moved[1]).norm()) < 0.02 * float(moved[0].norm())
