"""Chats in tokens, with those that the player itself wrote: from these alone it learns.

A chat template puts a chat into words. What it puts where an answer is to come, and what it makes
of the answer, is found by asking it for both, so that any template will do; what is found is
decoded again and held against the answer.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cheaptalk.rules import CheaptalkError

IGNORED = -100
"""The label of a token that is not learned."""


class TemplateError(CheaptalkError):
    """A chat template with which it cannot be told what a player wrote."""


class TokenizedChat(NamedTuple):
    """A chat in tokens.

    Attributes:
        ids: all its tokens.
        own: which of them are to be learned: what the player wrote, and what ends an answer.
    """

    ids: list[int]
    own: list[bool]

    @property
    def labels(self) -> list[int]:
        """What is to be learned at each token, as trainers take it."""
        return [number if own else IGNORED for number, own in zip(self.ids, self.own, strict=True)]


class Answered(NamedTuple):
    """An answer in a chat that a template has put into words.

    Attributes:
        begin, end: where it is, with what ends it.
        content: what it is.
    """

    begin: int
    end: int
    content: str


def tokenized(
    tokenizer: Any, messages: Sequence[Mapping[str, str]], **template: Any
) -> list[TokenizedChat]:
    """A chat in tokens: as a whole, or where the template rewrites what it has written, such as to
    leave out what was thought before, once for each answer, which alone is to be learned there.

    Args:
        tokenizer: of transformers, a fast one with a chat template.
        messages: role and content of each.
        template: what its chat template takes besides, such as ``enable_thinking``.

    Raises:
        TemplateError: there is no template, it refuses the chat, or an answer does not come out as
            it was.
    """
    texts, answers = [], []
    for number, one in enumerate(messages):
        if one["role"] == "assistant":
            before = _written(tokenizer, messages[:number], add_generation_prompt=True, **template)
            after = _written(tokenizer, messages[: number + 1], **template)
            if not after.startswith(before):
                raise _wrong(tokenizer, "asks for an answer in other words than it shows it in")
            texts.append(after)
            answers.append(Answered(len(before), len(after), one["content"]))
    whole = _written(tokenizer, messages, **template)
    if all(whole.startswith(text) for text in texts):
        return [_in_tokens(tokenizer, whole, answers)]
    return [
        _in_tokens(tokenizer, text, [answer]) for text, answer in zip(texts, answers, strict=True)
    ]


def _in_tokens(tokenizer: Any, text: str, answers: Sequence[Answered]) -> TokenizedChat:
    found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    ids, offsets = list(found["input_ids"]), found["offset_mapping"]
    own = [False] * len(ids)
    for answer in answers:
        at = [
            place
            for place, (first, last) in enumerate(offsets)
            if answer.begin <= first < last <= answer.end
        ]
        ends = next((n for n, place in enumerate(at) if ids[place] == tokenizer.eos_token_id), None)
        at = at if ends is None else at[: ends + 1]  # templates may put a line's end behind it
        read = tokenizer.decode([ids[place] for place in at], skip_special_tokens=True).strip()
        if read != answer.content.strip():
            raise _wrong(tokenizer, f"makes {read!r:.80} of {answer.content.strip()!r:.80}")
        for place in at:
            own[place] = True
    return TokenizedChat(ids, own)


def _written(tokenizer: Any, messages: Sequence[Mapping[str, str]], **more: Any) -> str:
    """A chat in the template's words."""
    if not tokenizer.chat_template:
        raise TemplateError(
            f"{tokenizer.name_or_path} has no chat template; take a model that was made for chats"
        )
    try:
        text: str = tokenizer.apply_chat_template(messages, tokenize=False, **more)
    except Exception as error:  # whatever a template raises
        raise _wrong(tokenizer, f"refuses a chat: {error}") from error
    return text


def _wrong(tokenizer: Any, what: str) -> TemplateError:
    return TemplateError(f"the chat template of {tokenizer.name_or_path} {what}; take another one")
