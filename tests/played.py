"""Sample studies: one without problems, and one in which everything fails."""

import json
from pathlib import Path
from typing import Any

import cheaptalk as ct
from cheaptalk.mock_models import answer
from cheaptalk.models import Failure, ModelCall, Reply, Usage

EVIL = (
    """<script>alert(1)</script></script><!-- "it's" & &amp; {{ 7 * 7 }} {% raw %} ]]> """
    "<img src=x onerror=alert(2)>"
)
"""A message that tries to break a page."""

WELL: dict[str, Any] = {
    "name": "well",
    "description": "Three games, <b>all</b> finished.",
    "seed": 5,
    "games": [
        {
            "game": "bargaining",
            "grid": {
                "discounts": [[0.9, 0.9], [1, 0.8]],
                "horizon": [3, {"rounds": 9, "hidden": True}],
            },
        },
        {"game": "negotiation", "grid": {"buyer_factor": [0.8, 1.5]}, "fixed": {"horizon": 4}},
        {"game": "persuasion", "grid": {"myopic": [True, False]}, "fixed": {"horizon": 5}},
    ],
    "players": {
        "luck": {
            "strategies": {
                "bargaining": "random",
                "negotiation": "zero_intelligence",
                "persuasion": "random",
            }
        },
        "hard & fast": {
            "strategies": {
                "bargaining": "boulware",
                "negotiation": "random",
                "persuasion": {"alice": "always_recommend", "bob": "sceptical"},
            }
        },
    },
    "instances": 4,
    "repeats": 2,
}

BADLY: dict[str, Any] = {
    "name": "badly",
    "description": EVIL,
    "seed": 6,
    "games": [
        {"game": "bargaining", "fixed": {"horizon": 3}},
        {"game": "persuasion", "grid": {"myopic": [True, False]}, "fixed": {"horizon": 3}},
    ],
    "players": {
        EVIL: {"model": "vllm/evil", "temperature": 0.5},
        "mute": {"model": "vllm/mute", "tries": 2},
        "broken": {"model": "vllm/broken"},
    },
    "instances": 2,
}

FREE = {"strategy": "steady", "coins": 0}
KIND = {"strategy": "steady", "coins": 9}
CROWD: dict[str, Any] = {
    "name": "crowd",
    "seed": 4,
    "games": [
        {"game": "giving", "fixed": {"givers": 2}, "pairing": "all"},
        {
            "game": "giving",
            "fixed": {"givers": 10},
            "pairing": [{"free": 1, "luck": 9}, {"luck": 10}, {"free": 3, "luck": 4, "kind": 3}],
        },
        {"game": "collecting", "pairing": "all", "fixed": {"givers": 2}},
    ],
    "players": {
        "free": {"strategies": {"giving": FREE, "collecting": {"giver": FREE, "keeper": KIND}}},
        "luck": {"strategies": {"giving": "random", "collecting": "random"}},
        "kind": {"strategies": {"giving": KIND}},
    },
    "instances": 5,
}
"""Matches of two and ten players; requires the fixture ``toys``."""

HALTED = BADLY | {
    "name": "halted",
    "players": {EVIL: {"model": "vllm/evil"}},
    "budget": {"calls": 9},
}
"""Stopped by its budget: some matches are live, others not started."""


class Models:
    """Models that answer like the mock server, each with a defect.

    ``evil`` sends messages that try to break a page, and an unreadable reply first to every fourth
    request; ``mute`` never sends a readable reply; the provider of ``broken`` answers the first
    request of a match and fails at all others.
    """

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        _, request, _, attempt, _ = number.split("/")
        usage = Usage(input_tokens=100, output_tokens=10)
        if call.model == "vllm/broken" and request != "0":
            return Reply(failure=Failure.PROVIDER_ERROR, detail=f"out of order {EVIL}")
        if call.model == "vllm/mute" or (attempt == "0" and int(request) % 4 == 3):
            return Reply(text=f"I say nothing. {EVIL}", usage=usage, seconds=0.25)
        text = answer([message.model_dump() for message in call.messages])
        text = text.replace("My luck", f"{json.dumps(EVIL)[1:-1]} My luck")
        return Reply(text=text, model="evil-2026", usage=usage, seconds=1.5)


def play(folder: Path, study: dict[str, Any]) -> Path:
    """Run a study in a store of the same name, and return the path of the store."""
    path = folder / f"{study['name']}.sqlite"
    with ct.Store.open(path, create=True) as store:
        ct.run(ct.studies.parse_study(study, "a test"), store, models=Models(), concurrency=3)
    return path
