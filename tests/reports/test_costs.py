"""Costs of the players' models in a report."""

from pathlib import Path

import cheaptalk as ct
from cheaptalk.models import Reply, Usage
from cheaptalk.records import Cost, Store
from cheaptalk.reports.study.facts import dollars_text
from tests.fakes import Canned, legal, study, with_model
from tests.pages import Page


def test_costs_table_has_tokens_by_kind_and_dollars_for_each_player(
    store: Store, tmp_path: Path
) -> None:
    usage = Usage(input_tokens=1_000, output_tokens=100, cached_tokens=400, reasoning_tokens=30)
    models = Canned(lambda call, number: Reply(text=legal(call), usage=usage))
    rate = {"models": ["vllm/*"], "input": 2, "output": 10, "as_of": "2026-01-01"}
    prices = ct.models.Prices({"mine": (ct.models.Price.model_validate(rate),)})
    ct.run(study(**with_model()), store, models=models, prices=prices)
    ct.reports.report(store, "small", tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text())
    (line,) = page.rows("costs")
    count = len(models.calls)
    assert {name: cell.text for name, cell in line.items()} == {
        "Player": "tiny",
        "Calls": f"{count}",
        "Cost": f"${0.003 * count:.3g}",
        "Input": f"{1_000 * count:,}",
        "Of it cached": f"{400 * count:,}",
        "Output": f"{100 * count:,}",
        "Of it reasoning": f"{30 * count:,}",
    }


def test_unknown_usage_and_prices_are_stated(store: Store, tmp_path: Path) -> None:
    models = Canned(lambda call, number: Reply(text=legal(call)))
    ct.run(study(**with_model()), store, models=models)
    ct.reports.report(store, "small", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    (line,) = Page(text).rows("costs")
    count = f"{len(models.calls)}"
    assert [cell.text for cell in line.values()] == ["tiny", count, "$0.00", *["none"] * 4, count]
    assert f"input and output; unknown for {count} calls" in text

    assert dollars_text(Cost(calls=3, unpriced=3)) == "unknown"
    assert dollars_text(Cost(calls=3, dollars=1.5, unpriced=1)) == "$1.50"
    assert dollars_text(Cost()) == "$0.00"
