"""A study of noisy negotiators, and models that judge it as one likes."""

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
    """Noisy negotiators of Deal or No Deal on so many instances."""
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
    """A judge of hallucinations, or by another rubric."""
    return ct.judges.judge_of(rubric, model)


def says(category: str) -> str:
    """A verdict as a model writes it."""
    return json.dumps({"reason": "It is so.", "quote": "", "category": category})


def judging(verdict: Callable[[str], Reply | str]) -> Canned:
    """Models that judge the last answer of what they read."""

    def answer(call: ModelCall, number: str) -> Reply | str:
        return verdict(LAST.findall(call.messages[1].content)[-1])

    return Canned(answer)


def always(category: str) -> Canned:
    """Models that always give this verdict."""
    return judging(lambda said: says(category))


def checked(store: Store) -> dict[str, dict[str, str]]:
    """What the exact check says, by match and item."""
    check = ct.get_game("deal_or_no_deal").checks["hallucination"]
    return {
        record.id: {
            f"{request}/{seat}": said for (request, seat), said in check(record.result()).items()
        }
        for record in store.records(STUDY, bodies=True)
    }
