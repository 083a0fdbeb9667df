"""The report says what the players' models took."""

from pathlib import Path

import cheaptalk as ct
from cheaptalk.models import Reply, Usage
from cheaptalk.records import Cost, Store
from cheaptalk.reports.study_facts import dollars_text
from tests.fakes import Canned, legal, study, with_model
from tests.pages import Page


def test_a_line_for_each_player_holds_tokens_by_kind_and_dollars(
    store: Store, tmp_path: Path
) -> None:
    usage = Usage(input_tokens=1_000, output_tokens=100, cached_tokens=400, reasoning_tokens=30)
    models = Canned(lambda call, number: Reply(text=legal(call), usage=usage))
    rate = {"models": ["vllm/*"], "input": 2, "output": 10, "as_of": "2026-01-01"}
    prices = ct.models.Prices({"mine": (ct.models.Price.model_validate(rate),)})
    ct.run(study(**with_model()), store, models=models, prices=prices)
    ct.reports.report(store, "small", tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text())
    names, line = page.tables["small-costs"]
    count = len(models.calls)
    assert [cell.text for cell in line] == [
        "tiny", f"{count}", f"{1_000 * count:,}", f"{400 * count:,}", f"{100 * count:,}",
        f"{30 * count:,}", "0", f"${0.003 * count:.3g}", "0", "0",
    ]  # fmt: skip
    assert "Of it reasoning" in [name.text for name in names][5]


def test_tokens_that_nobody_counted_are_said_to_be_unknown(store: Store, tmp_path: Path) -> None:
    models = Canned(lambda call, number: Reply(text=legal(call)))
    ct.run(study(**with_model()), store, models=models)
    ct.reports.report(store, "small", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    _, line = Page(text).tables["small-costs"]
    count = f"{len(models.calls)}"
    unknown = ["not known"] * 4
    assert [cell.text for cell in line] == ["tiny", count, *unknown, count, "$0.00", "0", "0"]
    assert f"in and out; unknown for {count} calls" in text


def test_dollars_that_nobody_knows_are_said_to_be_unknown() -> None:
    assert dollars_text(Cost(calls=3, unpriced=3)) == "not known"
    assert dollars_text(Cost(calls=3, dollars=1.5, unpriced=1)) == "$1.50"
    assert dollars_text(Cost()) == "$0.00"
