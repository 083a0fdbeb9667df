"""Packages that only some commands need: which there are, and how to get what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

import cheaptalk as ct

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
        "lm": ct.models.model_strings.IN_PROCESS_NEEDS,
        "tune": ("datasets", "peft", "trl"),
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
