"""Replies as models write them, each with its answer or the reason for rejection.

No reply may be misread. Some replies that a person would understand are requested again; those are
marked as clear.
"""

import itertools
import random
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.games.bargaining.rules import Reply, SpokenOffer
from cheaptalk.games.deal_or_no_deal.rules import MessageOrProposal
from cheaptalk.games.el_farol_bar.rules import Visit
from cheaptalk.games.persuasion.rules import Pitch
from cheaptalk.rules import Action, Ask, Event
from cheaptalk.styles import CODECS, Unparsable, quoted

REPLIES = [
    entry
    for path in sorted((Path(__file__).parent / "replies").iterdir())
    for entry in yaml.safe_load(path.read_text(encoding="utf-8"))
]
REQUESTS: dict[str, tuple[str, type[Action]]] = {
    "decision": ("json", Reply),
    "offer": ("json", SpokenOffer),
    "pitch": ("json", Pitch),
    "visit": ("json", Visit),
    "move": ("json", MessageOrProposal),
    "tagged": ("tagged", MessageOrProposal),
}


def ask(action: type[Action]) -> Ask:
    return Ask("alice", action, Event())


def attempt(codec: str, reply: str, request: Ask, **cut: bool) -> tuple[Action | None, str]:
    """Return the action in a reply, or the reason for rejection."""
    try:
        return CODECS[codec].read(reply, request, **cut), ""
    except Unparsable as problem:
        return None, str(problem)


def test_replies_are_read_or_rejected_with_reason() -> None:
    for entry in REPLIES:
        codec, action = REQUESTS[entry["asked"]]
        if "reads" in entry:
            assert CODECS[codec].read(entry["reply"], ask(action)) == action(**entry["reads"])
        else:
            with pytest.raises(Unparsable) as refused:
                CODECS[codec].read(entry["reply"], ask(action))
            assert entry["why"] in str(refused.value)


def test_truncated_reply_counts_if_it_ends_with_its_answer() -> None:
    for reply, is_read in [
        ('{"decision": "accept"}', True),
        ('```json\n{"decision": "accept"}\n```', True),
        ('I think so. {"decision": "accept"}\n\n   \n', True),
        ('{"decision": "accept"}\n\nThis is more than I would get by', True),
        ('{"decision": "accept"} Wait, on second', False),
        ('One could say {"decision": "accept"}, but', False),
        ('{"decision": "acc', False),
        ('<think>Perhaps {"decision": "accept"}', False),
        ("", False),
    ]:
        if is_read:
            action = CODECS["json"].read(reply, ask(Reply), cut_off=True)
            assert action == Reply(decision="accept")
        else:
            with pytest.raises(Unparsable):
                CODECS["json"].read(reply, ask(Reply), cut_off=True)


characters = st.characters(exclude_categories=["Cs"])
words = st.text(characters, max_size=80)
prose = st.text(st.characters(exclude_characters="{}<[◁", exclude_categories=["Cs"]), max_size=60)
sums = st.floats(0, 1e9, allow_nan=False)
actions = st.one_of(
    st.builds(Reply, decision=st.sampled_from(["accept", "reject"])),
    st.builds(SpokenOffer, alice_gain=sums, bob_gain=sums, message=words),
    st.builds(Pitch, message=words),
    st.builds(MessageOrProposal, message=words),
    st.builds(MessageOrProposal, **dict.fromkeys(("books", "hats", "balls"), st.integers(0, 9))),
)


@given(actions, prose, prose)
def test_surrounding_text_never_changes_the_answer(action: Action, before: str, after: str) -> None:
    written = CODECS["json"].write(action)
    assert CODECS["json"].read(written, ask(type(action))) == action
    read, why = attempt("json", f"{before}{written}{after}", ask(type(action)))
    assert why or read == action


@given(actions, words, st.sampled_from(["json", "tagged"]), st.booleans())
def test_only_unreadable_is_raised(action: Action, reply: str, codec: str, cut_off: bool) -> None:
    request = ask(MessageOrProposal if codec == "tagged" else type(action))
    for text in (reply, reply + CODECS["json"].write(action) + reply):
        read, why = attempt(codec, text, request, cut_off=cut_off)
        assert bool(why) != isinstance(read, request.action)


