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


def loss_of(model: Any, batch: dict[str, Any], objective: Learned, count: Any = None) -> Any:
    """Return the loss of a batch under an objective.

    Only the player's own tokens have logits, which would otherwise fill most of the memory.

    Args:
        count: number of own tokens over which the loss is a mean, if the batch is a part of a step;
            unused for preferences, whose loss is a mean over pairs.
    """
    torch = import_module("torch")
    own = batch["labels"][:, 1:] != IGNORED
    labels, chat = batch["labels"][:, 1:][own], own.nonzero()[:, 0]
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    inputs["logits_to_keep"] = torch.nn.functional.pad(own, (0, 1))
    log_probabilities = _logs(model, inputs)
    token_logs = _token_logs(log_probabilities, labels)
    count = own.sum().clamp(min=1) if count is None else count

    def before(reference: Any) -> Any:
        with torch.no_grad():
            return _logs(reference, inputs)

    if objective.loss == "dpo":
        gains = token_logs - _token_logs(before(objective.begun), labels)
        better, worse = gains.new_zeros(len(own)).index_add(0, chat, gains).chunk(2)
        preferences = torch.nn.functional.logsigmoid(objective.beta * (better - worse))
        loss = -(preferences * batch["weight"]).mean()
    elif objective.loss == "grpo":
        weight = batch["weight"][chat]
        ratio = (token_logs - _token_logs(before(objective.begun), labels)).exp()
        gains = ratio * weight, ratio.clamp(1 - CLIP, 1 + CLIP) * weight
        loss = -torch.minimum(*gains).sum() / count
    else:
        loss = -(token_logs * batch["weight"][chat]).sum() / count
    if objective.kl:
        log_ratio = log_probabilities - before(objective.reference)
        loss = loss + objective.kl * (log_probabilities.exp() * log_ratio).sum() / count
    return loss


def _logs(model: Any, inputs: dict[str, Any]) -> Any:
    return model(**inputs, use_cache=False).logits.float().log_softmax(dim=-1)


def _token_logs(log_probabilities: Any, labels: Any) -> Any:
    return log_probabilities.gather(-1, labels.unsqueeze(-1)).squeeze(-1)


def learner(
    model: Any,
    arguments: Any,
    examples: Sequence[Example],
    padding: int,
    objective: Learned,
) -> Any:
    """Return a transformers trainer that minimises the loss of an objective.

    Its attribute ``tokens`` counts the tokens read so far.
    """
    base = import_module("transformers").Trainer

    class Learner(base):  # type: ignore[misc, valid-type]
        tokens = 0

        def compute_loss(
            self,
            model: Any,
            inputs: dict[str, Any],
            return_outputs: bool = False,
            num_items_in_batch: Any = None,
        ) -> Any:
            self.tokens += int(inputs["attention_mask"].sum())
            loss = loss_of(model, inputs, objective, num_items_in_batch)
            if num_items_in_batch is not None:  # of all processes, whose losses are averaged
                loss = loss * self.accelerator.num_processes
            return (loss, {}) if return_outputs else loss

    def collate(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return padded([row["example"] for row in rows], padding)

    trainer = Learner(
        model=model,
        args=arguments,
        train_dataset=[{"input_ids": item.chat.ids, "example": item} for item in examples],
        data_collator=collate,
    )
    for reference in (objective.reference, objective.begun):
        if reference is not None:
            reference.to(trainer.args.device)
    trainer.model_accepts_loss_kwargs = objective.loss != "dpo"
    return trainer
