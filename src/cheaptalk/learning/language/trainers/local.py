"""Fine-tuning in this process with the trainer of transformers: all weights, or LoRA adapters.

For several GPUs, start the command with accelerate (``accelerate launch -m cheaptalk ...``).

LoRA adapters can be loaded into a running vLLM server. Start the server with the base model,
``--enable-lora`` and the environment variable ``VLLM_ALLOW_RUNTIME_LORA_UPDATING=True``, on a
machine that can read the adapters' folders.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from pydantic import Field, model_validator

from cheaptalk.atomic_files import whole_folder
from cheaptalk.calls.event_loop import drive
from cheaptalk.learning.language.tokens import tokenize_chat
from cheaptalk.learning.language.trainers.losses import Example, Learned, learner
from cheaptalk.learning.language.trainers.memory import (
    MemoryNeeds,
    StepLimits,
    fast_bfloat16,
    return_large_blocks,
)
from cheaptalk.learning.language.trainers.trainer import (
    Loss,
    Progress,
    TrainingExample,
    TrainingFailed,
)
from cheaptalk.learning.language.trainers.watching import watch
from cheaptalk.models.http.endpoint import Endpoint
from cheaptalk.models.http.failures import EndpointTrouble
from cheaptalk.models.local.client import give_back
from cheaptalk.models.local.files import PACKAGED, missing_files, model_files
from cheaptalk.models.model_strings import ModelName
from cheaptalk.printing.progress import reporting
from cheaptalk.rules import Value

LOADED = "already been loaded"
"""Part of the server's message if an adapter is loaded already."""


class LocalTraining(Value):
    """Settings for training a language model in this process."""

    trainer: Literal["local"] = "local"
    epochs: float = Field(default=3, gt=0)
    """Number of passes over the chats (Liao, Tomlin and Klein 2024, appendix B)."""
    batch: int = Field(default=16, ge=1)
    """Chats per step. The paper uses 1 at a provider."""
    rate: float = Field(default=1e-4, gt=0)
    """AdamW's learning rate, which decays linearly to 0."""
    warmup: float = Field(default=0.05, ge=0, lt=1)
    """Share of the steps in which the learning rate rises from 0."""
    decay: float = Field(default=0.0, ge=0)
    """Weight decay."""
    lora: int = Field(default=0, ge=0)
    """Rank of the LoRA adapter, which is the only trained part (Hu and others 2021) and is merged
    into the weights afterwards; 0 to train all weights."""
    serve: str | None = None
    """Address of a vLLM server, such as ``http://localhost:8000/v1``, with the initial model of
    self-play; adapters are then not merged, but loaded into the server, which plays."""
    kl: float = Field(default=0.0, ge=0)
    """Weight of the Kullback-Leibler divergence from the initial model of self-play, in nats per
    token, over the player's own tokens."""
    beta: float = Field(default=0.1, gt=0)
    """Beta of direct preference optimisation: strength of the tie to the initial model."""
    template: Mapping[str, Any] = {}
    """Further arguments of the chat template, such as ``{enable_thinking: false}``."""
    memory: float | None = Field(default=None, gt=0, exclude=True)
    """Memory that training may use, in GB: of the GPU, or of this process. By default, training on
    a CPU uses less than 3 GB if possible, and otherwise up to the available memory."""
    seed: int = 0
    """Seed of the order of chats and of LoRA's initial weights."""

    def train(
        self,
        model: str,
        training_examples: Sequence[TrainingExample],
        out: Path,
        progress: Progress | None = None,
        *,
        loss: Loss = "cloning",
        reference: str | None = None,
    ) -> str:
        """Train a model unless its folder already exists; return the folder."""
        if not out.exists():
            fine_tune(model, training_examples, out, self, progress, loss=loss, reference=reference)
        return str(out)

    def player(self, model: str) -> str:
        """Return the model string with which players use a model, here or on a vLLM server."""
        return f"hf/{model}" if self.serve is None else served(model, self.serve)

    def ready(self, model: str) -> None:
        """Load an adapter into the vLLM server, if one is configured.

        Raises:
            TrainingFailed: loading failed, or the folder contains no model.
        """
        check_model(model)
        if self.serve is not None:
            load_adapter(model, self.serve)

    @model_validator(mode="after")
    def _fits(self) -> "LocalTraining":
        if self.serve is not None and not self.lora:
            raise ValueError("serve: only LoRA adapters can be served; set lora, such as 16")
        return self


