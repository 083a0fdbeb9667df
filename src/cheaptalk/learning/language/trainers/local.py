"""Training in this process: trl's trainer for supervised fine-tuning, of all weights or by LoRA.

With several GPUs start the command by accelerate (``accelerate launch -m cheaptalk ...``).
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from cheaptalk.learning.language.tokens import tokenized
from cheaptalk.learning.language.trainers.adapters import is_adapter, load_adapter, served
from cheaptalk.learning.language.trainers.losses import Example, Learned, learner
from cheaptalk.learning.language.trainers.trainer import (
    Lesson,
    Loss,
    Progress,
    Step,
    TrainingFailed,
)
from cheaptalk.models.local import give_back
from cheaptalk.rules import Value
from cheaptalk.whole_files import whole_folder


class LocalTraining(Value):
    """How a model is trained in this process."""

    trainer: Literal["local"] = "local"
    epochs: float = Field(default=3, gt=0)
    """How often every chat is learned from (Liao, Tomlin and Klein 2024, appendix B)."""
    batch: int = Field(default=16, ge=1)
    """Chats of a step. The paper has 1, at a provider; a step here takes as long for 16."""
    rate: float = Field(default=1e-4, gt=0)
    """Learning rate, by AdamW; it falls to nothing on a straight line."""
    warmup: float = Field(default=0.05, ge=0, lt=1)
    """Share of the steps in which it rises from nothing."""
    decay: float = Field(default=0.0, ge=0)
    """How fast weights fade (weight decay)."""
    lora: int = Field(default=0, ge=0)
    """Rank of low-rank changes to the weights, which alone are learned (Hu and others 2021) and
    then made part of them; 0 to learn all weights."""
    serve: str | None = None
    """Address of a vLLM server, such as ``http://localhost:8000/v1``, that has the model with which
    self-play begins, and plays: low-rank changes stay apart then, and are loaded into it."""
    kl: float = Field(default=0.0, ge=0)
    """Weight of what it costs to leave the model that self-play began with, in nats a token: the
    divergence of what is learned from that (Kullback and Leibler), over its own tokens."""
    beta: float = Field(default=0.1, gt=0)
    """Of direct preference optimisation: how strongly it is bound to the model it begins with."""
    template: Mapping[str, Any] = {}
    """What the chat template takes besides, such as ``{enable_thinking: false}``."""
    seed: int = 0
    """Of the order of chats, and of LoRA's beginning."""

    def train(
        self,
        model: str,
        lessons: Sequence[Lesson],
        out: Path,
        progress: Progress | None = None,
        *,
        loss: Loss = "cloning",
        reference: str | None = None,
    ) -> str:
        """Train a model, unless its folder is there; the folder. See :func:`fine_tune`."""
        if not out.exists():
            fine_tune(model, lessons, out, self, progress, loss=loss, reference=reference)
        return str(out)

    def player(self, model: str) -> str:
        """The model string under which it plays: in this process, or at the server."""
        return f"hf/{model}" if self.serve is None else served(model, self.serve)

    def ready(self, model: str) -> None:
        """Let the server load low-rank changes.

        Raises:
            TrainingFailed: it does not, or a folder is none of a model.
        """
        folder = Path(model)
        named = not (folder.is_absolute() or folder.exists() or model.startswith("."))
        if not named and not is_adapter(model) and not (folder / "config.json").exists():
            raise TrainingFailed(f"{model} is no folder of a language model: no config.json")
        if self.serve is not None:
            load_adapter(model, self.serve)

    @model_validator(mode="after")
    def _fits(self) -> "LocalTraining":
        if self.serve is not None and not self.lora:
            raise ValueError("serve: a server loads low-rank changes alone; set lora, such as 16")
        return self


