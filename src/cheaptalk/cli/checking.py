"""The command that checks the installation: doctor."""

from __future__ import annotations

import platform
import sqlite3
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import typer

import cheaptalk as ct
from cheaptalk.cli.base import DEFAULT_STORE, JsonOption, StoreOption, app, out, print_json
from cheaptalk.rules import counted


@app.command()
def doctor(store: StoreOption = DEFAULT_STORE, json: JsonOption = False) -> None:
    """Check the installation and the store, and say what is missing for what."""
    checks: list[tuple[str, bool, str]] = [
        ("python", sys.version_info >= (3, 11), platform.python_version()),
        ("cheaptalk", True, ct.__version__),
        ("sqlite", True, sqlite3.sqlite_version),
        ("games", bool(ct.rules.games()), ", ".join(ct.rules.games())),
    ]
    for extra, packages in EXTRAS.items():
        missing = [name for name in packages if not _installed(name)]
        cure = f'missing {", ".join(missing)}: pip install "cheaptalk[{extra}]"'
        checks.append((f"[{extra}]", not missing, cure if missing else "installed"))
    for name, provider in ct.models.PROVIDERS.items():
        found = provider.secret is not None
        if found or provider.needs_key:
            said = provider.garbled or f"{provider.key} is {'set' if found else 'not set'}"
            checks.append((name, found and not provider.garbled, said))
    checks.append(_store_check(store))
    if json:
        print_json([{"what": what, "ok": ok, "detail": detail} for what, ok, detail in checks])
    else:
        for what, ok, detail in checks:
            out.print("[green]ok[/]  " if ok else "[yellow]--[/]  ", end="")
            out.print(f"{what}: {detail}", markup=False)
    if not checks[-1][1]:
        raise typer.Exit(1)


EXTRAS = {
    "analysis": ("polars", "scipy", "plotly"),
    "predict": ("scikit-learn", "catboost"),
    "web": ("fastapi", "uvicorn"),
    "lm": ct.models.names.IN_PROCESS_NEEDS,
}


def _installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def _store_check(path: Path) -> tuple[str, bool, str]:
    if not path.exists():
        return ("store", True, f"{path} does not exist yet; the first run makes it")
    try:
        with ct.Store.open(path) as opened:
            problem = opened.check()
            count = sum(sum(one.counts.values()) for one in opened.studies())
    except ct.CheaptalkError as error:
        return ("store", False, str(error))
    sound = f"{path} is sound and holds {counted(count, 'match')}"
    return ("store", problem is None, problem or sound)