SCRAPS = ['{"decision": "accept"}', '{"decision":', "{", "}", '"', "<think>", "</think>", "\\", ","]


def test_fragments_make_no_other_answer() -> None:
    for length in [1, 2, 3]:
        for scraps in itertools.product(SCRAPS, repeat=length):
            reply = "".join(scraps)
            action, why = attempt("json", reply, ask(Reply))
            spoken = re.sub("<think>.*?</think>", "", reply).rpartition("</think>")[2]
            assert why or (action == Reply(decision="accept") and SCRAPS[0] in spoken)


WHOLE = (
    '{"decision": "X"}',
    '```json\n{"decision": "X"}\n```',
    '**{"decision": "X"}**',
    '{"why": "a {b} \\" c", "decision": "X"}',
    '[{"decision": "X"}]',
    r'\boxed{{"decision": "X"}}',
    "{'decision': 'X'}",
    '{"Decision": "X",}',
    '{decision: "X"}',
    '{"decision": "X" // fair\n}',
    '{"answer": {"decision": "X"}}',
)
BROKEN = (
    '{"last": {"decision": "X"}}',
    '{"decision": "Xed"}',
    '{"why": "a "b" c", "decision": "X"}',
    '{"decision": X}',
    '{"x": \'{\', "decision": "X"}',
)
THOUGHTS = ("<think>X</think>", "[THINK]X[/THINK]", "<thinking>hm X</thinking>")
OTHERS = ('{"decision": "accept" or "reject"}', "I think {a, b} so", ":}", "it's", '"ok"', "{x}")


def test_last_attempt_is_read_unless_ambiguous() -> None:
    """Random replies of complete and broken answers, thoughts, quotations and words."""
    for seed in range(3):
        rng = random.Random(seed)  # noqa: S311 - no secret
        read = 0
        for _ in range(300):
            parts: list[str] = []
            tried: list[tuple[bool, str]] = []
            for _ in range(rng.randint(1, 4)):
                word = rng.choice(["accept", "reject"])
                complete = rng.random() < 0.5
                part = rng.choice(WHOLE if complete else BROKEN).replace("X", word)
                match rng.choice(["tried", "tried", "thought", "quoted", "other"]):
                    case "tried":
                        tried.append((complete, word))
                    case "thought":
                        part = rng.choice(THOUGHTS).replace("X", part)
                    case "quoted":
                        part = f"They say: {quoted(part)}"
                    case _:
                        part = rng.choice(OTHERS)
                parts.append(part)
            action, why = attempt("json", "\n".join(parts), ask(Reply))
            answered = {word for complete, word in tried if complete}
            read += action is not None
            assert why or (tried[-1][0] and {tried[-1][1]} == answered), parts
            assert why or action == Reply(decision=tried[-1][1]), parts
        assert read > 20


HOSTILE = {
    "braces": "{" * 200_000,
    "pairs": "{}" * 100_000,
    "broken pairs": '{"a" 1}' * 50_000,
    "nesting": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "backslashes": '{"' + "\\" * 400_000,
    "escaped quotes": '{"' + '\\"' * 200_000,
    "thoughts": "<think></think>" * 20_000,
    "ends of thoughts": "</think>" * 20_000,
    "blanks": "{" + " " * 400_000,
    "keys": '{"decision": "accept"}' + ' "decision"' * 30_000,
}


def test_number_of_objects_in_a_reply_is_limited() -> None:
    answer = '{"decision": "accept"}'
    assert CODECS["json"].read(answer + "{}" * 500, ask(Reply)) == Reply(decision="accept")
    assert (
        "more than 1,000 pairs of braces" in attempt("json", answer + "{}" * 2_000, ask(Reply))[1]
    )


def test_large_hostile_replies_are_read_or_rejected() -> None:
    """Regression: each took minutes when a reader scanned it repeatedly."""
    for kind in HOSTILE:
        for codec in ("json", "tagged"):
            request = ask(MessageOrProposal if codec == "tagged" else Reply)
            read, why = attempt(codec, HOSTILE[kind], request)
            assert 0 < len(why) < 200 or read == Reply(decision="accept")
