"""Replies that were read and labelled by hand: no invented move, and few false refusals.

Each line of ``corpus.jsonl`` is a reply, the type of the requested action, and the action that a
human referee takes the reply for, or null. The parts ``held-out-2`` to ``held-out-6`` were labelled
before the rule was tried on them, ``held-out-2`` before the rule was written. ``held-out-4`` was
written against the lists of the rule's words; ``misread`` marks what is still read there.
"""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from cheaptalk.rules import Action, Ask, Event
from cheaptalk.styles import CODECS, Unparsable

CORPUS = [
    json.loads(line)
    for line in (Path(__file__).parent / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
]
MAX_FALSE_REFUSALS = 0.02
"""Maximum share of valid answers that may be rejected."""


def action_of(entry: dict[str, Any]) -> type[Action]:
    game, name = entry["action"].split(".")
    kind: type[Action] = getattr(import_module(f"cheaptalk.games.{game}.rules"), name)
    return kind


def read(entry: dict[str, Any]) -> Action | None:
    ask = Ask("alice", action_of(entry), Event())
    try:
        return CODECS["json"].read(entry["reply"], ask, cut_off=entry.get("cut", False))
    except Unparsable:
        return None


def expected(entry: dict[str, Any]) -> Action | None:
    return entry["expects"] and action_of(entry).model_validate(entry["expects"])


def invented() -> Iterator[dict[str, Any]]:
    for entry in CORPUS:
        action = read(entry)
        if action is not None and action != expected(entry):
            yield entry


def test_no_move_is_invented() -> None:
    assert [entry["reply"] for entry in invented() if not entry.get("misread")] == []


def test_known_misreadings_are_few_and_current() -> None:
    known = [entry for entry in CORPUS if entry.get("misread")]
    assert {entry["part"] for entry in known} == {"held-out-4"}
    assert len(known) <= 8
    assert all(entry in known for entry in invented())
    assert all(read(entry) is not None for entry in known)


def test_few_answers_are_rejected() -> None:
    for parts in ["", "held-out-"]:
        answers = [
            entry for entry in CORPUS if entry["expects"] and entry["part"].startswith(parts)
        ]
        refused = [entry["reply"] for entry in answers if read(entry) is None]
        assert len(refused) <= MAX_FALSE_REFUSALS * len(answers), refused
