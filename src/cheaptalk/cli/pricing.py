"""The command that shows what models cost, and what other commands say about money."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.table import Table
from rich.text import Text

import cheaptalk as ct
from cheaptalk.cli.base import JsonOption, app, out, print_json
from cheaptalk.models.names import hint
from cheaptalk.models.prices import PACKAGE
from cheaptalk.rules import counted

FILE = "prices.yaml"
PricesOption = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        help="A file of prices that go before those of the package; CHEAPTALK_PRICES names one "
        "too, and prices.yaml in this folder is read by itself.",
        metavar="FILE",
        show_default=False,
    ),
]
MaxCalls = Annotated[int | None, typer.Option(min=1, help="Calls that this run may make.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Tokens that this run may use.")]
MaxDollars = Annotated[float | None, typer.Option(help="Dollars that this run may spend.")]


class Allowance(NamedTuple):
    """What a run may spend, and at what prices."""

    cap: ct.studies.Cap
    prices: ct.models.Prices


def allowance(
    calls: int | None, tokens: int | None, dollars: float | None, prices: Path | None
) -> Allowance:
    """What a run may spend, from its options.

    Raises:
        PriceError: the file of prices cannot be read.
    """
    if dollars is not None and not 0 < dollars < math.inf:
        raise typer.BadParameter(f"{dollars:g} is no amount to spend", param_hint="--max-dollars")
    cap = ct.studies.Cap(calls=calls, tokens=tokens, dollars=dollars)
    return Allowance(cap, ct.models.load_prices(prices))


def cost_text(cost: ct.records.Cost) -> str:
    """What calls took, in one line.

    >>> cost_text(ct.records.Cost(calls=3, dollars=0.25, unpriced=1))
    '3 calls, 0 tokens, $0.25, 1 of unknown price'
    >>> cost_text(ct.records.Cost(calls=36, unpriced=36, uncounted=36))
    '36 calls, tokens unknown for 36 of them, 36 of unknown price'
    """
    parts = [counted(cost.calls, "call")]
    if cost.tokens or not (cost.uncounted or cost.unresolved):
        parts.append(counted(cost.tokens, "token"))
    if cost.uncounted:
        parts.append(uncounted_text(cost.uncounted))
    if cost.dollars_known is not None:
        parts.append(ct.studies.money(cost.dollars))
    if cost.unpriced:
        parts.append(f"{cost.unpriced:,} of unknown price")
    if cost.unresolved:
        parts.append(f"{cost.unresolved:,} unresolved")
    if cost.unreached:
        parts.append(f"{counted(cost.unreached, 'attempt')} that reached no server")
    return ", ".join(parts)


def uncounted_text(calls: int) -> str:
    """What is said of calls that brought no count of tokens."""
    return f"tokens unknown for {calls:,} of them"


@app.command()
def prices(
    model: Annotated[
        list[str] | None, typer.Argument(help="Only the prices of these model strings.")
    ] = None,
    init: Annotated[
        Path | None,
        typer.Option("--init", help="Write the package's prices to a new file.", metavar="FILE"),
    ] = None,
    file: PricesOption = None,
    json: JsonOption = False,
) -> None:
    """Show what models cost, in dollars per million tokens, with the date of each price."""
    if init is not None:
        _write(init)
        return
    table = ct.models.load_prices(file)
    rows = [_row(table, name) for name in model] if model else _all(table)
    if json:
        print_json(rows)
        return
    out.print(_table(rows))
    for row in rows:
        if row["input"] is None:
            out.print(f"{row['models'][0]}: {row['note']}", markup=False)
    out.print("\nList prices as of their dates: check them before you trust a bill to them.")
    out.print("Edit a copy: cheaptalk prices --init prices.yaml")


def _table(rows: list[dict[str, Any]]) -> Table:
    """Prices as a table; under a price's models stand its note and the user's file it is from."""
    table = Table(
        title="Dollars per million tokens; batch: the share of them that a batch costs",
        title_justify="left", header_style="bold", box=None, pad_edge=False, padding=(0, 1, 0, 0),
    )  # fmt: skip
    table.add_column("models", overflow="fold")
    for column in ("input", "cached", "output", "batch", "as of"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        source = row["source"] and row["source"] != PACKAGE and f"from {row['source']}"
        models = Text("\n".join(row["models"]))
        note = row["note"] if row["input"] is not None else None
        models.append("".join(f"\n  {one}" for one in (note, source) if one), style="dim")
        rates = [_rate(row[name]) for name in ("input", "cached_input", "output", "batch")]
        table.add_row(models, *rates, row["as_of"] or "?")
    return table


def _rate(dollars: float | None) -> str:
    """Dollars with cents, and with more digits where there are some.

    >>> _rate(10), _rate(0.01875), _rate(None)
    ('10.00', '0.01875', '?')
    """
    if dollars is None:
        return "?"
    return f"{dollars:.2f}" if round(dollars, 2) == dollars else f"{dollars:g}"


def _all(table: ct.models.Prices) -> list[dict[str, Any]]:
    return [_shown(list(one.price.models), one.price, one.source) for one in table.listed()]


def _row(table: ct.models.Prices, model: str) -> dict[str, Any]:
    """The price of one model; without numbers where it is not known."""
    price = table.of(model)
    if price is None:
        blank = dict.fromkeys(("input", "cached_input", "output", "batch", "reasons", "as_of"))
        note = "; ".join(filter(None, ("no price is known", hint(model))))
        return {"models": [model]} | blank | {"note": note, "source": ""}
    source = next(one.source for one in table.listed() if one.price is price)
    return _shown([model], price, source)


def _shown(models: list[str], price: ct.models.Price, source: str) -> dict[str, Any]:
    data: dict[str, Any] = price.model_dump(mode="json")
    cached = price.input if price.cached_input is None else price.cached_input
    return data | {"models": models, "cached_input": cached, "source": source}


def _write(path: Path) -> None:
    """Write an editable copy of the package's prices.

    Raises:
        PriceError: the file is there already.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(ct.models.own_prices().read_text(encoding="utf-8"))
    except FileExistsError:
        raise ct.CheaptalkError(f"{path} is there already; name another file") from None
    read = "it is read in this folder" if path.name == FILE else f"use it with --prices {path}"
    out.print(f"Edit {path}; {read}.", markup=False)
