"""The command that checks the installation: doctor."""

from __future__ import annotations

import platform
import sqlite3
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.extras import Imported, extras, imported
from cheaptalk.cli.shared.loading import CommandContext
from cheaptalk.cli.shared.lookup import opened
from cheaptalk.cli.shared.options import DEFAULT_STORE, JsonOption, StoreOption
from cheaptalk.cli.shared.printing import err, out, print_json, say
from cheaptalk.cli.shared.progress import StatusLine
from cheaptalk.cli.shared.sentences import counted

Diagnosis = tuple[str, bool, str]
"""What was looked at, whether it is well, and what there is to say of it."""


def doctor(
    context: CommandContext,
    store: StoreOption = DEFAULT_STORE,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Read everything in the store, and replay every match that ended."
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Check the installation and the store, and say what is missing for what."""
    checks: list[Diagnosis] = [
        ("python", sys.version_info >= (3, 11), platform.python_version()),
        ("cheaptalk", True, ct.__version__),
        ("sqlite", True, sqlite3.sqlite_version),
    ]
    with err.status("importing what optional parts need"), ThreadPoolExecutor() as pool:
        known = extras()
        parts = dict(zip(known, pool.map(imported, known.values()), strict=True))
    broken = _broken_plugins(analysis=_works(parts["analysis"]), learning=_works(parts["learn"]))
    checks += [("games", bool(ct.rules.games()), ", ".join(ct.rules.games())), *broken]
    for extra, modules in parts.items():
        checks.append((f"[{extra}]", _works(modules), "; ".join(_of_extra(extra, modules))))
    for name, provider in ct.models.PROVIDERS.items():
        found = provider.secret is not None
        if found or provider.needs_key:
            trouble = provider.trouble if found else f"{provider.key} is not set"
            checks.append((name, not trouble, trouble or f"{provider.key} is set"))
    checks += [("settings", True, one) for one in context.defaults.sources()]
    checks += _examined(store) if deep else [_store_check(store)]
    if json:
        print_json([{"what": what, "ok": ok, "detail": detail} for what, ok, detail in checks])
    else:
        for what, ok, detail in checks:
            out.print("[green]ok[/]  " if ok else "[yellow]--[/]  ", end="")
            say(f"{what}: {detail}")
    if not checks[-1][1]:
        raise typer.Exit(1)


def _works(modules: list[Imported]) -> bool:
    return all(one.version is not None for one in modules)


def _of_extra(extra: str, modules: list[Imported]) -> Iterator[str]:
    """What there is to say of an optional part: its versions, or what is wrong and the cure."""
    absent = [one.module for one in modules if one.absent]
    for one in modules:
        if one.problem and not one.absent:
            again = f'pip install --force-reinstall "cheaptalk[{extra}]"'
            yield f"{one.module} is installed and cannot be imported ({one.problem}): {again}"
    if absent:
        yield f'missing {", ".join(absent)}: pip install "cheaptalk[{extra}]"'
    if _works(modules):
        yield ", ".join(f"{one.module} {one.version}" for one in modules)


def _broken_plugins(*, analysis: bool, learning: bool) -> list[Diagnosis]:
    """What installed packages register and cannot be used, from looking at everything anew.

    Args:
        analysis, learning: whether recipes and trackers, and learning algorithms, can be looked at,
            which need these optional parts.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ct.rules.PluginWarning)
        # These first: a registry is known once the package that has it is loaded.
        registries: set[ct.rules.Registry[Any]] = {
            ct.arrays.ARRAYS, ct.judges.RUBRICS, ct.records.imports.IMPORTERS, ct.studies.QUIZZES,
            *ct.rules.Registry.known,
        }  # fmt: skip
        if analysis:
            registries |= {ct.reports.RECIPES, ct.adapters.TRACKERS}
        if learning:
            registries.add(ct.learning.ALGORITHMS)
        for registry in sorted(registries, key=lambda one: one.group):
            registry.forget()
            len(registry)
        ct.rules.games()
    looked = {one.group for one in registries}
    groups = sorted({"cheaptalk.algorithms", "cheaptalk.recipes", "cheaptalk.trackers", *looked})
    points = entry_points()
    unknown = [
        f'"{point.name}" ({point.value}) is registered under {ct.rules.suggest(group, groups)}, '
        "where nobody looks: mend, upgrade or uninstall its package"
        for group in sorted(points.groups)
        if group.startswith("cheaptalk.") and group not in groups
        for point in points.select(group=group)
    ]
    said = [str(one.message) for one in caught if issubclass(one.category, ct.rules.PluginWarning)]
    return [("plug-in", False, one) for one in dict.fromkeys([*said, *unknown])]


def _store_check(where: str) -> Diagnosis:
    try:
        with opened(where) as store:
            if store is None:
                return ("store", True, f"{where} does not exist yet; the first run makes it")
            problem = store.check()
            count = sum(sum(one.counts.values()) for one in store.studies())
    except ct.CheaptalkError as error:
        return ("store", False, str(error))
    sound = f"{where} is sound and holds {counted(count, 'match')}"
    return ("store", problem is None, problem or sound)


def _examined(where: str) -> list[Diagnosis]:
    """What is hurt in a store, and last what there is to say of the store as a whole."""
    try:
        with opened(where) as store, StatusLine().shown(f"{where}: reading every row") as show:
            if store is None:
                return [_store_check(where)]
            found = ct.records.examine(
                store, lambda done, of: show(f"{where}: {done:,} of {counted(of, 'match')} read")
            )
    except ct.CheaptalkError as error:
        return [("store", False, str(error))]
    hurts = [(hurt.what, False, hurt.problem) for hurt in found.hurts]
    return [*hurts, ("store", not hurts, f"{where} {_judged(found)}")]


def _judged(found: ct.records.Integrity) -> str:
    """What examining a store has come to, and the cure where there is need of one."""
    counts = (
        f"{counted(found.rows[table], name)}"
        for table, name in (("matches", "match"), ("calls", "open call"))
    )
    replayed = f"{counted(found.replayed, 'match')} replayed in {found.seconds:.1f} s"
    read = f"{' and '.join(counts)} read, {replayed}"
    if found.other_rules:
        read += f"; {counted(found.other_rules, 'match')} of other rules than those installed not"
    if not found.hurts:
        return f"is sound: {read}"
    n = found.hurt_matches
    hurt = counted(n, "match") if n else "no match, but what stands above is"
    return (
        f"is damaged: {hurt} hurt ({read}); restore a copy of the store: resume does not play "
        "again what has ended, hurt or not"
    )
