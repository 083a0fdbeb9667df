"""The law of processes: a match is the same wherever it is played."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import zip_longest

from cheaptalk.conformance.matches import Broken, box_law, played, variants
from cheaptalk.conformance.strategies import seatings
from cheaptalk.rules import CheaptalkError, GameBox, Table, game_box, games
from cheaptalk.rules.errors import describe
from cheaptalk.styles import style_in

PROGRAM = "from cheaptalk.conformance.processes import main; main()"


@box_law
def check_processes(box: GameBox, seeds: Sequence[str]) -> None:
    """The same seeds play the same matches, word for word, in processes with other hash seeds.

    The order of a set of texts, a global random generator and whatever is read off the clock
    would show. A game that no module holds, as one that a notebook makes, is known to no other
    process and left out.
    """
    where = reference(box)
    if where is None:
        return
    runs = [_start(where, tuple(seeds), hash_seed) for hash_seed in ("1", "2")]
    ended = [(run.communicate(), run.returncode) for run in runs]
    one, other = (_lines(printed, said, status) for (printed, said), status in ended)
    for mine, theirs in zip_longest(one, other):
        if mine != theirs:
            raise Broken(f"two processes play one match in two ways: {mine} and {theirs}")


def reference(box: GameBox) -> str | None:
    """Where other processes find the box: a registered game's name or ``MODULE:NAME``, if any."""
    if box.name in games() and games()[box.name].rules is box.rules:
        return box.name
    package = box.rules.__module__
    while package:
        held = vars(sys.modules[package]) if package in sys.modules else {}
        for name, thing in held.items():
            if isinstance(thing, GameBox) and thing.rules is box.rules:
                return f"{package}:{name}"
        package = package.rpartition(".")[0]
    return None


def box_at(where: str) -> GameBox:
    """The box of a registered game, or what stands in a module as ``MODULE:NAME``.

    Raises:
        UnknownName: no game has this name.
        CheaptalkError: there is no such module, it fails, or it holds no box of this name.
    """
    module, colon, name = where.partition(":")
    if not colon:
        return game_box(where)
    try:
        box = getattr(import_module(module), name or "BOX", None)
    except Exception as error:
        raise CheaptalkError(f"{module} cannot be imported: {describe(error)}") from error
    if not isinstance(box, GameBox):
        raise CheaptalkError(f"{module} holds no box called {name or 'BOX'}; write MODULE:NAME")
    return box


def _start(where: str, seeds: Sequence[str], hash_seed: str) -> subprocess.Popen[str]:
    """A process that plays the matches."""
    return subprocess.Popen(  # noqa: S603 - this Python
        [sys.executable, "-c", PROGRAM, where, *seeds],
        env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _lines(printed: str, said: str, status: int) -> list[str]:
    """What a process printed that ended so."""
    if status:
        raise Broken(f"another process fails at the matches: {said.strip().splitlines()[-1]}")
    return printed.splitlines()


def main() -> None:
    """Play the matches of a game at the place, and by the seeds, of the command line."""
    where, *seeds = sys.argv[1:]
    sys.stdout.writelines(f"{line}\n" for line in _played(box_at(where), seeds))


def _played(box: GameBox, seeds: Sequence[str]) -> Iterator[str]:
    """Every strategy's matches, line by line."""
    for label, game in variants(box).items():
        for seed in seeds:
            for strategy, places in seatings(box, game, alone=False):
                match = played(box, game, seed, dict.fromkeys(places, strategy))
                yield from (
                    json.dumps([strategy.name, label, f"seed {seed}", *line])
                    for line in _told(box, match)
                )


def _told(box: GameBox, match: Table) -> Iterator[list[str]]:
    """All that happens in a match: as data and in the words of the default style."""
    for seat, heard in match.heard.items():
        teller = style_in(box).to(match.game, seat)
        for event, action in heard:
            yield [seat, repr(event), teller.tell(event), "" if action is None else repr(action)]
    yield [repr(match.outcome)]
