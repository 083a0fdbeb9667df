"""Tokenised chats, with a mask that limits the loss to the player's own tokens.

The tokens of an answer are found by rendering the chat with and without it, so any chat template
works. They are decoded again and compared with the answer.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cheaptalk.rules import CheaptalkError

IGNORED = -100
"""The label of tokens that aren't learned."""


class TemplateError(CheaptalkError):
    """Raised if a player's answers can't be located in a chat that the template rendered."""


class TokenizedChat(NamedTuple):
    """A chat as token ids, with a mask of the tokens that the loss includes.

    Attributes:
        own: whether each token is learned: the player's text and the end of an answer.
    """

    ids: list[int]
    own: list[bool]

    @property
    def labels(self) -> list[int]:
        """Return the tokens' training labels, with -100 for tokens that the loss excludes."""
        return [number if own else IGNORED for number, own in zip(self.ids, self.own, strict=True)]


class Answered(NamedTuple):
    """The text of an answer, and its position (with the end marker) in a rendered chat."""

    begin: int
    end: int
    content: str


def tokenize_chat(
    tokenizer: Any, messages: Sequence[Mapping[str, str]], **template: Any
) -> list[TokenizedChat]:
    """Tokenise a chat, separately for each answer if the template rewrites earlier messages.

    For example, some templates remove the reasoning of earlier messages.

    Args:
        tokenizer: a fast tokenizer of transformers with a chat template.
        template: further arguments of the chat template, such as ``enable_thinking``.

    Raises:
        TemplateError: there is no template, it rejects the chat, or it changes an answer.
    """
    texts, answers = [], []
    for number, message in enumerate(messages):
        if message["role"] == "assistant":
            before = _written(tokenizer, messages[:number], add_generation_prompt=True, **template)
            after = _written(tokenizer, messages[: number + 1], **template)
            if not after.startswith(before):
                raise _wrong(tokenizer, "renders an answer differently from its generation prompt")
            texts.append(after)
            answers.append(Answered(len(before), len(after), message["content"]))
    full_text = _written(tokenizer, messages, **template)
    if all(full_text.startswith(text) for text in texts):
        return [_in_tokens(tokenizer, full_text, answers)]
    return [
        _in_tokens(tokenizer, text, [answer]) for text, answer in zip(texts, answers, strict=True)
    ]


def _in_tokens(tokenizer: Any, text: str, answers: Sequence[Answered]) -> TokenizedChat:
    encoding = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    ids, offsets = list(encoding["input_ids"]), encoding["offset_mapping"]
    own = [False] * len(ids)
    for answer in answers:
        positions = []
        for position, (first, last) in enumerate(offsets):
            if answer.begin <= first < last <= answer.end:
                positions.append(position)
                if ids[position] == tokenizer.eos_token_id:
                    break  # templates may add a newline after the end
        answer_ids = [ids[position] for position in positions]
        decoded = tokenizer.decode(answer_ids, skip_special_tokens=True).strip()
        if decoded != answer.content.strip():
            raise _wrong(tokenizer, f"changes {answer.content.strip()!r:.80} to {decoded!r:.80}")
        for position in positions:
            own[position] = True
    return TokenizedChat(ids, own)


def _written(tokenizer: Any, messages: Sequence[Mapping[str, str]], **options: Any) -> str:
    if not tokenizer.chat_template:
        raise TemplateError(f"{tokenizer.name_or_path} has no chat template; use a chat model")
    try:
        text: str = tokenizer.apply_chat_template(messages, tokenize=False, **options)
    except Exception as error:  # templates can raise anything
        raise _wrong(tokenizer, f"rejects a chat: {error}") from error
    return text


def _wrong(tokenizer: Any, problem: str) -> TemplateError:
    return TemplateError(
        f"the chat template of {tokenizer.name_or_path} {problem}; use another model"
    )
