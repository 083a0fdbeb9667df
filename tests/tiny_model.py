"""A tiny language model with random weights and a byte tokenizer."""

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any

from cheaptalk.models import ModelCall, Reply
from cheaptalk.models.local.batch import Batch, PendingCall
from cheaptalk.models.local.generator import Generator

CHAT = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
END, *_ = SPECIAL = ("<|end|>", "<|system|>", "<|user|>", "<|assistant|>")
CONTEXT = 16_384
"""The context length in tokens."""


def make_tiny_model(folder: Path, seed: int = 0, family: str = "Llama", **config: Any) -> Path:
    """Save a model of about 100,000 random parameters in a folder, in the format of the Hub.

    Each byte of a text is a token; a message costs two more, and the prompt for an answer one.
    """
    torch, transformers = import_module("torch"), import_module("transformers")
    tokenizers = import_module("tokenizers")
    by_bytes = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens = [*SPECIAL, *sorted(by_bytes.alphabet())]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.BPE({token: number for number, token in enumerate(tokens)}, [])
    )
    tokenizer.pre_tokenizer = by_bytes
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=END,
        additional_special_tokens=list(SPECIAL),
        chat_template=CHAT,
        model_max_length=CONTEXT,
    ).save_pretrained(folder)
    torch.manual_seed(seed)
    sizes = {
        "vocab_size": len(tokens),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": CONTEXT,
        "bos_token_id": None,
        "eos_token_id": tokens.index(END),
        "pad_token_id": tokens.index(END),
    }
    model = transformers.AutoModelForCausalLM.from_config(
        getattr(transformers, f"{family}Config")(**sizes | config)
    )
    model.generation_config.do_sample = True  # otherwise temperature is ignored
    model.save_pretrained(folder)
    return folder


def save_as_gguf(folder: Path, file: Path) -> Path:
    """Convert a model of :func:`make_tiny_model` to a GGUF file."""
    gguf, transformers = import_module("gguf"), import_module("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    config, tokens = model.config, tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    kinds = dict.fromkeys(SPECIAL, gguf.TokenType.CONTROL)
    writer.add_token_types([kinds.get(token, gguf.TokenType.NORMAL) for token in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_eos_token_id(0)
    writer.add_pad_token_id(0)
    writer.add_chat_template(tokenizer.chat_template)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for name, tensor in model.state_dict().items():
        array = tensor.float().numpy()
        if count := heads.get(name.split(".")[-2]):  # GGUF interleaves the halves of each head
            array = array.reshape(count, 2, -1, array.shape[1]).swapaxes(1, 2).reshape(array.shape)
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), array.copy())
    for write in (
        writer.write_header_to_file,
        writer.write_kv_data_to_file,
        writer.write_tensors_to_file,
        writer.close,
    ):
        write()
    return file


def answers(generator: Generator, calls: Sequence[ModelCall], seeds: Iterable[int]) -> list[Reply]:
    """Answer calls with their seeds in one batch."""
    return run(Batch(generator), pending_calls(calls, seeds))


def pending_calls(calls: Sequence[ModelCall], seeds: Iterable[int]) -> list[PendingCall]:
    return [
        PendingCall(call, seed, inf, Future()) for call, seed in zip(calls, seeds, strict=False)
    ]


def run(batch: Batch, calls: Sequence[PendingCall]) -> list[Reply]:
    """Answer calls, some of which may be in the batch already."""
    waiting = [call for call in calls if not call.reply.running() and not call.reply.done()]
    while waiting or batch:
        batch.advance(waiting)
    return [call.reply.result(timeout=0) for call in calls]