def fine_tune(
    model: Path | str,
    training_examples: Sequence[TrainingExample],
    out: Path,
    settings: LocalTraining,
    progress: Progress | None = None,
    *,
    loss: Loss = "cloning",
    reference: Path | str | None = None,
) -> None:
    """Train a model on chats and write it to a folder in the Hub's format.

    Args:
        model: its folder or GGUF file, its name on the Hub, or a packaged model such as
            ``smollm2``.
        reference: the model for the KL penalty; by default the model itself.

    Raises:
        TrainingFailed: there are no chats, no such model, or too little memory.
        TemplateError: answers can't be located with its chat template.
    """
    check_model(model)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise TrainingFailed(f"{out} already exists; choose a new folder")
    transformers, torch = import_module("transformers"), import_module("torch")
    import_module("accelerate")
    transformers.utils.logging.disable_progress_bar()
    peft: Any = import_module("peft") if settings.lora or is_adapter(model) else None
    frozen = "auto" if fast_bfloat16() else torch.float32

    def load(name: Path | str = model, dtype: Any = None) -> Any:
        dtype = dtype or (frozen if settings.lora else torch.float32)
        try:
            if is_adapter(name):
                kind = peft.AutoPeftModelForCausalLM
                return kind.from_pretrained(name, is_trainable=True, dtype=dtype)
            files = model_files(str(name))
            plain = transformers.GgufConfig(dequantize=True) if files.gguf_file else None
            kind = transformers.AutoModelForCausalLM
            with files.options() as options:
                return kind.from_pretrained(
                    files.source, dtype=dtype, quantization_config=plain, **options
                )
        except (OSError, ValueError) as error:
            raise _no_model(name, error) from None

    try:
        files = model_files(str(model))
        adapter = peft.PeftConfig.from_pretrained(model) if is_adapter(model) else None
        origin = adapter.base_model_name_or_path if adapter else files.source
        with files.options() as options:
            tokenizer = transformers.AutoTokenizer.from_pretrained(files.source, **options)
            config = transformers.AutoConfig.from_pretrained(origin, **options)
    except (OSError, ValueError) as error:
        raise _no_model(model, error) from None
    examples = [
        example
        for training_example in training_examples
        for example in _examples(tokenizer, training_example, settings, loss)
    ]
    references = bool(settings.kl) + (loss != "cloning")
    need = MemoryNeeds(config, settings.lora, references, examples)
    limits = need.fitting(settings.batch, settings.memory)
    objective = Learned(
        loss,
        settings.kl,
        settings.beta,
        load(reference or model, frozen).eval() if settings.kl else None,
        load(model, frozen).eval() if loss != "cloning" else None,
    )
    stored = config.dtype or torch.float32  # GGUF files are dequantised
    learn(load, tokenizer, examples, out, settings, objective, stored, limits, progress)


def check_model(model: Path | str) -> None:
    """Check that a model's package is installed, or that its path is not a folder without a model.

    Raises:
        TrainingFailed: it isn't installed, or it is such a folder.
    """
    folder = Path(model)
    if str(model) in PACKAGED:
        if problem := missing_files(str(model)):
            raise TrainingFailed(problem)
        return
    is_hub_name = not (folder.is_absolute() or folder.exists() or str(model).startswith("."))
    is_gguf = folder.suffix == ".gguf" and folder.is_file()
    if not (is_hub_name or is_gguf or is_adapter(model) or (folder / "config.json").exists()):
        raise TrainingFailed(
            f"{model} is not a language model's folder: no config.json; use a folder in the format "
            "of the Hugging Face Hub, a GGUF file, or a name on the Hub"
        )


def _no_model(name: Path | str, error: Exception) -> TrainingFailed:
    reason = str(error).partition("\n")[0]
    return TrainingFailed(
        f"{name} cannot be loaded as a language model: {reason.rstrip('.')}; use the folder of a "
        "model, or a name on the Hugging Face Hub"
    )


def _examples(
    tokenizer: Any, training_example: TrainingExample, settings: LocalTraining, loss: Loss
) -> list[Example]:
    better, worse = (
        tokenize_chat(tokenizer, chat, **settings.template) if chat else []
        for chat in (training_example.chat, training_example.worse)
    )
    if loss != "cloning" and max(len(better), len(worse)) > 1:
        raise TrainingFailed(
            f"the chat template of {tokenizer.name_or_path} rewrites earlier answers; use cloning "
            f"instead of {loss}"
        )
    worst = worse[0] if worse else None
    return [Example(tokens, training_example.weight, worst) for tokens in better]


