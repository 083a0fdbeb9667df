"""Run the benchmarks and write the table: ``python -m bench``, or some parts: ``... study``."""

import datetime
import os
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import cheaptalk
from bench import (
    anchors,
    chip_trading,
    driver,
    empirical,
    equilibria,
    imports,
    item_bargaining,
    models,
    startup,
    study,
)
from bench.rows import Row

PARTS: dict[str, Callable[[], Iterator[Row]]] = {
    "driver": driver.rows,
    "anchors": anchors.rows,
    "startup": startup.rows,
    "imports": imports.rows,
    "study": study.rows,
    "models": models.rows,
    "chip_trading": chip_trading.rows,
    "item_bargaining": item_bargaining.rows,
    "equilibria": equilibria.rows,
    "empirical": empirical.rows,
}
RESULTS = Path(__file__).parent / "results.md"


def processor() -> str:
    """The processor's name as the system gives it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def line(row: Row) -> str:
    """A row of the table."""
    goal = "" if row.goal is None else f"{row.goal[0]} {round(row.goal[1], 2):,.10g}"
    met = {None: "", True: "yes", False: "**no**"}[row.met]
    figure = f"{row.value:,.0f}" if row.value >= 100 else f"{row.value:.2f}"
    return f"| {row.what} | {figure} {row.unit} | {goal} | {met} | {row.note} |"


def main(names: list[str]) -> None:
    """Run parts of the benchmarks, or all of them and write the results."""
    chosen = names or list(PARTS)
    head = [
        f"# Benchmarks of cheaptalk {cheaptalk.__version__}",
        "",
        "; ".join(
            (
                f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}",
                f"{datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}",
                "made by `make bench`, the anchors in the same run in an environment of their own",
                "figures of a shared machine are noisy, so compare them with each other.",
            )
        ),
        "",
        "| what | measured | goal | met | how |",
        "|---|---|---|---|---|",
    ]
    print("\n".join(head), flush=True)
    lines = []
    for name in chosen:
        for row in PARTS[name]():
            lines.append(line(row))
            print(lines[-1], flush=True)
    if not names:
        RESULTS.write_text("\n".join([*head, *lines]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
