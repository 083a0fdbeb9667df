"""The ``model prices`` command, which shows the prices of models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.atomic_files import whole_file
from cheaptalk.cli.shared.options import JsonOption, PricesOption, file_to_write
from cheaptalk.cli.shared.printing import hint, out, print_json, print_table, say

FILE = "prices.yaml"
"""Name of the file in the working folder from which prices are read by default."""


def prices(
    model: Annotated[
        list[str] | None,
        typer.Argument(help="Only show the prices of these models, e.g. openai/gpt-4o."),
    ] = None,
    init: Annotated[
        Path | None,
        typer.Option(
            "--init",
            help="Write the built-in prices to this new file, for editing.",
            metavar="FILE",
            callback=file_to_write,
        ),
    ] = None,
    file: PricesOption = None,
    json: JsonOption = False,
) -> None:
    """Show model prices in dollars per million tokens."""
    if init is not None:
        _write(init)
        return
    table = ct.models.load_prices(file)
    rows = (
        [_row(table, name) for name in model]
        if model
        else [_shown(list(price.models), price, source) for price, source in table.listed()]
    )
    if json:
        print_json(rows)
        return
    _print_table(rows)
    for row in rows:
        if row["input"] is None:
            say(f"{row['models'][0]}: {row['note']}")
    out.print("\nThese are list prices as of the dates shown; check the providers' websites.")
    hint("Set your own prices: cheaptalk model prices --init prices.yaml")


def _print_table(rows: list[dict[str, Any]]) -> None:
    """Print a table of prices, with notes and sources on lines below the model names."""
    lines: list[list[object]] = []
    for row in rows:
        custom = row["source"] not in ("", ct.models.prices.PACKAGE)
        notes = [row["note"] if row["input"] is not None else "", f"from {row['source']}" * custom]
        models = [*row["models"], *(f"  {text}" for text in notes if text)]
        rates = [_rate(row[name]) for name in ("input", "cached_input", "output", "batch")]
        lines.append(["\n".join(models), *rates, row["as_of"] or "?"])
    numbers = ["input", "cached", "output", "batch", "as of"]
    title = "Dollars per million tokens (batch: price in batches, as a share of the regular price)"
    print_table(title, ["models", *numbers], lines, right=numbers)


def _rate(dollars: float | None) -> str:
    """Format a price in dollars with two or, if necessary, more decimals; "?" if unknown.

    >>> _rate(10), _rate(0.01875), _rate(None)
    ('10.00', '0.01875', '?')
    """
    if dollars is None:
        return "?"
    return f"{dollars:.2f}" if round(dollars, 2) == dollars else f"{dollars:g}"


def _row(table: ct.models.Prices, model: str) -> dict[str, Any]:
    """Return a model's prices; all numbers are None if the prices are unknown."""
    try:
        ct.models.model_strings.refuse_secrets(model)
    except ValueError as error:
        raise ct.CheaptalkError(str(error)) from None
    price = table.of(model)
    if price is None:
        blank = dict.fromkeys(("input", "cached_input", "output", "batch", "reasons", "as_of"))
        note = "; ".join(filter(None, ("unknown price", ct.models.model_strings.hint(model))))
        return {"models": [model]} | blank | {"note": note, "source": ""}
    source = next(source for listed, source in table.listed() if listed is price)
    return _shown([model], price, source)


def _shown(models: list[str], price: ct.models.Price, source: str) -> dict[str, Any]:
    data: dict[str, Any] = price.model_dump(mode="json")
    cached = price.input if price.cached_input is None else price.cached_input
    return data | {"models": models, "cached_input": cached, "source": source}


def _write(path: Path) -> None:
    try:
        with whole_file(path, new=True) as file:
            file.write(ct.models.own_prices().read_text(encoding="utf-8"))
    except FileExistsError:
        raise ct.CheaptalkError(f"{path} already exists; choose another file name") from None
    default = path.name == FILE
    usage = (
        "commands in this folder use it by default" if default else f"use it with --prices {path}"
    )
    say(f"Prices written to {path}; {usage}")
