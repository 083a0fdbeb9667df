"""Command that runs the benchmarks and writes ``bench/results.md``.

Run ``python -m bench`` for all parts, or name parts: ``python -m bench study scale``.
"""

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
    local_models,
    local_queue,
    mean_coverage,
    model_games,
    models,
    otree,
    pages,
    participants,
    profile_coverage,
    profile_weaknesses,
    replies,
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
    "otree": otree.rows,
    "participants": participants.rows,
    "flood": flood.rows,
    "human_studies": human_studies.rows,
    "console": console.rows,
    "replies": replies.rows,
    "models": models.rows,
    "connections": connections.rows,
    "local_queue": local_queue.rows,
    "arrays": arrays.rows,
    "learning": learning.rows,
    "language_models": language_models.rows,
    "local_models": local_models.rows,
    "model_games": model_games.rows,
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
HEAD = ("| metric | value | goal | met | notes |", "|---|---|---|---|---|")


def processor() -> str:
    """Return the processor's name as reported by the operating system."""
    cpu_info = Path("/proc/cpuinfo")
    if cpu_info.exists():
        for line in cpu_info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def line(row: Row) -> str:
    """Return a row as a line of the Markdown table."""
    goal = "" if row.goal is None else f"{row.goal[0]} {round(row.goal[1], 2):,.10g}"
    met = {None: "", True: "yes", False: "**no**"}[row.met]
    figure = f"{row.value:,.0f}" if row.value >= 100 else f"{row.value:.2f}"
    return f"| {row.title} | {figure} {row.unit} | {goal} | {met} | {row.note} |"


def section(name: str, rows: Iterable[str]) -> str:
    """Return the Markdown section of a part: its name, today's date (UTC) and its rows."""
    day = datetime.datetime.now(tz=datetime.UTC)
    return "\n".join([f"## {name}, {day:%Y-%m-%d}", "", *HEAD, *rows])


def saved_sections() -> dict[str, str]:
    """Return the sections of ``results.md`` by part name."""
    text = RESULTS.read_text() if RESULTS.exists() else ""
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return {text.partition(",")[0]: f"## {text.rstrip()}" for text in sections}


def main(names: list[str]) -> None:
    """Run the named parts, or all parts, and replace their sections in the results."""
    chosen = names or list(PARTS)
    if unknown := [name for name in chosen if name not in PARTS]:
        sys.exit(f"unknown part {unknown[0]!r}; expected one of: {', '.join(PARTS)}")
    environment = (
        f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "written by `make bench`, which runs each reference in the same session as cheaptalk",
        "timings on a shared machine are noisy: compare figures within a run only.",
    )
    title = f"# Benchmarks of cheaptalk {cheaptalk.__version__}\n\n{'; '.join(environment)}"
    print(title, flush=True)
    for name in chosen:
        print("", f"## {name}", "", *HEAD, sep="\n", flush=True)
        lines = []
        for row in PARTS[name]():
            lines.append(line(row))
            print(lines[-1], flush=True)
        sections = saved_sections() | {name: section(name, lines)}
        ordered = [sections[part] for part in PARTS if part in sections]
        RESULTS.write_text("\n\n".join([title, *ordered]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
