"""Run the benchmarks and write what came out: ``python -m bench``, or some parts: ``... study``."""

import datetime
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import cheaptalk
from bench import (
    advice,
    anchors,
    arrays,
    chip_trading,
    connections,
    console,
    coverage,
    determinism,
    difference_coverage,
    driver,
    effect_coverage,
    empirical,
    equilibria,
    flood,
    headlines,
    human_studies,
    imports,
    item_bargaining,
    language_models,
    learning,
    local_queue,
    mean_coverage,
    models,
    pages,
    participants,
    profile_coverage,
    profile_weaknesses,
    room_pages,
    rooms,
    scale,
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
    "scale": scale.rows,
    "pages": pages.rows,
    "room_pages": room_pages.rows,
    "rooms": rooms.rows,
    "participants": participants.rows,
    "flood": flood.rows,
    "human_studies": human_studies.rows,
    "console": console.rows,
    "models": models.rows,
    "connections": connections.rows,
    "local_queue": local_queue.rows,
    "arrays": arrays.rows,
    "learning": learning.rows,
    "language_models": language_models.rows,
    "chip_trading": chip_trading.rows,
    "item_bargaining": item_bargaining.rows,
    "equilibria": equilibria.rows,
    "empirical": empirical.rows,
    "mean_coverage": mean_coverage.rows,
    "effect_coverage": effect_coverage.rows,
    "difference_coverage": difference_coverage.rows,
    "profile_coverage": profile_coverage.rows,
    "profile_weaknesses": profile_weaknesses.rows,
    "coverage": coverage.rows,
    "headlines": headlines.rows,
    "advice": advice.rows,
    "determinism": determinism.rows,
}
RESULTS = Path(__file__).parent / "results.md"
HEAD = ("| what | measured | goal | met | how |", "|---|---|---|---|---|")


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


def section(name: str, rows: Iterable[str]) -> str:
    """A part of the table, under its name and the day on which it was measured."""
    day = datetime.datetime.now(tz=datetime.UTC)
    return "\n".join([f"## {name}, {day:%Y-%m-%d}", "", *HEAD, *rows])


def kept() -> dict[str, str]:
    """The parts of the results that there are, by name."""
    text = RESULTS.read_text() if RESULTS.exists() else ""
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return {part.partition(",")[0]: f"## {part.rstrip()}" for part in parts}


def main(names: list[str]) -> None:
    """Run parts of the benchmarks, or all of them, and renew these in the results."""
    chosen = names or list(PARTS)
    if unknown := [name for name in chosen if name not in PARTS]:
        sys.exit(f"no part {unknown[0]}; there are {', '.join(PARTS)}")
    about = (
        f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "made by `make bench`, each anchor run beside what it stands for",
        "figures of a shared machine are noisy, so compare them with each other.",
    )
    title = f"# Benchmarks of cheaptalk {cheaptalk.__version__}\n\n{'; '.join(about)}"
    print(title, flush=True)
    for name in chosen:
        print("", f"## {name}", "", *HEAD, sep="\n", flush=True)
        lines = []
        for row in PARTS[name]():
            lines.append(line(row))
            print(lines[-1], flush=True)
        found = kept() | {name: section(name, lines)}
        ordered = [found[part] for part in PARTS if part in found]
        RESULTS.write_text("\n\n".join([title, *ordered]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
