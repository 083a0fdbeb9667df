"""A study of noisy negotiators, and mock judges for it."""

import json
import re
from collections.abc import Callable

import cheaptalk as ct
from cheaptalk.models import ModelCall, Reply
from cheaptalk.records import Store
from tests.fakes import Canned

STUDY = "talk"
LAST = re.compile(r"answers:\n> (.*)")


def play(store: Store, instances: int = 30, repeats: int = 1, name: str = STUDY) -> None:
    """Run a study of noisy Deal or No Deal negotiators."""
    study = {
        "name": name,
        "games": [{"game": "deal_or_no_deal"}],
        "players": {"one": {"strategy": "noisy"}, "two": {"strategy": "noisy", "lying": 0.2}},
        "pairing": [["one", "two"]],
        "instances": instances,
        "repeats": repeats,
    }
    ct.run(ct.studies.parse_study(study, "talk.yaml"), store)


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
