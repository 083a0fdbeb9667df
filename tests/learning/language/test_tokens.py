"""Chats as tokens: a player learns only its own messages, whatever the chat template."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cheaptalk.learning.language.tokens import TemplateError, tokenize_chat
from tests.tiny_model import make_tiny_model

pytestmark = pytest.mark.lm

CHAT = [
    {"role": "system", "content": "You divide 3 books.  "},
    {"role": "user", "content": "Turn 1.\n\nWhat do you say?"},
    {"role": "assistant", "content": "[message] I take “2”.\nYou take 1."},
    {"role": "user", "content": "Turn 3."},
    {"role": "assistant", "content": "[propose] (2 books)"},
]
PIECES = "{% for one in messages %}{}{% endfor %}{% if add_generation_prompt %}{}{% endif %}"
BY_LINES = PIECES.replace(
    "{}", "<|{{ one['role'] }}|>\n{{ one['content'] | trim }}<|end|>\n", 1
).replace("{}", "<|assistant|>\n", 1)
THINKING = (
    "{% for one in messages %}<|{{ one['role'] }}|>"
    "{% if one['role'] == 'assistant' and loop.last %}<think>\n\n</think>\n\n{% endif %}"
    "{{ one['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>"
    "{% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
"""Shows an empty thought only with the last answer."""
UPPER = PIECES.replace("{}", "<|{{ one['role'] }}|>{{ one['content'] | upper }}<|end|>", 1).replace(
    "{}", "<|assistant|>", 1
)
NO_SYSTEM = "{{ raise_exception('no system message, please') }}"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


def tokenizer(tiny: Path, template: str | None = "") -> Any:
    loaded = import_module("transformers").AutoTokenizer.from_pretrained(tiny)
    if template != "":
        loaded.chat_template = template
    return loaded


def learned(of: Any, chat: Any) -> list[str]:
    """Return the decoded stretches to learn."""
    stretches: list[list[int]] = []
    for before, is_own, number in zip([False, *chat.own], chat.own, chat.ids, strict=False):
        if is_own and not before:
            stretches.append([])
        if is_own:
            stretches[-1].append(number)
    return [of.decode(stretch) for stretch in stretches]


ANSWERS = [message["content"] + "<|end|>" for message in CHAT if message["role"] == "assistant"]


@pytest.mark.parametrize("template", ["", BY_LINES])
def test_chat_is_tokenized_as_a_whole(tiny: Path, template: str) -> None:
    of = tokenizer(tiny, template)
    (chat,) = tokenize_chat(of, CHAT)
    assert learned(of, chat) == ANSWERS
    assert of.decode(chat.ids) == of.apply_chat_template(CHAT, tokenize=False)
    prompt = of.apply_chat_template(CHAT[:2], add_generation_prompt=True, return_dict=True)
    assert chat.ids[: chat.own.index(True)] == list(prompt["input_ids"])


def test_rewriting_template_gives_one_sequence_per_answer(tiny: Path) -> None:
    of = tokenizer(tiny, THINKING)
    chats = tokenize_chat(of, CHAT, enable_thinking=False)
    assert [learned(of, chat) for chat in chats] == [[answer] for answer in ANSWERS]
    assert "<think>" not in of.decode(chats[1].ids[: len(chats[0].ids) // 2])


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (None, "has no chat template"),
        (NO_SYSTEM, "rejects a chat: no system message, please"),
        (UPPER, r"changes '\[message\] I take .* to '\[MESSAGE\] I TAKE"),
        (THINKING, r"changes .* to '<think>\\n\\n</think>\\n\\n\[message\]"),
    ],
)
def test_unfaithful_template_is_rejected(tiny: Path, template: str | None, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        tokenize_chat(tokenizer(tiny, template), CHAT)