def learn(
    load: Callable[[], Any],
    tokenizer: Any,
    examples: Sequence[Example],
    out: Path,
    settings: LocalTraining,
    objective: Learned,
    stored: Any,
    limits: Sequence[StepLimits],
    progress: Progress | None = None,
) -> None:
    """Train a model and write it to a folder, with weights of the torch type ``stored``.

    If a step needs more memory than expected, the next of the ``limits`` applies.
    """
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return_large_blocks()
    for memory in limits:
        try:
            with reporting(progress) as report:
                trained = _trained(load, tokenizer, examples, settings, objective, memory, report)
            break
        except (RuntimeError, MemoryError) as error:
            if "memory" not in str(error) and not isinstance(error, MemoryError):
                raise
    else:
        raise TrainingFailed(
            "too little memory to learn from a single chat; set lora or use a smaller model"
        )
    if not all(bool(weights.isfinite().all()) for weights in trained.parameters()):
        raise TrainingFailed("the weights became infinite or NaN; use a lower rate")
    if settings.lora and settings.serve is None:
        trained = trained.merge_and_unload()
    if not hasattr(trained, "merge_and_unload"):  # adapters are small
        trained = trained.to(stored)
    with whole_folder(out) as folder:
        trained.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    del trained
    give_back()


def _trained(
    load: Callable[[], Any],
    tokenizer: Any,
    examples: Sequence[Example],
    settings: LocalTraining,
    objective: Learned,
    memory: StepLimits,
    progress: Progress,
) -> Any:
    transformers = import_module("transformers")
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # between these libraries
        model = load()
        if settings.lora and not hasattr(model, "peft_config"):
            transformers.set_seed(settings.seed)
            model = import_module("peft").get_peft_model(model, _lora(settings))
        arguments = _arguments(folder, settings, len(examples), memory)
        trainer = learner(model, arguments, examples, tokenizer.pad_token_id, objective)
        trainer.remove_callback(transformers.PrinterCallback)
        watch(trainer, progress)
        trainer.train()
    return trainer.model


def _arguments(folder: str, settings: LocalTraining, examples: int, memory: StepLimits) -> Any:
    torch = import_module("torch")
    steps = math.ceil(settings.epochs * math.ceil(examples / settings.batch))
    on_gpu = torch.cuda.is_available()
    return import_module("transformers").TrainingArguments(
        output_dir=folder,
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=memory.chats,
        gradient_accumulation_steps=math.ceil(settings.batch / memory.chats),
        learning_rate=settings.rate,
        warmup_steps=math.floor(settings.warmup * steps),
        weight_decay=settings.decay,
        adam_beta2=0.95,
        train_sampling_strategy="group_by_length" if memory.chats > 1 else "random",
        remove_unused_columns=False,
        activation_checkpointing=memory.checkpointing,
        bf16=fast_bfloat16(),
        use_cpu=not on_gpu,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        seed=settings.seed,
        dataloader_pin_memory=on_gpu,
    )


def _lora(settings: LocalTraining) -> Any:
    return import_module("peft").LoraConfig(
        r=settings.lora,
        lora_alpha=2 * settings.lora,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def is_adapter(model: Path | str) -> bool:
    """Return whether a folder contains a LoRA adapter instead of a model."""
    return (Path(model) / "adapter_config.json").exists()


def served(model: str, url: str) -> str:
    """Return the model string of a model or adapter on a vLLM server."""
    return f"vllm/{_adapter_name(model) if is_adapter(model) else model}@{url}"


def load_adapter(model: str, url: str) -> None:
    """Load a LoRA adapter into a vLLM server unless it is already loaded; ignore full models."""
    if not is_adapter(model):
        return
    request = {"lora_name": _adapter_name(model), "lora_path": str(Path(model).absolute())}

    async def load() -> None:
        server = Endpoint(ModelName.parse(served(model, url)), {})
        try:
            await server.read("POST", "load_lora_adapter", json=request)
        except EndpointTrouble as trouble:
            if LOADED not in str(trouble):
                raise TrainingFailed(f"the server {url} cannot load {model}: {trouble}") from None
        finally:
            await server.close()

    drive(load(), lambda: None)


def _adapter_name(folder: str) -> str:
    path = Path(folder).absolute()
    return f"{path.parent.name}-{path.name}"
