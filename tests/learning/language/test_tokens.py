"""Chats in tokens: a player learns just what it wrote, whatever the chat template."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cheaptalk.learning.language.tokens import TemplateError, tokenized
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
"""Shows an empty thought with the last answer alone."""
UPPER = PIECES.replace("{}", "<|{{ one['role'] }}|>{{ one['content'] | upper }}<|end|>", 1).replace(
    "{}", "<|assistant|>", 1
)
NO_SYSTEM = "{{ raise_exception('no system message, please') }}"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


def tokenizer(tiny: Path, template: str | None = "") -> Any:
    found = import_module("transformers").AutoTokenizer.from_pretrained(tiny)
    if template != "":
        found.chat_template = template
    return found


def learned(of: Any, chat: Any) -> list[str]:
    """The stretches that are to be learned, decoded."""
    stretches: list[list[int]] = []
    for before, own, number in zip([False, *chat.own], chat.own, chat.ids, strict=False):
        if own and not before:
            stretches.append([])
        if own:
            stretches[-1].append(number)
    return [of.decode(one) for one in stretches]


ANSWERS = [one["content"] + "<|end|>" for one in CHAT if one["role"] == "assistant"]


@pytest.mark.parametrize("template", ["", BY_LINES])
def test_a_chat_is_learned_from_as_a_whole(tiny: Path, template: str) -> None:
    of = tokenizer(tiny, template)
    (chat,) = tokenized(of, CHAT)
    assert learned(of, chat) == ANSWERS
    assert of.decode(chat.ids) == of.apply_chat_template(CHAT, tokenize=False)
    asked = of.apply_chat_template(CHAT[:2], add_generation_prompt=True, return_dict=True)
    assert chat.ids[: chat.own.index(True)] == list(asked["input_ids"])


def test_answers_are_learned_one_by_one_where_the_past_is_rewritten(tiny: Path) -> None:
    of = tokenizer(tiny, THINKING)
    chats = tokenized(of, CHAT, enable_thinking=False)
    assert [learned(of, one) for one in chats] == [[answer] for answer in ANSWERS]
    assert "<think>" not in of.decode(chats[1].ids[: len(chats[0].ids) // 2])


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (None, "has no chat template"),
        (NO_SYSTEM, "rejects a chat: no system message, please"),
        (UPPER, r"changes '\[message\] I take .* to '\[MESSAGE\] I TAKE"),
        (THINKING, r"changes .* to '<think>\\n\\n</think>\\n\\n\[message\]"),
    ],
)
def test_a_template_that_says_something_else_is_refused(
    tiny: Path, template: str | None, why: str
) -> None:
    with pytest.raises(TemplateError, match=why):
        tokenized(tokenizer(tiny, template), CHAT)
