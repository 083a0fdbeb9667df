"""Diagnosis of the installation, the configuration and the store."""

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
from cheaptalk.models.local.files import NEEDED, PACKAGED, missing_files
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store.reader import StudySummary
from cheaptalk.rules import counted


class Diagnosis(NamedTuple):
    """The result of a check of a subject; after a failure, with details on how to fix it."""

    what: str
    ok: bool
    detail: str


IMPORT_TIMEOUT = 120.0
"""Timeout for importing the modules of an extra, in seconds."""
IMPORTING = """
import importlib, json, os, sys
output = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
for name in sys.argv[1:]:
    print(json.dumps({"module": name}), file=output, flush=True)
    try:
        version = str(getattr(importlib.import_module(name), "__version__", "of unknown version"))
        result = {"version": version}
    except BaseException as error:
        absent = isinstance(error, ModuleNotFoundError) and error.name == name
        first = (str(error).splitlines() or [""])[0]
        result = {"absent": absent, "problem": f"{type(error).__name__}: {first}"}
    print(json.dumps(result), file=output, flush=True)
"""
"""A program that imports modules one by one and reports the results."""
WEB = ("argon2", "babel", "fastapi", "itsdangerous", "starlette", "uvicorn")


def extras() -> dict[str, tuple[str, ...]]:
    """Return the modules of each optional extra."""
    return {
        "analysis": ("numpy", "pandas", "polars", "pyarrow", "scipy", *WEB),
        "figures": ("reportlab", "svglib"),
        "learn": ("flax", "jax", "optax", "safetensors"),
        "predict": ("catboost", "sklearn", "xgboost"),
        "web": WEB,
        "lm": NEEDED,
        "tune": ("accelerate", "peft"),
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
    """The result of importing a module: its version, or whether it is absent or why it failed."""

    module: str
    version: str | None = None
    absent: bool = False
    problem: str | None = None


def imported(modules: Sequence[str]) -> list[Imported]:
    """Import modules in a separate process, because imports may crash it."""
    command = [sys.executable, "-P", "-c", IMPORTING, *modules]
    try:
        completed = subprocess.run(  # noqa: S603 - our own program and names
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=IMPORT_TIMEOUT,
            check=False,
            env=os.environ,
        )
        output, end = completed.stdout, f"the import ends with status {completed.returncode}"
    except subprocess.TimeoutExpired as expired:
        stdout = expired.stdout or ""
        output = stdout.decode() if isinstance(stdout, bytes) else stdout
        end = f"the import did not finish within {IMPORT_TIMEOUT:g} seconds"
    lines = [json.loads(line) for line in output.splitlines()]
    results = {
        module["module"]: Imported(module["module"], **(result or {"problem": end}))
        for module, result in zip(lines[::2], [*lines[1::2], None], strict=False)
    }
    return [results.get(name, Imported(name, problem="not tried")) for name in modules]


def located(modules: Sequence[str]) -> list[Imported]:
    """Check within milliseconds whether modules are installed, without importing them."""
    return [
        Imported(name, version="is installed") if _is_there(name) else Imported(name, absent=True)
        for name in modules
    ]


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # the parent package is missing or broken
        return False


def examine_installation(*, importing: bool = True) -> list[Diagnosis]:
    """Check Python, optional extras, plugins and the providers' API keys.

    ``importing`` imports the modules of extras in separate processes, which can take half a minute.
    Otherwise modules are only located, and plugins of extras are skipped.
    """
    checks = [
        Diagnosis("python", sys.version_info >= (3, 11), platform.python_version()),
        Diagnosis("cheaptalk", True, ct.__version__),
        Diagnosis("sqlite", True, sqlite3.sqlite_version),
    ]
    with ThreadPoolExecutor() as pool:
        requirements = extras()
        find = imported if importing else located
        parts = dict(zip(requirements, pool.map(find, requirements.values()), strict=True))
    broken = _broken_plugins(
        analysis=importing and _works(parts["analysis"]),
        learning=importing and _works(parts["learn"]),
    )
    checks += [Diagnosis("games", bool(ct.rules.games()), ", ".join(ct.rules.games())), *broken]
    checks += [
        Diagnosis(f"[{extra}]", _works(modules), "; ".join(_of_extra(extra, modules)))
        for extra, modules in parts.items()
    ]
    for name in PACKAGED:
        problem = missing_files(name)
        checks.append(Diagnosis(name, not problem, problem or "is installed"))
    for name, provider in ct.models.PROVIDERS.items():
        has_key = provider.secret is not None
        if has_key or provider.needs_key:
            problem = provider.trouble if has_key else f"{provider.key} is not set"
            checks.append(Diagnosis(name, not problem, problem or f"{provider.key} is set"))
    return checks


def examine_store(
    where: Path | str,
    *,
    deep: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> list[Diagnosis]:
    """Check a store in a file or at a URL; return the problems, followed by a summary.

    ``deep`` reads the entire store and replays every ended match, calling ``progress`` with the
    numbers of checked matches and of all matches.
    """
    name = ct.records.store_name(where)
    try:
        try:
            opened = ct.Store.open(where)
        except ct.records.StoreNotFound:
            return [Diagnosis("store", True, f"{name} does not exist; the first run creates it")]
        with opened as store:
            if deep:
                return _examined(ct.records.examine(store, progress), name)
            problem = store.check()
            shortfalls = [] if problem else store.shortfalls()
            studies = store.studies()
            count = sum(sum(study.counts.values()) for study in studies)
            unready = [] if problem else [*_unready(store, studies)]
    except ct.CheaptalkError as error:
        return [Diagnosis("store", False, str(error))]
    summary = f"{name} is intact and contains {counted(count, 'match')}"
    if shortfalls:
        missing = [Diagnosis(f"study {study}", False, reason) for study, reason in shortfalls]
        detail = f"matches of {counted(len(shortfalls), 'study')} are missing in {name}"
        return [*unready, *missing, Diagnosis("store", False, detail)]
    return [*unready, Diagnosis("store", problem is None, problem or summary)]


def _unready(store: ct.Store, studies: Sequence[StudySummary]) -> Iterator[Diagnosis]:
    """Yield what unfinished studies still need, such as a local model's files or a replacement."""
    for study in studies:
        if (study.planned or 0) <= sum(study.counts[status] for status in SETTLED):
            continue
        try:
            planned = ct.studies.plan_in_store(ct.studies.stored_study(store, study.name), store)
            missing = ct.studies.missing_requirements(planned, store)
            problems = [*map(str, missing), *map(str, ct.studies.retired_models(planned))]
        except ct.CheaptalkError as error:
            problems = [str(error)]
        yield from (Diagnosis(f"study {study.name}", False, problem) for problem in problems)


def _examined(integrity: ct.records.Integrity, name: str) -> list[Diagnosis]:
    damaged = [Diagnosis(damage.what, False, damage.problem) for damage in integrity.damages]
    replies = integrity.repeated
    repeated = [Diagnosis(f"match {reply.call.match_id}", False, str(reply)) for reply in replies]
    return [*damaged, *repeated, Diagnosis("store", not damaged, f"{name} {_judged(integrity)}")]


def _works(modules: list[Imported]) -> bool:
    return all(module.version is not None for module in modules)


def _of_extra(extra: str, modules: list[Imported]) -> Iterator[str]:
    """Yield the versions of an extra's modules or, if any fails, problems and their solutions."""
    absent = [module.module for module in modules if module.absent]
    for module in modules:
        if module.problem and not module.absent:
            command = f'pip install --force-reinstall "cheaptalk[{extra}]"'
            yield f"{module.module} cannot be imported ({module.problem}); reinstall it: {command}"
    if absent:
        yield f'missing {", ".join(absent)}: pip install "cheaptalk[{extra}]"'
    if _works(modules):
        yield ", ".join(f"{module.module} {module.version}" for module in modules)


def _broken_plugins(*, analysis: bool, learning: bool) -> list[Diagnosis]:
    """Reload all registries, including those of installed extras; return the plugins that fail."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ct.rules.PluginWarning)
        # a registry is known only after its package is loaded
        registries: set[ct.rules.Registry[Any]] = {
            ct.arrays.ARRAYS,
            ct.judges.RUBRICS,
            ct.learning.NETWORKS,
            ct.records.imports.IMPORTERS,
            ct.studies.QUIZZES,
            *ct.rules.Registry.known,
        }
        if analysis:
            registries |= {ct.reports.RECIPES, ct.adapters.TRACKERS}
        if learning:
            registries.add(ct.learning.ALGORITHMS)
        for registry in registries:  # all before any is loaded, so packages are listed once
            registry.forget()
        for registry in sorted(registries, key=lambda item: item.group):
            len(registry)
        ct.rules.games()
    known_groups = {item.group for item in registries}
    groups = sorted(
        {"cheaptalk.algorithms", "cheaptalk.recipes", "cheaptalk.trackers", *known_groups}
    )
    points = entry_points()
    unknown = [
        f'"{point.name}" ({point.value}) is registered under {ct.rules.suggest(group, groups)}, '
        "which is not an entry point group; fix, upgrade or uninstall the package"
        for group in sorted(points.groups)
        if group.startswith("cheaptalk.") and group not in groups
        for point in points.select(group=group)
    ]
    messages = [
        str(item.message) for item in caught if issubclass(item.category, ct.rules.PluginWarning)
    ]
    return [Diagnosis("plug-in", False, item) for item in dict.fromkeys([*messages, *unknown])]


def _judged(integrity: ct.records.Integrity) -> str:
    """Return a summary of a store's examination, and how to fix problems."""
    matches = counted(integrity.rows["matches"], "match")
    replayed = f"{counted(integrity.replayed, 'match')} replayed in {integrity.seconds:.1f} s"
    read = f"{matches} and {counted(integrity.rows['calls'], 'open call')} read, {replayed}"
    if integrity.other_rules:
        others = counted(integrity.other_rules, "match")
        read += f"; {others} of other versions of the rules not replayed"
    if not integrity.damages:
        return f"is intact: {read}"
    number = integrity.hurt_matches
    damaged = f"{counted(number, 'match')} damaged" if number else "see the items above"
    return (
        f"is damaged: {damaged} ({read}); restore a copy of the store, because resuming a study "
        "does not play ended matches again"
    )
