"""What is learned from chats beside cloning: by their worth, near a reference, and by preference.

All losses are of the player's own tokens alone, wherever these stand in a chat, so that what a
partner said in between is read, and not learned.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

from cheaptalk.learning.language.tokens import IGNORED, TokenizedChat
from cheaptalk.learning.language.trainers.trainer import Loss

CLIP = 0.2
"""How far a token's probability may move by what is learned of it at once (Schulman and others
2017, PPO)."""


class Example(NamedTuple):
    """What is learned at once.

    Attributes:
        chat: in tokens.
        weight: how much it counts; below 0 to be said less.
        worse: the chat to which it is preferred.
    """

    chat: TokenizedChat
    weight: float = 1.0
    worse: TokenizedChat | None = None


class Learned(NamedTuple):
    """What is learned, and how.

    Attributes:
        loss: which.
        kl: weight of the divergence from the reference, in nats a token.
        beta: of direct preference optimisation: how strongly preferences bind to where it begins.
        reference: a model to stay near to, if ``kl`` is above 0.
        begun: the model as it was, for losses that compare with it.
    """

    loss: Loss
    kl: float
    beta: float
    reference: Any
    begun: Any


def padded(examples: Sequence[Example], padding: int) -> dict[str, Any]:
    """A batch of tensors: chats, and behind them those to which they are preferred."""
    torch = import_module("torch")
    chats = [one.chat for one in examples] + [one.worse for one in examples if one.worse]
    longest = max(len(one.ids) for one in chats)

    def filled(rows: Sequence[Sequence[int]], rest: int) -> Any:
        return torch.tensor([[*row, *[rest] * (longest - len(row))] for row in rows])

    return {
        "input_ids": filled([one.ids for one in chats], padding),
        "attention_mask": filled([[1] * len(one.ids) for one in chats], 0),
        "labels": filled([one.labels for one in chats], IGNORED),
        "weight": torch.tensor([one.weight for one in examples]),
    }


def loss_of(model: Any, batch: dict[str, Any], how: Learned) -> Any:
    """The loss of a batch, to be made small."""
    torch = import_module("torch")
    labels, weight = batch["labels"][:, 1:], batch["weight"]
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    own = labels != IGNORED
    logs = _logs(model, inputs)
    said = _said(logs, labels)

    def before(other: Any) -> Any:
        with torch.no_grad():
            return _logs(other, inputs)

    count = own.sum().clamp(min=1)
    if how.loss == "dpo":
        gained = (said - _said(before(how.begun), labels)).sum(dim=1)
        better, worse = gained.chunk(2)
        loss = -(torch.nn.functional.logsigmoid(how.beta * (better - worse)) * weight).mean()
    elif how.loss == "grpo":
        ratio = (said - _said(before(how.begun), labels)).exp()
        held = ratio.clamp(1 - CLIP, 1 + CLIP)
        loss = -(torch.minimum(ratio * weight[:, None], held * weight[:, None]) * own).sum() / count
    else:
        loss = -(said * weight[:, None]).sum() / count
    if how.kl:
        apart = (logs.exp() * (logs - before(how.reference))).sum(dim=-1)
        loss = loss + how.kl * (apart * own).sum() / count
    return loss


def _logs(model: Any, inputs: dict[str, Any]) -> Any:
    """Logarithms of the probabilities of every next token, [chats, tokens, vocabulary]."""
    return model(**inputs, use_cache=False).logits[:, :-1].float().log_softmax(dim=-1)


def _said(logs: Any, labels: Any) -> Any:
    """Those of the tokens that were said, 0 where none is learned, [chats, tokens]."""
    own = labels != IGNORED
    return logs.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1) * own


def learner(
    model: Any,
    arguments: Any,
    examples: Sequence[Example],
    padding: int,
    how: Learned,
    callbacks: Sequence[Any],
) -> Any:
    """A trainer of transformers that learns so."""
    base = import_module("transformers").Trainer

    class Learner(base):  # type: ignore[misc, valid-type]
        def compute_loss(
            self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, **_: Any
        ) -> Any:
            loss = loss_of(model, inputs, how)
            return (loss, {}) if return_outputs else loss

    def collate(rows: Sequence[Example]) -> dict[str, Any]:
        return padded(rows, padding)

    made = Learner(
        model=model, args=arguments, train_dataset=list(examples), data_collator=collate,
        callbacks=list(callbacks),
    )  # fmt: skip
    for other in (how.reference, how.begun):
        if other is not None:
            other.to(made.args.device)
    made.model_accepts_loss_kwargs = False  # the loss is a mean, of each part of a step
    made.args.train_sampling_strategy = "random"  # others ask for columns
    return made
