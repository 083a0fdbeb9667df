"""The check of processes: a match is the same in every process."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import zip_longest

import cheaptalk as ct
from cheaptalk.conformance.matches import (
    Broken,
    Stuck,
    allowed,
    played,
    root_cause,
    spec_check,
    time_limit,
    variants,
)
from cheaptalk.conformance.play import seatings
from cheaptalk.rules import games
from cheaptalk.rules.errors import describe
from cheaptalk.styles import style_in

PROGRAM = "from cheaptalk.conformance.processes import main; main()"


@spec_check
def check_processes(game_spec: ct.GameSpec, seeds: Sequence[str]) -> None:
    """The same seeds produce identical matches in processes with different hash seeds.

    The check detects dependence on the order of a set of strings, on a global random generator, or
    on the clock. Games that other processes cannot import, such as games in a notebook, are
    skipped.
    """
    limit = allowed()
    with time_limit(0):  # each process has its own limit
        location = reference(game_spec)
        if location is None:
            return
        runs = [_start((location, str(limit), *seeds), hash_seed) for hash_seed in ("1", "2")]
        ended = [(run.communicate(), run.returncode) for run in runs]
    first, second = (_lines(printed, errors, status) for (printed, errors), status in ended)
    for line, other_line in zip_longest(first, second):
        if line != other_line:
            raise Broken(f"two processes play the same match differently: {line} and {other_line}")


def reference(game_spec: ct.GameSpec) -> str | None:
    """Return the name or ``MODULE:NAME`` by which other processes find a game spec, or None."""
    if game_spec.name in games() and games()[game_spec.name].rules is game_spec.rules:
        return game_spec.name
    package = game_spec.rules.__module__
    while package:
        names = vars(sys.modules[package]) if package in sys.modules else {}
        for name, thing in names.items():
            if isinstance(thing, ct.GameSpec) and thing.rules is game_spec.rules:
                return f"{package}:{name}"
        package = package.rpartition(".")[0]
    return None


def spec_at(location: str) -> ct.GameSpec:
    """Return a game spec, given the name of a registered game or a location ``MODULE:NAME``.

    Raises:
        CheaptalkError: no game has this name, the module cannot be imported, or the module contains
            no such game spec.
    """
    module, colon, name = location.partition(":")
    if not colon:
        try:
            return ct.get_game(location)
        except ct.rules.UnknownName as error:
            advice = f"to use a game that is not installed, name its module, as in {location}:SPEC"
            raise ct.CheaptalkError(f"{error}; {advice}") from None
    try:
        loaded = import_module(module)
    except Exception as error:
        raise ct.CheaptalkError(f"{module} cannot be imported: {describe(error)}") from error
    game_spec = getattr(loaded, name or "SPEC", None)
    if not isinstance(game_spec, ct.GameSpec):
        is_folder = loaded.__file__ is None
        advice = f"run this in the folder {module}" if is_folder else "write MODULE:NAME"
        raise ct.CheaptalkError(f"{module} has no game spec {name or 'SPEC'}; {advice}")
    return game_spec


def _start(arguments: Sequence[str], hash_seed: str) -> subprocess.Popen[str]:
    """Start a Python process that plays the matches with the given hash seed."""
    return subprocess.Popen(  # noqa: S603 - this Python
        [sys.executable, "-c", PROGRAM, *arguments],
        env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _lines(printed: str, errors: str, status: int) -> list[str]:
    """Return the output lines of a finished process; raise a violation if it failed."""
    if status:
        cause = ct.CheaptalkError((errors.strip().splitlines() or ["the process was killed"])[-1])
        raise Broken(f"another process failed to play the matches: {cause}") from cause
    return printed.splitlines()


def main() -> None:
    """Print the matches of a game; the arguments are the game, the time limit and the seeds."""
    location, limit, *seeds = sys.argv[1:]
    try:
        game_spec = spec_at(location)
        with time_limit(float(limit)):
            sys.stdout.writelines(f"{line}\n" for line in _played(game_spec, seeds))
    except (Exception, Stuck) as error:
        raise SystemExit(root_cause(error)) from error


def _played(game_spec: ct.GameSpec, seeds: Sequence[str]) -> Iterator[str]:
    for label, game in variants(game_spec).items():
        for seed in seeds:
            for strategy, seats in seatings(game_spec, game, single=False):
                match = played(game_spec, game, seed, dict.fromkeys(seats, strategy))
                for line in _observations(game_spec, match):
                    yield json.dumps([strategy.name, label, f"seed {seed}", *line])


def _observations(game_spec: ct.GameSpec, match: ct.Table) -> Iterator[list[str]]:
    """Yield all observations, with their text in the default style, and the outcome."""
    for actor, heard in match.heard.items():
        renderer = style_in(game_spec).to(match.game, actor)
        for event, action in heard:
            yield [actor, repr(event), renderer.tell(event), "" if action is None else repr(action)]
    yield [repr(match.outcome)]