class Memory(NamedTuple):
    """What a step may keep in memory.

    Attributes:
        chats: at once, a step's batch or fewer.
        checkpointing: whether layers forget their activations, and compute them anew on the way
            back.
    """

    chats: int
    checkpointing: bool = False

    @property
    def least(self) -> bool:
        """Whether no step takes less."""
        return self.checkpointing and self.chats == 1

    def less(self) -> "Memory":
        """What takes less."""
        chats = (self.chats + 1) // 2 if self.checkpointing else self.chats
        return Memory(chats, checkpointing=True)


def fine_tune(
    model: Path | str,
    lessons: Sequence[Lesson],
    out: Path,
    settings: LocalTraining,
    progress: Progress | None = None,
    *,
    loss: Loss = "cloning",
    reference: Path | str | None = None,
) -> None:
    """Train a model on chats, and write it to a folder as the Hub has it.

    Args:
        model: its folder, or its name on the Hub.
        out: a new folder.
        reference: a model to stay near to; where it begins if none is named.

    Raises:
        TrainingFailed: there is nothing to learn from, no such model, or too little memory.
        TemplateError: its chat template does not tell what was answered.
    """
    transformers = import_module("transformers")
    transformers.utils.logging.disable_progress_bar()

    def load(name: Path | str = model) -> Any:
        try:
            if is_adapter(name):
                peft = import_module("peft").AutoPeftModelForCausalLM
                return peft.from_pretrained(name, is_trainable=True)
            return transformers.AutoModelForCausalLM.from_pretrained(name, dtype="auto")
        except (OSError, ValueError) as error:
            raise _no_model(name, error) from None

    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        stored = None if is_adapter(model) else transformers.AutoConfig.from_pretrained(model).dtype
    except (OSError, ValueError) as error:
        raise _no_model(model, error) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        how = Learned(
            loss, settings.kl, settings.beta,
            load(reference or model).eval() if settings.kl else None,
            load().eval() if loss != "cloning" else None,
        )  # fmt: skip
    examples = [one for lesson in lessons for one in _examples(tokenizer, lesson, settings, loss)]
    learn(load, tokenizer, examples, out, settings, how, stored, progress)


def _no_model(name: Path | str, error: Exception) -> TrainingFailed:
    why = str(error).partition("\n")[0]
    return TrainingFailed(f"{name} is no language model that can be loaded: {why}")


def _examples(tokenizer: Any, lesson: Lesson, settings: LocalTraining, loss: Loss) -> list[Example]:
    """A lesson in tokens; one for each answer where a template rewrites what was said."""
    told = tokenized(tokenizer, lesson.chat, **settings.template)
    worse = tokenized(tokenizer, lesson.worse, **settings.template) if lesson.worse else []
    if loss != "cloning" and max(len(told), len(worse)) > 1:
        raise TrainingFailed(
            f"{tokenizer.name_or_path} shows past answers otherwise than they were given, so that "
            f"a chat has no one probability; it can learn by cloning alone, not by {loss}"
        )
    return [Example(one, lesson.weight, worse[0] if worse else None) for one in told]


def learn(
    load: Callable[[], Any],
    tokenizer: Any,
    examples: Sequence[Example],
    out: Path,
    settings: LocalTraining,
    how: Learned,
    stored: Any,
    progress: Progress | None = None,
) -> None:
    """The same, of a model that is loaded by a function, and of what was put into tokens.

    Args:
        stored: the type of its weights in the folder, one of torch; None to leave it.
    """
    if not examples:
        raise TrainingFailed("there is no chat to learn from")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    memory = Memory(settings.batch)
    while True:
        try:
            trained = _trained(load, tokenizer, examples, settings, how, memory, progress)
            break
        except (RuntimeError, MemoryError) as error:
            if "memory" not in str(error) and not isinstance(error, MemoryError):
                raise
            if memory.least:
                raise TrainingFailed(
                    "there is too little memory to learn from a single chat; take lora, or a "
                    "smaller model"
                ) from error
            memory = memory.less()
    if not all(bool(one.isfinite().all()) for one in trained.parameters()):
        raise TrainingFailed("weights stopped being numbers; take a lower rate")
    if settings.lora and settings.serve is None:
        trained = trained.merge_and_unload()
    with whole_folder(out) as folder:
        (trained if stored is None else trained.to(stored)).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    del trained
    give_back()


