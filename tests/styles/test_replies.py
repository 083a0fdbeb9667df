"""Replies as models write them, each with the one answer in it or the reason that there is none.

None may be read as what it does not say. Some that a person would understand are asked again: those
are marked as clear.
"""

import itertools
import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.games.bargaining.events import Reply, SpokenOffer
from cheaptalk.games.deal_or_no_deal.events import MessageOrProposal
from cheaptalk.games.persuasion.events import Pitch
from cheaptalk.rules import Action, Ask, Event
from cheaptalk.styles import CODECS, Unparsable, quoted

REPLIES = [
    pytest.param(one, id=f"{path.stem}: {one['name']}")
    for path in sorted((Path(__file__).parent / "replies").iterdir())
    for one in yaml.safe_load(path.read_text(encoding="utf-8"))
]
ASKED: dict[str, tuple[str, type[Action]]] = {
    "decision": ("json", Reply),
    "offer": ("json", SpokenOffer),
    "pitch": ("json", Pitch),
    "move": ("json", MessageOrProposal),
    "tagged": ("tagged", MessageOrProposal),
}


def ask(action: type[Action]) -> Ask:
    return Ask("alice", action, Event())


def attempt(codec: str, reply: str, asked: Ask, **cut: bool) -> tuple[Action | None, str]:
    """What is read in a reply, or why nothing is."""
    try:
        return CODECS[codec].read(reply, asked, **cut), ""
    except Unparsable as problem:
        return None, str(problem)


@pytest.mark.parametrize("one", REPLIES)
def test_a_reply_is_read_as_what_it_says_or_refused_with_the_reason(one: dict[str, Any]) -> None:
    codec, action = ASKED[one["asked"]]
    if "reads" in one:
        assert CODECS[codec].read(one["reply"], ask(action)) == action(**one["reads"])
    else:
        with pytest.raises(Unparsable) as refused:
            CODECS[codec].read(one["reply"], ask(action))
        assert one["why"] in str(refused.value)


def test_only_what_is_asked_again_is_marked_as_clear_all_the_same() -> None:
    listed: list[Any] = [one.values[0] for one in REPLIES]
    assert len(listed) >= 60
    assert all("why" in one for one in listed if one.get("clear"))


@pytest.mark.parametrize(
    ("reply", "is_read"),
    [
        ('{"decision": "accept"}', True),
        ('```json\n{"decision": "accept"}\n```', True),
        ('I think so. {"decision": "accept"}\n\n   \n', True),
        ('{"decision": "accept"}\n\nThis is more than I would get by', True),
        ('{"decision": "accept"} Wait, on second', False),
        ('One could say {"decision": "accept"}, but', False),
        ('{"decision": "acc', False),
        ('<think>Perhaps {"decision": "accept"}', False),
        ("", False),
    ],
)
def test_a_reply_that_was_cut_off_counts_if_its_answer_is_its_end(
    reply: str, is_read: bool
) -> None:
    if is_read:
        found = CODECS["json"].read(reply, ask(Reply), cut_off=True)
        assert found == Reply(decision="accept")
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
    st.builds(MessageOrProposal, books=st.integers(0, 9), hats=st.integers(0, 9),
              balls=st.integers(0, 9)),
)  # fmt: skip


@given(actions, prose, prose)
def test_no_words_make_another_answer_of_what_is_written(
    action: Action, before: str, after: str
) -> None:
    written = CODECS["json"].write(action)
    assert CODECS["json"].read(written, ask(type(action))) == action
    read, why = attempt("json", f"{before}{written}{after}", ask(type(action)))
    assert why or read == action


@given(actions, st.data())
def test_what_is_cut_anywhere_is_never_another_answer(action: Action, data: st.DataObject) -> None:
    written = CODECS["json"].write(action)
    end = data.draw(st.integers(0, len(written) - 1))
    with pytest.raises(Unparsable):
        CODECS["json"].read(written[:end], ask(type(action)))


@given(actions, words, st.sampled_from(["json", "tagged"]), st.booleans())
def test_nothing_but_unreadable_is_ever_raised(
    action: Action, reply: str, codec: str, cut_off: bool
) -> None:
    asked = ask(MessageOrProposal if codec == "tagged" else type(action))
    for text in (reply, reply + CODECS["json"].write(action) + reply):
        read, why = attempt(codec, text, asked, cut_off=cut_off)
        assert bool(why) != isinstance(read, asked.action)


