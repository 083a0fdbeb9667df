"""The law of processes: a match is the same wherever it is played."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import zip_longest

from cheaptalk.conformance.matches import Broken, box_law, played, root_cause, variants
from cheaptalk.conformance.strategies import seatings
from cheaptalk.conformance.time_limit import Stuck, allowed, time_limit
from cheaptalk.rules import CheaptalkError, GameBox, Table, UnknownName, game_box, games
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
    limit = allowed()
    with time_limit(0):  # the processes have one of their own
        where = reference(box)
        if where is None:
            return
        runs = [_start(where, limit, tuple(seeds), hash_seed) for hash_seed in ("1", "2")]
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
        CheaptalkError: no game has this name; there is no such module, it fails, or it holds no box
            of this name.
    """
    module, colon, name = where.partition(":")
    if not colon:
        try:
            return game_box(where)
        except UnknownName as error:
            cure = f"one that is not installed is named by its module, as in {where}:BOX"
            raise CheaptalkError(f"{error}; {cure}") from None
    try:
        held = import_module(module)
    except Exception as error:
        raise CheaptalkError(f"{module} cannot be imported: {describe(error)}") from error
    box = getattr(held, name or "BOX", None)
    if not isinstance(box, GameBox):
        is_folder = held.__file__ is None
        cure = f"go into the folder {module}" if is_folder else "write MODULE:NAME"
        raise CheaptalkError(f"{module} holds no box called {name or 'BOX'}; {cure}")
    return box


def _start(where: str, limit: float, seeds: Sequence[str], hash_seed: str) -> subprocess.Popen[str]:
    """A process that plays the matches."""
    return subprocess.Popen(  # noqa: S603 - this Python
        [sys.executable, "-c", PROGRAM, where, str(limit), *seeds],
        env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _lines(printed: str, said: str, status: int) -> list[str]:
    """What a process printed that ended so."""
    if status:
        cause = CheaptalkError((said.strip().splitlines() or ["it was killed"])[-1])
        raise Broken(f"another process fails at the matches: {cause}") from cause
    return printed.splitlines()


def main() -> None:
    """Play the matches of a game at the place, and by the seeds, of the command line."""
    where, limit, *seeds = sys.argv[1:]
    try:
        box = box_at(where)
        with time_limit(float(limit)):
            sys.stdout.writelines(f"{line}\n" for line in _played(box, seeds))
    except (Exception, Stuck) as error:
        raise SystemExit(root_cause(error)) from error


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
