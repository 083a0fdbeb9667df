"""Digests of Python players: which changes make a player a new player."""

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

from cheaptalk.players import PlayerWarning, code_digest


def player(source: str, name: str = "mine") -> Any:
    """Return an object that a user's program defines."""
    variables: dict[str, Any] = {"__name__": "program_of_a_user"}
    exec(source, variables)  # noqa: S102 - the source is written below
    return variables[name]


GLOBAL = """
SHARE = 0.5
def mine(request): return SHARE
"""
HELPER = """
SHARE = 0.5
def helper(): return SHARE
def mine(request): return [helper() for _ in request]
"""
MUTUAL = """
def one(n): return two(n)
def two(n): return one(n - 1)
def mine(request): return one(2)
"""
CLOSURE = """
def make(share):
    def mine(request): return share
    return mine
mine = make(0.5)
"""
PARTIAL = """
from functools import partial
def play(request, share): return share
mine = partial(play, share=0.5)
"""
WRAPPED = """
from functools import lru_cache
mine = lru_cache(lambda request: 0.5)
"""
CLASS = """
class Base:
    size = 0.5
    def size_of(self): return self.size + 1
class mine(Base):
    def __call__(self, request): return self.size_of()
"""
OBJECT = """
class Bot:
    def __init__(self, share): self.share = share
    def __call__(self, request): return self.share
mine = Bot(0.5)
"""
DATA = """
from dataclasses import dataclass
from enum import Enum
class Size(Enum): BIG = 3
@dataclass
class Bot:
    share: float = 0.5
    def __call__(self, request): return Size, self.share
mine = Bot()
"""
CHANGES = [
    (GLOBAL, "0.5", "0.6"),
    (GLOBAL, "0.5", "{'a': [1, 2]}"),
    (HELPER, "0.5", "0.6"),
    (HELPER, "return SHARE", "return SHARE + 1"),
    (MUTUAL, "n - 1", "n - 2"),
    (CLOSURE, "0.5", "0.6"),
    (PARTIAL, "0.5", "0.6"),
    (PARTIAL, "return share", "return share + 1"),
    (WRAPPED, "0.5", "0.6"),
    (CLASS, "0.5", "0.6"),
    (CLASS, "self.size + 1", "self.size + 2"),
    (OBJECT, "0.5", "0.6"),
    (f"{OBJECT}mine = mine.__call__", "0.5", "0.6"),
    (DATA, "0.5", "0.6"),
    (DATA, "BIG = 3", "BIG = 4"),
    ("def mine(request, share=0.5): return share", "0.5", "0.6"),
    ("def mine(request, *, share=0.5): return share", "0.5", "0.6"),
    ("mine = lambda request: [item == 'a' for item in request]", "'a'", "'b'"),
]


@pytest.mark.parametrize(("source", "before", "after"), CHANGES)
def test_change_makes_another_player(source: str, before: str, after: str) -> None:
    assert source.count(before) == 1
    assert code_digest(player(source)) == code_digest(player(source))
    assert code_digest(player(source)) != code_digest(player(source.replace(before, after)))


@pytest.mark.parametrize(
    ("source", "before", "after"),
    [
        (f"OTHER = 1{GLOBAL}", "OTHER = 1", "OTHER = 2"),
        (GLOBAL, "return SHARE", "return SHARE  # a comment"),
        (GLOBAL, "def mine", "\n\ndef mine"),
        ("def mine(request):\n 'A docstring.'\n return 1", "A docstring", "Another docstring"),
        (GLOBAL.replace("0.5", "{'a', 'b', 'c'}"), "'a', 'b', 'c'", "'c', 'b', 'a'"),
    ],
)
def test_other_changes_keep_player(source: str, before: str, after: str) -> None:
    assert code_digest(player(source)) == code_digest(player(source.replace(before, after)))


def test_arrays_count_by_content() -> None:
    pytest.importorskip("numpy")
    source = f"import numpy as np{GLOBAL}"
    digests = [
        code_digest(player(source.replace("0.5", array)))
        for array in ("np.arange(3) * 2", "np.array([0, 2, 4])", "np.array([0, 2, 5])")
    ]
    assert digests[0] == digests[1] != digests[2]


