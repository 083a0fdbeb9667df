"""A tiny language model with random weights and a byte tokenizer."""

from importlib import import_module
from pathlib import Path

CHAT = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
END, *_ = SPECIAL = ("<|end|>", "<|system|>", "<|user|>", "<|assistant|>")
CONTEXT = 16_384
"""The context length in tokens."""


def make_tiny_model(folder: Path, seed: int = 0) -> Path:
    """Save a Llama of about 100,000 random parameters in a folder, in the format of the Hub.

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
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(tokens),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=CONTEXT,
            bos_token_id=None,
            eos_token_id=tokens.index(END),
            pad_token_id=tokens.index(END),
        )
    )
    model.generation_config.do_sample = True  # otherwise temperature is ignored
    model.save_pretrained(folder)
    return folder
