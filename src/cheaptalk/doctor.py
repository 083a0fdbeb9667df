"""What is installed, configured and stored, and what is missing for what."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import cheaptalk as ct
from cheaptalk.models.model_strings import IN_PROCESS_NEEDS
from cheaptalk.rules import counted


class Diagnosis(NamedTuple):
    """What was looked at.

    Attributes:
        what: it is.
        ok: whether it is well.
        detail: what there is to say of it, and the cure where it is not well.
    """

    what: str
    ok: bool
    detail: str


PATIENCE = 120.0
"""Seconds that the import of an extra's modules may take."""
IMPORTING = """
import importlib, json, os, sys
told = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
for name in sys.argv[1:]:
    print(json.dumps({"module": name}), file=told, flush=True)
    try:
        version = str(getattr(importlib.import_module(name), "__version__", "of unknown version"))
        found = {"version": version}
    except BaseException as error:
        absent = isinstance(error, ModuleNotFoundError) and error.name == name
        first = (str(error).splitlines() or [""])[0]
        found = {"absent": absent, "problem": f"{type(error).__name__}: {first}"}
    print(json.dumps(found), file=told, flush=True)
"""
"""A program that imports modules one after the other and says of each how that went."""


WEB = ("argon2", "babel", "fastapi", "itsdangerous", "starlette", "uvicorn")


def extras() -> dict[str, tuple[str, ...]]:
    """The modules that each optional part of the installation needs."""
    return {
        "analysis": ("numpy", "polars", "scipy", *WEB),
        "figures": ("reportlab", "svglib"),
        "learn": ("flax", "jax", "optax", "safetensors"),
        "predict": ("catboost", "sklearn", "xgboost"),
        "web": WEB,
        "lm": IN_PROCESS_NEEDS,
        "tune": ("datasets", "peft", "trl"),
        "postgres": ("psycopg",),
        "ray": ("ray",),
        "archive": ("fsspec",),
        "pettingzoo": ("gymnasium", "pettingzoo"),
        "openspiel": ("pyspiel",),
        "inspect": ("inspect_ai",),
        "openenv": ("openenv",),
        "mcp": ("mcp",),
        "hub": ("huggingface_hub",),
        "telemetry": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
        "tensorboard": ("tensorboardX",),
        "wandb": ("wandb",),
        "mlflow": ("mlflow",),
    }


class Imported(NamedTuple):
    """How the import of a module went.

    Attributes:
        version: its version; None where it cannot be imported.
        absent: whether it is not installed.
        problem: why it cannot be imported although it is installed.
    """

    module: str
    version: str | None = None
    absent: bool = False
    problem: str | None = None


def imported(modules: Sequence[str]) -> list[Imported]:
    """Import modules in a process of their own, whatever they do to it, and say how that went."""
    words = [sys.executable, "-P", "-c", IMPORTING, *modules]
    try:
        done = subprocess.run(  # noqa: S603 - our own program and names
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
            check=False, env=os.environ,
        )  # fmt: skip
        told, end = done.stdout, f"it ends the process with status {done.returncode}"
    except subprocess.TimeoutExpired as late:
        told = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        end = f"it did not end within {PATIENCE:g} seconds"
    lines = [json.loads(line) for line in told.splitlines()]
    found = {
        one["module"]: Imported(one["module"], **(result or {"problem": end}))
        for one, result in zip(lines[::2], [*lines[1::2], None], strict=False)
    }
    return [found.get(one, Imported(one, problem="it was not tried")) for one in modules]


def located(modules: Sequence[str]) -> list[Imported]:
    """Find modules without importing them, which takes milliseconds."""
    return [
        Imported(one, version="is installed") if _is_there(one) else Imported(one, absent=True)
        for one in modules
    ]


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # what it is a part of is not there, or is broken
        return False


def examine_installation(*, importing: bool = True) -> list[Diagnosis]:
    """Look at Python, the optional parts, plug-ins, and the keys of providers.

    Args:
        importing: import the modules of optional parts, in processes of their own, which can take
            half a minute. Otherwise only find them, and leave out the plug-ins that need them.
    """
    checks = [
        Diagnosis("python", sys.version_info >= (3, 11), platform.python_version()),
        Diagnosis("cheaptalk", True, ct.__version__),
        Diagnosis("sqlite", True, sqlite3.sqlite_version),
    ]
    with ThreadPoolExecutor() as pool:
        known = extras()
        look = imported if importing else located
        parts = dict(zip(known, pool.map(look, known.values()), strict=True))
    broken = _broken_plugins(
        analysis=importing and _works(parts["analysis"]),
        learning=importing and _works(parts["learn"]),
    )
    checks += [Diagnosis("games", bool(ct.rules.games()), ", ".join(ct.rules.games())), *broken]
    checks += [
        Diagnosis(f"[{extra}]", _works(modules), "; ".join(_of_extra(extra, modules)))
        for extra, modules in parts.items()
    ]
    for name, provider in ct.models.PROVIDERS.items():
        found = provider.secret is not None
        if found or provider.needs_key:
            trouble = provider.trouble if found else f"{provider.key} is not set"
            checks.append(Diagnosis(name, not trouble, trouble or f"{provider.key} is set"))
    return checks


def examine_store(
    where: Path | str,
    *,
    deep: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> list[Diagnosis]:
    """Look at a store: what is hurt in it, and last what there is to say of it as a whole.

    Args:
        where: its file or URL.
        deep: read everything in it, and replay every match that ended.
        progress: told how many matches were read deeply, and of how many.
    """
    name = ct.records.store_name(where)
    try:
        try:
            opened = ct.Store.open(where)
        except ct.records.NoStore:
            said = f"{name} does not exist yet; the first run makes it"
            return [Diagnosis("store", True, said)]
        with opened as store:
            if deep:
                return _examined(ct.records.examine(store, progress), name)
            problem = store.check()
            short = [] if problem else store.shortfalls()
            count = sum(sum(one.counts.values()) for one in store.studies())
    except ct.CheaptalkError as error:
        return [Diagnosis("store", False, str(error))]
    sound = f"{name} is sound and holds {counted(count, 'match')}"
    if short:
        lacking = [Diagnosis(f"study {study}", False, why) for study, why in short]
        detail = f"{name} lacks matches of {counted(len(short), 'study')}"
        return [*lacking, Diagnosis("store", False, detail)]
    return [Diagnosis("store", problem is None, problem or sound)]


def _examined(found: ct.records.Integrity, where: str) -> list[Diagnosis]:
    hurts = [Diagnosis(hurt.what, False, hurt.problem) for hurt in found.hurts]
    repeated = [
        Diagnosis(f"match {reply.call.match_id}", False, str(reply)) for reply in found.repeated
    ]
    return [*hurts, *repeated, Diagnosis("store", not hurts, f"{where} {_judged(found)}")]


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
            ct.arrays.ARRAYS, ct.judges.RUBRICS, ct.learning.NETWORKS,
            ct.records.imports.IMPORTERS, ct.studies.QUIZZES, *ct.rules.Registry.known,
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
    return [Diagnosis("plug-in", False, one) for one in dict.fromkeys([*said, *unknown])]


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
