"""A small language model from nothing: its tokenizer and its weights, learned from chats alone.

Its tokens are pieces of what was said that may be longer than words: text is cut at digits and at
ends of lines alone (SuperBPE, Liu and others 2025, goes as far in a second stage). What a game
always says in the same words is then a token or two: a briefing of Deal or No Deal with 315 words
is 60 tokens, and 25 of these are digits.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from cheaptalk.learning.language.tokens import tokenized
from cheaptalk.learning.language.trainers.local import LocalTraining, learn
from cheaptalk.learning.language.trainers.losses import Example, Learned
from cheaptalk.learning.language.trainers.trainer import Progress
from cheaptalk.rules import Value

END, *_ROLES = SPECIAL = ("<|end|>", "<|system|>", "<|user|>", "<|assistant|>")
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
"""How a chat is put into words; trainers look for no marks in it."""
READ = 8_000
"""Chats from which tokens are learned at most."""


class Shape(Value):
    """How large a model is. The defaults make one of a million parameters."""

    vocabulary: int = Field(default=1_500, ge=300)
    """Tokens, at most: 256 bytes, four that mark who speaks and where an answer ends, and what
    occurs together most often."""
    hidden: int = Field(default=128, ge=8)
    """Width."""
    layers: int = Field(default=4, ge=1)
    heads: int = Field(default=4, ge=1)
    """Of attention; the width is a multiple of them."""
    context: int = Field(default=4_096, ge=64)
    """Tokens of the longest chat."""

    @model_validator(mode="after")
    def _divides(self) -> "Shape":
        if self.hidden % (2 * self.heads):
            raise ValueError("hidden must be an even multiple of heads")
        return self


TRAINING = LocalTraining(epochs=2, batch=8, rate=7e-4, decay=0.01)
"""How a small model is trained from nothing."""


def pretrain(
    chats: Sequence[Sequence[Mapping[str, str]]],
    out: Path,
    shape: Shape = Shape(),  # noqa: B008 - it cannot be changed
    training: LocalTraining = TRAINING,
    progress: Progress | None = None,
) -> None:
    """Make a model that says what players said in chats, in a folder as the Hub has them.

    Args:
        chats: messages with role and content.
        out: a new folder.

    Raises:
        TrainingFailed: there is nothing to learn from, or too little memory.
    """
    transformers, torch = import_module("transformers"), import_module("torch")
    transformers.utils.logging.disable_progress_bar()
    tokenizer = _tokenizer(chats, shape)
    end = tokenizer.convert_tokens_to_ids(END)

    def begun() -> Any:
        torch.manual_seed(training.seed)
        model = transformers.LlamaForCausalLM(
            transformers.LlamaConfig(
                vocab_size=len(tokenizer), hidden_size=shape.hidden,
                intermediate_size=3 * shape.hidden, num_hidden_layers=shape.layers,
                num_attention_heads=shape.heads, num_key_value_heads=shape.heads,
                max_position_embeddings=shape.context, bos_token_id=None, eos_token_id=end,
                pad_token_id=end, tie_word_embeddings=True,
            )
        )  # fmt: skip
        model.generation_config.do_sample = True  # or the temperature of a call means nothing
        model.generation_config.top_k = 0  # all tokens, not the likeliest alone
        return model

    told = [one for chat in chats for one in tokenized(tokenizer, chat)]
    examples = [Example(one._replace(own=[True] * len(one.ids))) for one in told]
    how = Learned("cloning", 0.0, training.beta, None, None)
    learn(begun, tokenizer, examples, out, training, how, torch.bfloat16, progress)


def _tokenizer(chats: Sequence[Sequence[Mapping[str, str]]], shape: Shape) -> Any:
    transformers, tokenizers = import_module("transformers"), import_module("tokenizers")
    cutting = tokenizers.pre_tokenizers
    alphabet = cutting.ByteLevel.alphabet()
    found = tokenizers.Tokenizer(tokenizers.models.BPE())
    found.pre_tokenizer = cutting.Sequence([
        cutting.Split(tokenizers.Regex(r"\d|\n+"), "isolated"),
        cutting.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    found.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=shape.vocabulary, special_tokens=list(SPECIAL), initial_alphabet=alphabet,
        show_progress=False,
    )  # fmt: skip
    found.train_from_iterator((one["content"] for chat in chats[:READ] for one in chat), trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=found, eos_token=END, pad_token=END, chat_template=TEMPLATE,
        additional_special_tokens=list(SPECIAL), model_max_length=shape.context,
    )  # fmt: skip
