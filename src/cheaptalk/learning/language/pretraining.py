"""Pretraining of a small language model, with its own tokenizer, on chats only.

Tokens can span several words: text is split only at digits and line ends (similar to the second
stage of SuperBPE, Liu and others 2025). A game's fixed phrases then become one or two tokens: a
briefing of Deal or No Deal with 315 words has 60 tokens, 25 of which are digits.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from cheaptalk.learning.language.tokens import tokenize_chat
from cheaptalk.learning.language.trainers.local import LocalTraining, learn
from cheaptalk.learning.language.trainers.losses import Example, Learned
from cheaptalk.learning.language.trainers.memory import MemoryNeeds
from cheaptalk.learning.language.trainers.trainer import Progress
from cheaptalk.rules import Value

END, *_ROLES = SPECIAL = ("<|end|>", "<|system|>", "<|user|>", "<|assistant|>")
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
"""The chat template; trainers need no further markers."""
READ = 8_000
"""Maximum number of chats from which the tokenizer is trained."""


class Shape(Value):
    """The size of a language model; the defaults give one million parameters."""

    vocabulary: int = Field(default=1_500, ge=300)
    """Maximum number of tokens: 256 bytes, four special tokens for roles and ends of messages, and
    the most frequent sequences."""
    hidden: int = Field(default=128, ge=8)
    """Width of the hidden layers."""
    layers: int = Field(default=4, ge=1)
    heads: int = Field(default=4, ge=1)
    """Attention heads; the width must be an even multiple of them."""
    context: int = Field(default=4_096, ge=64)
    """Maximum length of a chat in tokens."""

    @model_validator(mode="after")
    def _divides(self) -> "Shape":
        if self.hidden % (2 * self.heads):
            raise ValueError("hidden must be an even multiple of heads")
        return self


TRAINING = LocalTraining(epochs=2, batch=8, rate=7e-4, decay=0.01)
"""Settings for pretraining a small model."""


def pretrain(
    chats: Sequence[Sequence[Mapping[str, str]]],
    out: Path,
    shape: Shape = Shape(),  # noqa: B008 - it cannot be changed
    training: LocalTraining = TRAINING,
    progress: Progress | None = None,
) -> None:
    """Pretrain a model on chats and write it to a folder in the Hub's format.

    Raises:
        TrainingFailed: there is nothing to learn from, or too little memory.
    """
    transformers, torch = import_module("transformers"), import_module("torch")
    transformers.utils.logging.disable_progress_bar()
    tokenizer = _tokenizer(chats, shape)
    end = tokenizer.convert_tokens_to_ids(END)

    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        intermediate_size=3 * shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=shape.context,
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=end,
        tie_word_embeddings=True,
    )

    def new_model() -> Any:
        torch.manual_seed(training.seed)
        model = transformers.LlamaForCausalLM(config)
        model.generation_config.do_sample = True  # otherwise calls ignore the temperature
        model.generation_config.top_k = 0  # sample from all tokens
        return model

    examples = [
        Example(tokens._replace(own=[True] * len(tokens.ids)))
        for chat in chats
        for tokens in tokenize_chat(tokenizer, chat)
    ]
    limits = MemoryNeeds(config, 0, 0, examples).fitting(training.batch, training.memory)
    objective = Learned("cloning", 0.0, training.beta, None, None)
    stored = torch.bfloat16
    learn(new_model, tokenizer, examples, out, training, objective, stored, limits, progress)


def _tokenizer(chats: Sequence[Sequence[Mapping[str, str]]], shape: Shape) -> Any:
    transformers, tokenizers = import_module("transformers"), import_module("tokenizers")
    pre_tokenizers = tokenizers.pre_tokenizers
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(r"\d|\n+"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=shape.vocabulary,
        special_tokens=list(SPECIAL),
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train_from_iterator(
        (message["content"] for chat in chats[:READ] for message in chat), trainer
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=END,
        chat_template=TEMPLATE,
        additional_special_tokens=list(SPECIAL),
        model_max_length=shape.context,
    )
