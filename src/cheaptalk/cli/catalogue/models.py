"""The commands of ``model`` on providers, prices, rosters, batches and servers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import cheaptalk as ct
from cheaptalk.atomic_files import whole_file
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.printing import (
    err,
    hint,
    out,
    print_batches,
    print_json,
    print_table,
    say,
)


def providers(
    name: Annotated[str | None, opt.Settings(autocompletion=completion.providers)] = None,
    /,
    json: opt.Json = False,
) -> None:
    """List the model providers and whether their API keys are set.

    Args:
        name: Show all settings of this provider, in the format of a providers file.
    """
    if name is not None:
        entry = ct.models.PROVIDERS.get(name)
        if entry is None:
            raise ct.models.providers.unknown_provider(name)
        data = {name: ct.models.providers.written(entry)}
        if json:
            print_json(data | {"trouble": entry.trouble})
        else:
            say(ct.yaml_files.as_block(data), wrap=False)
        return
    by_name = {provider: _provider(entry) for provider, entry in ct.models.PROVIDERS.items()}
    if json:
        print_json(by_name)
        return
    rows = [
        [provider, row["url"], row["key"], {True: "yes", False: "no", None: ""}[row["key_is_set"]]]
        for provider, row in by_name.items()
    ]
    print_table(None, ["provider", "URL", "key variable", "key set"], rows)
    users_file = ct.models.user_provider_file()
    variable, file = ct.models.providers.VARIABLE, ct.models.providers.FILE
    if users_file:
        say(f"Your providers file: {users_file}")
    hint("\nShow a provider in full: cheaptalk model providers NAME")
    if not users_file:
        hint(f"Add your own providers: set {variable}=FILE, or create ~/.config/{file}")


def _provider(entry: ct.models.Provider) -> dict[str, Any]:
    """Return the settings of a provider, without the value of its API key."""
    return {
        "url": entry.url,
        "key": entry.key,
        "key_is_set": entry.secret is not None if entry.key else None,
        "protocol": entry.protocol,
        "batch": entry.batch,
        "trouble": entry.trouble,
    }


FILE = "prices.yaml"
"""Name of the file in the working folder from which prices are read by default."""


def prices(
    model: list[str] | None = None,
    /,
    init: Annotated[opt.NewFile | None, opt.Settings(metavar="FILE")] = None,
    prices: opt.Prices = None,
    json: opt.Json = False,
) -> None:
    """Show model prices in dollars per million tokens.

    Args:
        model: Only show the prices of these models, e.g. openai/gpt-4o.
        init: Write the built-in prices to this new file, for editing.
    """
    if init is not None:
        _write(init)
        return
    table = ct.models.load_prices(prices)
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
            file.write(ct.models.built_in_prices().read_text(encoding="utf-8"))
    except FileExistsError:
        raise ct.CheaptalkError(f"{path} already exists; choose another file name") from None
    default = path.name == FILE
    usage = (
        "commands in this folder use it by default" if default else f"use it with --prices {path}"
    )
    say(f"Prices written to {path}; {usage}")


def rosters(
    name: Annotated[str | None, opt.Settings(autocompletion=completion.rosters)] = None,
    /,
    json: opt.Json = False,
) -> None:
    """List the rosters of models, or show one in full.

    A roster is shown as YAML. To change it, save the output in a file, edit it, and add it to a
    study with --roster FILE.

    Args:
        name: Show all players of this roster: a name or a YAML file.
    """
    if name is not None:
        try:
            roster = ct.players.roster(name)
        except ValueError as error:
            raise ct.studies.StudyError(str(error)) from None
        _show(roster, json)
        return
    by_name = {name: ct.players.roster(name) for name in ct.players.roster_names()}
    rows = [
        [name, len(roster.players), _count_retired(roster), roster.description]
        for name, roster in by_name.items()
    ]
    columns = ["roster", "players", "retired", "description"]
    if json:
        print_json({name: dict(zip(columns[1:], row, strict=True)) for name, *row in rows})
        return
    print_table(None, columns, rows)
    hint("\nShow a roster in full: cheaptalk model rosters NAME")
    hint("Add a roster to a study: cheaptalk plan STUDY --roster NAME (or NAME:LABEL,...)")
    hint("Replace retired models: cheaptalk plan STUDY --roster NAME --replace OLD=MODEL")


def _models_of(roster: ct.players.Roster) -> dict[str, str]:
    """Return the models of a roster's players by label; players of other kinds are omitted."""
    entries = roster.entries()
    return {label: entry["model"] for label, entry in entries.items() if "model" in entry}