def test_module_of_user_counts_by_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "settings_of_a_user.py").write_text("SHARE, OTHER = 0.5, 1\n")
    settings = __import__("settings_of_a_user")
    mine = player("import settings_of_a_user\ndef mine(request): return settings_of_a_user.SHARE")
    before = code_digest(mine)
    monkeypatch.setattr(settings, "OTHER", 2)
    assert code_digest(mine) == before
    monkeypatch.setattr(settings, "SHARE", 0.6)
    assert code_digest(mine) != before


def test_file_of_module_imported_during_call_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "constants_of_a_user.py"
    file.write_text("SHARE = 0.5\n")
    mine = player(
        "def mine(request):\n import constants_of_a_user\n return constants_of_a_user.SHARE"
    )
    before = code_digest(mine)
    file.write_text("SHARE = 0.6\n")
    assert code_digest(mine) != before


def test_unreadable_values_are_named_unless_versioned() -> None:
    mine = player(f"import threading{GLOBAL.replace('0.5', 'threading.Lock()')}")
    message = r'^"mine" reads SHARE \(lock\): .*; set mine.version = "1"'
    with pytest.warns(PlayerWarning, match=message):
        before = code_digest(mine)
    mine.version = "1"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert code_digest(mine) != before
    bot = player(OBJECT)
    bot.share = threading.Lock()
    with pytest.warns(PlayerWarning, match=r'"Bot" reads Bot.share \(lock\)'):
        code_digest(bot)


def test_deeply_nested_code_and_data_are_read() -> None:
    depth = sys.getrecursionlimit()
    calls = "".join(f"def f{n}(): return f{n + 1}()\n" for n in range(depth))
    nest = f"SHARE = []\nfor _ in range({depth}): SHARE = [SHARE]\n"
    source = f"{nest}{calls}def f{depth}(): return SHARE, 1\ndef mine(request): return f0()"
    changed = source.replace("SHARE, 1", "SHARE, 2"), source.replace("SHARE = []", "SHARE = 3")
    assert len({code_digest(player(text)) for text in (source, *changed)}) == 3


def test_versioned_player_counts_by_code_and_version() -> None:
    def digest(source: str, version: str = "1") -> str:
        mine = player(source)
        mine.version = version
        return code_digest(mine)

    assert digest(HELPER) == digest(HELPER.replace("0.5", "0.6"))
    assert digest(HELPER) != digest(HELPER.replace("return SHARE", "return SHARE + 1"))
    assert digest(HELPER) != digest(HELPER, "2")
    assert digest(OBJECT) == digest(OBJECT.replace("0.5", "0.6"))
    assert digest(OBJECT) != digest(OBJECT.replace("return self.share", "return 1"))


def test_draws_of_a_random_generator_keep_player() -> None:
    mine = player(f"import random{GLOBAL.replace('0.5', 'random.Random(1)')}")
    with pytest.warns(PlayerWarning, match=r"SHARE \(Random\)"):
        before = code_digest(mine)
    mine.__globals__["SHARE"].random()
    with pytest.warns(PlayerWarning):
        assert code_digest(mine) == before


def test_other_process_computes_same_digest(tmp_path: Path) -> None:
    script = "\n".join(
        [
            "import cheaptalk as ct",
            "WORDS = {'fair', 'firm', 'soft'}",
            "class Bot:",
            "    def __init__(self): self.words = {word: len(word) for word in sorted(WORDS)}",
            "    def __call__(self, request): return request in {'x', 'y', 'z'}, WORDS, ct.Action",
            "def mine(request): return Bot()(request)",
        ]
    )
    shown = "print(*map(ct.players.code_digest, [mine, Bot, Bot()]))"
    (tmp_path / "script.py").write_text(f"{script}\n{shown}\n")
    here = [code_digest(item) for item in player(f"{script}\nmine = mine, Bot, Bot()")]
    there = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")],
        env=os.environ | {"PYTHONHASHSEED": "5"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert there.stdout.split() == here
