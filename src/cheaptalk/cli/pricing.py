"""The command that shows what models cost, and what other commands say about money."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

import cheaptalk as ct
from cheaptalk.cli.base import JsonOption, app, err, out, print_json, print_table, reading

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
    if dollars is not None and dollars <= 0:
        raise typer.BadParameter(f"{dollars:g} is no amount to spend", param_hint="--max-dollars")
    cap = ct.studies.Cap(calls=calls, tokens=tokens, dollars=dollars)
    return Allowance(cap, ct.models.load_prices(prices))


def estimated(laid: ct.studies.Plan, store: Path, prices: ct.models.Prices) -> ct.studies.Estimate:
    """What is left of a plan is going to take."""
    with reading(store) as opened:
        known = opened.statuses(match.id for match in laid.matches) if opened else {}
    settled = {id_ for id_, status in known.items() if status in ct.studies.SETTLED}
    with err.status(f"{laid.study.name}: estimating"):
        return ct.studies.estimate(laid, prices, settled)


def announce(laid: ct.studies.Plan, store: Path, prices: ct.models.Prices) -> None:
    """Say what a run is going to cost, where it costs something and the price is known."""
    models = {
        one.spec.model
        for one in laid.players().values()
        if isinstance(one.spec, ct.players.ModelSeat)
    }
    known = [price for price in map(prices.of, models) if price is not None]
    if any(not price.free for price in known):
        line = estimated(laid, store, prices).line
        err.print(f"{laid.study.name}: estimated {line}", markup=False, soft_wrap=True)


def cost_text(cost: ct.records.Cost) -> str:
    """What calls took, in one line.

    >>> cost_text(ct.records.Cost(calls=3, dollars=0.25, unpriced=1))
    '3 calls, 0 tokens, $0.25, 1 of unknown price'
    """
    parts = [f"{cost.calls:,} calls", f"{cost.tokens:,} tokens"]
    if cost.dollars_known is not None:
        parts.append(ct.studies.money(cost.dollars))
    if cost.unpriced:
        parts.append(f"{cost.unpriced:,} of unknown price")
    if cost.unresolved:
        parts.append(f"{cost.unresolved:,} unresolved")
    return ", ".join(parts)


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
    names = ("input", "cached_input", "output", "batch")
    cells: list[list[object]] = [
        [row["models"], *("?" if row[name] is None else f"{row[name]:g}" for name in names),
         row["as_of"] or "", row["source"], row["note"] or ""]
        for row in rows
    ]  # fmt: skip
    columns = ["models", "input", "cached", "output", "batch", "as of", "from", "note"]
    print_table("Dollars per million tokens", columns, cells)
    out.print("\nList prices as of their dates: check them. Edit a copy: "
              "cheaptalk prices --init prices.yaml")  # fmt: skip


def _all(table: ct.models.Prices) -> list[dict[str, Any]]:
    return [_shown(", ".join(one.price.models), one.price, one.source) for one in table.listed()]


def _row(table: ct.models.Prices, model: str) -> dict[str, Any]:
    """The price of one model; without numbers where it is not known."""
    price = table.of(model)
    source = next((one.source for one in table.listed() if one.price is price), "")
    return _shown(model, price, source)


def _shown(models: str, price: Any, source: str) -> dict[str, Any]:
    if price is None:
        blank = dict.fromkeys(("input", "cached_input", "output", "batch", "reasons", "as_of"))
        return {"models": models} | blank | {"note": "no price is known", "source": ""}
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