def _count_retired(roster: ct.players.Roster) -> int:
    return sum(map(ct.models.is_retired, _models_of(roster).values()))


def _show(roster: ct.players.Roster, json: bool) -> None:
    models, table = _models_of(roster), ct.models.load_prices()
    facts = {model: _facts(model, table) for model in models.values()}
    if json:
        print_json({"roster": roster.model_dump(exclude_defaults=True), "models": facts})
        return
    comments = {label: _comment(facts[model]) for label, model in models.items()}
    if any(facts[model]["input"] for model in facts):
        say("# Prices are dollars per million tokens of input and output, as of the date shown.")
    say(roster.as_yaml(comments), wrap=False)


def _facts(model: str, table: ct.models.Prices) -> dict[str, Any]:
    """Return the price of a model, its date and the model's retirement; unknown values are None."""
    row = _row(table, model)
    prices = {name: row[name] for name in ("input", "output", "as_of")}
    return prices | {"retirement": ct.models.retirement(model)}


def _comment(facts: dict[str, Any]) -> str:
    """Return the facts on a model as text.

    >>> _comment({"input": 0.25, "output": 2, "as_of": "2025-08-15", "retirement": "2026-09"})
    '$0.25, $2.00 (2025-08-15); retirement: 2026-09'
    """
    price = f"${_rate(facts['input'])}, ${_rate(facts['output'])} ({facts['as_of']})"
    retirement = f"retirement: {facts['retirement']}"
    return "; ".join([price] * bool(facts["input"]) + [retirement] * bool(facts["retirement"]))


def batches(store: opt.Store = opt.DEFAULT_STORE, json: opt.Json = False) -> None:
    """List the batches submitted to model providers."""
    with ct.Store.open(store) as opened:
        submitted = ct.records.all_batches(opened)
    if json:
        print_json([batch._asdict() for batch in submitted])
    elif submitted:
        print_batches(submitted)
    else:
        out.print("no batches submitted")


def mock_server(
    port: opt.Port = 8123,
    seed: int = 0,
    delay: opt.Seconds = 0.0,
    error_rate: Annotated[float, opt.Settings(min=0, max=1)] = 0.0,
) -> None:
    """Start a local mock model server.

    The server needs no API key and costs nothing. It responds with legal moves of all games in all
    prompt styles, through the APIs of OpenAI and Anthropic (including batches) and as a remote
    agent. Each response depends only on the conversation and the seed.

    Args:
        seed: Set the random seed of the generated responses.
        delay: Wait this long before each response, except in batches.
        error_rate: Fail this fraction of calls with HTTP status 503.
    """
    with ct.loopback.listening(port) as sock:
        host, number = sock.getsockname()
        address = f"@http://{host}:{number}/v1"
        say(f"Mock model: vllm/tiny{address} (stop with Ctrl-C)")
        hint(f"With batches: openai/tiny{address}, with any value in OPENAI_API_KEY")
        ct.mock_models.serve(sock, seed, delay, error_rate)


def mcp(
    url: Annotated[str, opt.Settings(metavar="URL")],
    /,
    token: Annotated[
        str | None, opt.Settings(envvar="CHEAPTALK_AGENT_TOKEN", show_envvar=True)
    ] = None,
    port: Annotated[
        int | None, opt.Settings(min=0, max=65535, show_default="standard input and output")
    ] = None,
) -> None:
    """Connect an MCP client to a run as a remote agent.

    The command starts a server of the Model Context Protocol with tools to read decision requests,
    wait, and respond. With --port, the client must send the agent's token as a bearer token.

    Args:
        url: Address of the agent server, as printed by the run.
        token: Authenticate with this token, as printed by the run.
        port: Serve streamable HTTP on this local port; 0 picks a free port.
    """
    if port is None:
        ct.adapters.serve_mcp(url, token)
        return
    with ct.loopback.listening(port) as sock:
        host, number = sock.getsockname()
        say(f"MCP server listening at http://{host}:{number}/mcp (stop with Ctrl-C)", to=err)
        ct.adapters.serve_mcp(url, token, sock)