def _trained(
    load: Callable[[], Any],
    tokenizer: Any,
    examples: Sequence[Example],
    settings: LocalTraining,
    how: Learned,
    memory: Memory,
    progress: Progress | None,
) -> Any:
    """A model when it has learned."""
    watching = [_watching(progress)] if progress else []
    plain = how.loss == "cloning" and not how.kl and all(one.weight == 1 for one in examples)
    with TemporaryDirectory() as aside, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # what these libraries say to one another
        model = load()
        if not settings.lora:
            model.float()  # small changes are lost on weights of few bits
        arguments = _arguments(aside, settings, len(examples), memory)
        if plain:
            trainer = _cloning(model, tokenizer, examples, settings, arguments, watching)
        else:
            if settings.lora and not hasattr(model, "peft_config"):
                model = import_module("peft").get_peft_model(model, _lora(settings))
            padding = tokenizer.pad_token_id
            trainer = learner(model, arguments, examples, padding, how, watching)
        trainer.remove_callback(import_module("transformers").PrinterCallback)
        trainer.train()
    return trainer.model


def _cloning(
    model: Any,
    tokenizer: Any,
    examples: Sequence[Example],
    settings: LocalTraining,
    arguments: Any,
    watching: list[Any],
) -> Any:
    """trl's trainer."""
    changes = _lora(settings) if settings.lora and not hasattr(model, "peft_config") else None
    rows = import_module("datasets").Dataset.from_list(
        [{"input_ids": one.chat.ids, "labels": one.chat.labels} for one in examples]
    )
    return import_module("trl").SFTTrainer(
        model=model, args=arguments, train_dataset=rows, processing_class=tokenizer,
        peft_config=changes, callbacks=watching,
    )  # fmt: skip


def _arguments(aside: str, settings: LocalTraining, examples: int, memory: Memory) -> Any:
    trl, torch = import_module("trl"), import_module("torch")
    steps = math.ceil(settings.epochs * math.ceil(examples / settings.batch))
    on_gpu = torch.cuda.is_available()
    few_bits = on_gpu or torch.cpu.get_capabilities().get("avx512_bf16", False)
    return trl.SFTConfig(
        output_dir=aside, num_train_epochs=settings.epochs, max_length=None,
        per_device_train_batch_size=memory.chats,
        gradient_accumulation_steps=math.ceil(settings.batch / memory.chats),
        learning_rate=settings.rate, warmup_steps=math.floor(settings.warmup * steps),
        weight_decay=settings.decay, adam_beta2=0.95, train_sampling_strategy="group_by_length",
        gradient_checkpointing=None, activation_checkpointing=memory.checkpointing, bf16=few_bits,
        use_cpu=not on_gpu,
        logging_steps=max(1, steps // 50), save_strategy="no", report_to="none",
        disable_tqdm=True, seed=settings.seed, dataloader_pin_memory=on_gpu,
    )  # fmt: skip


def _lora(settings: LocalTraining) -> Any:
    return import_module("peft").LoraConfig(
        r=settings.lora, lora_alpha=2 * settings.lora, target_modules="all-linear",
        task_type="CAUSAL_LM",
    )  # fmt: skip


def _watching(progress: Progress) -> Any:
    """What tells of each piece of the log."""
    base = import_module("transformers").TrainerCallback

    class Watching(base):  # type: ignore[misc, valid-type]
        def on_log(self, _args: Any, state: Any, _control: Any, logs: Any = None, **_: Any) -> None:
            if logs and "loss" in logs:
                progress(Step(state.global_step, state.max_steps, float(logs["loss"])))

    return Watching()