SCRAPS = ['{"decision": "accept"}', '{"decision":', "{", "}", '"', "<think>", "</think>", "\\", ","]


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_scraps_make_no_answer_that_was_not_written(length: int) -> None:
    for scraps in itertools.product(SCRAPS, repeat=length):
        reply = "".join(scraps)
        found, why = attempt("json", reply, ask(Reply))
        spoken = re.sub("<think>.*?</think>", "", reply).rpartition("</think>")[2]
        assert why or (found == Reply(decision="accept") and SCRAPS[0] in spoken)


WHOLE = (
    '{"decision": "X"}', '```json\n{"decision": "X"}\n```', '**{"decision": "X"}**',
    '{"why": "a {b} \\" c", "decision": "X"}', '[{"decision": "X"}]',
    r'\boxed{{"decision": "X"}}',
)  # fmt: skip
BROKEN = (
    "{'decision': 'X'}", '{"decision": "X",}', '{decision: "X"}', '{"last": {"decision": "X"}}',
    '{"decision": "Xed"}', '{"decision": "X" // ok\n}', '{"why": "a "b" c", "decision": "X"}',
    '{"decision": X}', '{"x": \'{\', "decision": "X"}',
)  # fmt: skip
THOUGHTS = ("<think>X</think>", "[THINK]X[/THINK]", "<thinking>hm X</thinking>")
OTHERS = ('{"decision": "accept" or "reject"}', "I think {a, b} so", ":}", "it's", '"ok"', "{x}")


@pytest.mark.parametrize("seed", range(20))
def test_the_last_thing_tried_is_what_is_read_if_nothing_else_was_answered(seed: int) -> None:
    """Random replies of whole and broken answers, thoughts, quotations and words."""
    luck = random.Random(seed)  # noqa: S311 - no secret
    read = 0
    for _ in range(300):
        parts: list[str] = []
        tried: list[tuple[bool, str]] = []
        for _ in range(luck.randint(1, 4)):
            word = luck.choice(["accept", "reject"])
            whole = luck.random() < 0.5
            part = luck.choice(WHOLE if whole else BROKEN).replace("X", word)
            match luck.choice(["tried", "tried", "thought", "quoted", "other"]):
                case "tried":
                    tried.append((whole, word))
                case "thought":
                    part = luck.choice(THOUGHTS).replace("X", part)
                case "quoted":
                    part = f"They say: {quoted(part)}"
                case _:
                    part = luck.choice(OTHERS)
            parts.append(part)
        found, why = attempt("json", "\n".join(parts), ask(Reply))
        answered = {word for whole, word in tried if whole}
        read += found is not None
        assert why or (tried[-1][0] and {tried[-1][1]} == answered), parts
        assert why or found == Reply(decision=tried[-1][1]), parts
    assert read > 20


HOSTILE = {
    "braces": "{" * 1_000_000,
    "pairs": "{}" * 300_000,
    "broken pairs": '{"a" 1}' * 200_000,
    "nesting": '{"a":' * 200_000 + "1" + "}" * 200_000,
    "backslashes": '{"' + "\\" * 2_000_000,
    "escaped quotes": '{"' + '\\"' * 1_000_000,
    "thoughts": "<think></think>" * 100_000,
    "ends of thoughts": "</think>" * 200_000,
    "blanks": "{" + " " * 2_000_000,
    "keys": '{"decision": "accept"}' + ' "decision"' * 150_000,
}


def test_a_reply_holds_only_so_many_objects() -> None:
    answer = '{"decision": "accept"}'
    assert CODECS["json"].read(answer + "{}" * 500, ask(Reply)) == Reply(decision="accept")
    assert (
        "more than 1,000 pairs of braces" in attempt("json", answer + "{}" * 2_000, ask(Reply))[1]
    )


@pytest.mark.parametrize("kind", HOSTILE)
def test_two_megabytes_of_spite_are_read_or_refused(kind: str) -> None:
    """Each took minutes where a reader went over it more than once."""
    for codec in ("json", "tagged"):
        asked = ask(MessageOrProposal if codec == "tagged" else Reply)
        read, why = attempt(codec, HOSTILE[kind], asked)
        assert 0 < len(why) < 200 or read == Reply(decision="accept")
