"""A study of noisy negotiators, and mock judges for it."""

import json
import re
from collections.abc import Callable
from typing import Any

import cheaptalk as ct
from cheaptalk.models import ModelCall, Reply
from cheaptalk.records import Store
from tests.fakes import Canned

STUDY = "talk"
LAST = re.compile(r"answers:\n> (.*)")


def play(store: Store, instances: int = 12, **changed: Any) -> None:
    """Run a study of noisy Deal or No Deal negotiators, with changes."""
    study = {
        "name": STUDY,
        "games": [{"game": "deal_or_no_deal"}],
        "players": {"one": {"strategy": "noisy"}, "two": {"strategy": "noisy", "lying": 0.2}},
        "pairing": [["one", "two"]],
        "instances": instances,
    }
    ct.run(ct.studies.parse_study(study | changed, "talk.yaml"), store)


def judge_of(model: object = "vllm/judge", rubric: str = "hallucination") -> ct.judges.Judge:
    """Return a judge with this rubric."""
    return ct.judges.judge_of(rubric, model)


def verdict_text(category: str) -> str:
    """Return a verdict as a model writes it."""
    return json.dumps({"reason": "It is so.", "quote": "", "category": category})


def mock_judge(verdict: Callable[[str], Reply | str]) -> Canned:
    """Return models whose verdict depends on the last answer that they read."""

    def answer(call: ModelCall, number: str) -> Reply | str:
        return verdict(LAST.findall(call.messages[1].content)[-1])

    return Canned(answer)


def always(category: str) -> Canned:
    """Return models that always give this verdict."""
    return mock_judge(lambda answer: verdict_text(category))


def check_verdicts(store: Store) -> dict[str, dict[str, str]]:
    """Return the verdicts of the exact check, by match and item."""
    check = ct.get_game("deal_or_no_deal").checks["hallucination"]
    return {
        record.id: {
            f"{request}/{seat}": label for (request, seat), label in check(record.result()).items()
        }
        for record in store.records(STUDY, bodies=True)
    }


def judge_colours(call: ModelCall, number: str = "") -> str:
    """Return the verdict "present" if an answer names a colour."""
    present = "green" in call.messages[-1].content
    return json.dumps({"reason": "So.", "category": "present" if present else "absent"})


def rate_warmth(store: Store) -> None:
    """Let two judges score each player on a scale from 1 to 7: one with 2, the other with 3."""
    scale = ct.judges.Scale(low_means="cold", high_means="warm")
    warmth = ct.judges.Rubric(name="warmth", item="seat", question="How warm?", scale=scale)
    for model, score in (("vllm/a", 2), ("vllm/b", 3)):
        reply = json.dumps({"reason": "So.", "score": score})
        models = Canned(lambda *_, reply=reply: reply)
        ct.judge(store, STUDY, ct.judges.judge_of(warmth, model), models=models)
