"""Losses: weighted chats, divergence from a reference model, and preferences between chats.

All losses cover only the player's own tokens, wherever they are in a chat; the partner's messages
are read but not learned.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

from cheaptalk.learning.language.tokens import IGNORED, TokenizedChat
from cheaptalk.learning.language.trainers.trainer import Loss

CLIP = 0.2
"""Clipping range of a token's probability ratio (Schulman and others 2017, PPO)."""


class Example(NamedTuple):
    """A tokenised training example: a chat, its weight and, for preferences, a worse chat."""

    chat: TokenizedChat
    weight: float = 1.0
    worse: TokenizedChat | None = None


class Learned(NamedTuple):
    """The loss that a training run minimises, with its weights and reference models.

    Attributes:
        kl: weight of the divergence from the reference, in nats per token.
        beta: strength of the tie to the initial model in direct preference optimisation.
        reference: the reference model if ``kl`` is above 0.
        begun: the initial model, for losses that compare with it.
    """

    loss: Loss
    kl: float
    beta: float
    reference: Any
    begun: Any


def padded(examples: Sequence[Example], padding: int) -> dict[str, Any]:
    """Return a batch as padded tensors, with the rejected chats after all other chats."""
    torch = import_module("torch")
    chats = [example.chat for example in examples]
    chats += [example.worse for example in examples if example.worse]
    longest = max(len(chat.ids) for chat in chats)

    def filled(rows: Sequence[Sequence[int]], fill: int) -> Any:
        return torch.tensor([[*row, *[fill] * (longest - len(row))] for row in rows])

    return {
        "input_ids": filled([chat.ids for chat in chats], padding),
        "attention_mask": filled([[1] * len(chat.ids) for chat in chats], 0),
        "labels": filled([chat.labels for chat in chats], IGNORED),
        "weight": torch.tensor([example.weight for example in examples]),
    }


def loss_of(model: Any, batch: dict[str, Any], objective: Learned) -> Any:
    """Return the loss of a batch under an objective."""
    torch = import_module("torch")
    labels, weight = batch["labels"][:, 1:], batch["weight"]
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    own = labels != IGNORED
    log_probabilities = _logs(model, inputs)
    token_logs = _token_logs(log_probabilities, labels)

    def before(reference: Any) -> Any:
        with torch.no_grad():
            return _logs(reference, inputs)

    count = own.sum().clamp(min=1)
    if objective.loss == "dpo":
        gains = (token_logs - _token_logs(before(objective.begun), labels)).sum(dim=1)
        better, worse = gains.chunk(2)
        loss = -(torch.nn.functional.logsigmoid(objective.beta * (better - worse)) * weight).mean()
    elif objective.loss == "grpo":
        ratio = (token_logs - _token_logs(before(objective.begun), labels)).exp()
        gains = ratio * weight[:, None], ratio.clamp(1 - CLIP, 1 + CLIP) * weight[:, None]
        loss = -(torch.minimum(*gains) * own).sum() / count
    else:
        loss = -(token_logs * weight[:, None]).sum() / count
    if objective.kl:
        log_ratio = log_probabilities - before(objective.reference)
        divergence = (log_probabilities.exp() * log_ratio).sum(dim=-1)
        loss = loss + objective.kl * (divergence * own).sum() / count
    return loss


def _logs(model: Any, inputs: dict[str, Any]) -> Any:
    return model(**inputs, use_cache=False).logits[:, :-1].float().log_softmax(dim=-1)


def _token_logs(log_probabilities: Any, labels: Any) -> Any:
    own = labels != IGNORED
    return log_probabilities.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1) * own


def learner(
    model: Any,
    arguments: Any,
    examples: Sequence[Example],
    padding: int,
    objective: Learned,
    callbacks: Sequence[Any],
) -> Any:
    """Return a transformers trainer that minimises the loss of an objective."""
    base = import_module("transformers").Trainer

    class Learner(base):  # type: ignore[misc, valid-type]
        def compute_loss(
            self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, **_: Any
        ) -> Any:
            loss = loss_of(model, inputs, objective)
            return (loss, {}) if return_outputs else loss

    def collate(rows: Sequence[Example]) -> dict[str, Any]:
        return padded(rows, padding)

    trainer = Learner(
        model=model,
        args=arguments,
        train_dataset=list(examples),
        data_collator=collate,
        callbacks=list(callbacks),
    )
    for reference in (objective.reference, objective.begun):
        if reference is not None:
            reference.to(trainer.args.device)
    trainer.model_accepts_loss_kwargs = False  # the loss is a mean per partial step
    trainer.args.train_sampling_strategy = "random"  # others need columns
    return trainer
