"""Training in this process: trl's trainer for supervised fine-tuning, of all weights or by LoRA.

With several GPUs start the command by accelerate (``accelerate launch -m cheaptalk ...``).
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from pydantic import Field

from cheaptalk.learning.language.tokens import TokenizedChat, tokenized
from cheaptalk.learning.language.trainers.trainer import (
    Messages,
    Progress,
    Step,
    TrainingFailed,
)
from cheaptalk.rules import Value
from cheaptalk.whole_files import whole_folder

IGNORED = -100
"""The label of a token that is not learned."""


class LocalTraining(Value):
    """How a model is trained in this process."""

    trainer: Literal["local"] = "local"
    epochs: float = Field(3, gt=0)
    """How often every chat is learned from (Liao, Tomlin and Klein 2024, appendix B)."""
    batch: int = Field(16, ge=1)
    """Chats of a step. The paper has 1, at a provider; a step here takes as long for 16."""
    rate: float = Field(1e-4, gt=0)
    """Learning rate, by AdamW; it falls to nothing on a straight line."""
    warmup: float = Field(0.05, ge=0, lt=1)
    """Share of the steps in which it rises from nothing."""
    decay: float = Field(0.0, ge=0)
    """How fast weights fade (weight decay)."""
    lora: int = Field(0, ge=0)
    """Rank of low-rank changes to the weights, which alone are learned (Hu and others 2021) and
    then made part of them; 0 to learn all weights."""
    template: Mapping[str, Any] = {}
    """What the chat template takes besides, such as ``{enable_thinking: false}``."""
    seed: int = 0
    """Of the order of chats, and of LoRA's beginning."""

    def train(
        self, model: str, chats: Sequence[Messages], out: Path, progress: Progress | None = None
    ) -> str:
        """Train a model, unless its folder is there; the folder. See :func:`fine_tune`."""
        if not out.exists():
            fine_tune(model, chats, out, self, progress)
        return str(out)

    def player(self, model: str) -> str:
        """The model string under which it plays, in this process."""
        return f"hf/{model}"


def fine_tune(
    model: Path | str,
    chats: Sequence[Messages],
    out: Path,
    settings: LocalTraining,
    progress: Progress | None = None,
) -> None:
    """Train a model on chats, and write it to a folder as the Hub has it.

    Args:
        model: its folder, or its name on the Hub.
        chats: messages with role and content; what the assistant says is learned.
        out: a new folder.

    Raises:
        TrainingFailed: there is nothing to learn from, no such model, or too little memory.
        TemplateError: its chat template does not tell what was answered.
    """
    transformers = import_module("transformers")
    transformers.utils.logging.disable_progress_bar()

    def load() -> Any:
        return transformers.AutoModelForCausalLM.from_pretrained(model, dtype="auto")

    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        stored = load().dtype
    except (OSError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise TrainingFailed(f"{model} is no language model that can be loaded: {why}") from None
    learn(load, tokenizer, chats, out, settings, stored, progress)


def learn(
    load: Callable[[], Any],
    tokenizer: Any,
    chats: Sequence[Messages],
    out: Path,
    settings: LocalTraining,
    stored: Any,
    progress: Progress | None = None,
    *,
    others: bool = False,
) -> None:
    """The same, of a model that is loaded by a function.

    Args:
        stored: the type of its weights in the folder, one of torch.
        others: whether what others say to it is learned, too.
    """
    examples = [
        example for chat in chats for example in tokenized(tokenizer, chat, **settings.template)
    ]
    if not examples:
        raise TrainingFailed("there is no chat to learn from")
    if others:
        examples = [one._replace(own=[True] * len(one.ids)) for one in examples]
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    at_once = settings.batch
    while True:
        try:
            trained = _trained(load(), tokenizer, examples, settings, at_once, progress)
            break
        except (RuntimeError, MemoryError) as error:
            if "memory" not in str(error) and not isinstance(error, MemoryError):
                raise
            if at_once == 1:
                raise TrainingFailed(
                    "there is too little memory to learn from a single chat; take lora, or a "
                    "smaller model"
                ) from error
            at_once = (at_once + 1) // 2
    if not all(bool(one.isfinite().all()) for one in trained.parameters()):
        raise TrainingFailed("weights stopped being numbers; take a lower rate")
    with whole_folder(out) as folder:
        trained.to(stored).save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _trained(
    model: Any,
    tokenizer: Any,
    examples: Sequence[TokenizedChat],
    settings: LocalTraining,
    at_once: int,
    progress: Progress | None,
) -> Any:
    """A model when it has learned.

    Args:
        at_once: chats in memory at once, a step's batch or fewer.
    """
    trl, datasets = import_module("trl"), import_module("datasets")
    if not settings.lora:
        model.float()  # small changes are lost on weights of few bits
    with TemporaryDirectory() as aside, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # what these libraries say to one another
        trainer = trl.SFTTrainer(
            model=model,
            args=_arguments(aside, settings, len(examples), at_once),
            train_dataset=datasets.Dataset.from_list([_row(one) for one in examples]),
            processing_class=tokenizer,
            peft_config=_lora(settings) if settings.lora else None,
            callbacks=[_watching(progress)] if progress else None,
        )
        trainer.remove_callback(import_module("transformers").PrinterCallback)
        trainer.train()
    return trainer.model.merge_and_unload() if settings.lora else trainer.model


def _row(chat: TokenizedChat) -> dict[str, list[int]]:
    labels = [number if own else IGNORED for number, own in zip(chat.ids, chat.own, strict=True)]
    return {"input_ids": chat.ids, "labels": labels}


def _arguments(aside: str, settings: LocalTraining, examples: int, at_once: int) -> Any:
    trl, torch = import_module("trl"), import_module("torch")
    steps = math.ceil(settings.epochs * math.ceil(examples / settings.batch))
    on_gpu = torch.cuda.is_available()
    few_bits = on_gpu or torch.cpu.get_capabilities().get("avx512_bf16", False)
    return trl.SFTConfig(
        output_dir=aside, num_train_epochs=settings.epochs, max_length=None,
        per_device_train_batch_size=at_once,
        gradient_accumulation_steps=math.ceil(settings.batch / at_once),
        learning_rate=settings.rate, warmup_steps=math.floor(settings.warmup * steps),
        weight_decay=settings.decay, train_sampling_strategy="group_by_length",
        gradient_checkpointing=None, activation_checkpointing=on_gpu, bf16=few_bits,
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
