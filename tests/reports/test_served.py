"""The requested and the answering models in a report."""

from typing import Any

from cheaptalk.models import Usage
from cheaptalk.records.costs import Cost
from cheaptalk.records.ledger.spending import Sending
from cheaptalk.reports.study.facts import NULL_OBSERVER, UNNAMED, served
from tests.pages import Page
from tests.played import EVIL
from tests.reports.conftest import Reported

ANSWER: dict[str, Any] = {
    "text": "yes",
    "model": "m-2026",
    "route": "schema",
    "sent": {"temperature": 0.5},
    "usage": {"input_tokens": 10, "output_tokens": 2},
    "dollars": 0.25,
}
FAILED = {"failure": "provider_error", "route": "schema", "sent": {"temperature": 0.5}}


def test_attempts_are_grouped_by_answering_model_and_settings() -> None:
    rows, costs = served(
        [
            Sending("a", "openai/m", ANSWER, 200.0, "s", True),
            Sending("a", "openai/m", FAILED, 100.0, "s", True),
            Sending("a", "openai/m", ANSWER | {"cached": True}, 50.0, "s", True),
            Sending("a", "openai/m", ANSWER | {"model": "m-2027"}, None, "s", True),
            Sending("b", "openai/m", ANSWER | {"route": "text", "sent": None}, 300.0, "s", True),
            Sending("b", "openai/m", None, 300.0, "s", True),
            Sending("b", "openai/m", ANSWER, 250.0, "another study", True),
            Sending("old", "openai/m", ANSWER, 10.0, "s", False),
        ],
        "s",
    )
    half, minutes = "temperature 0.5", [f"1 January 1970, 00:0{at} UTC" for at in range(6)]
    assert [tuple(row.values()) for row in rows] == [
        ("a", "openai/m", "m-2026", "schema", half, 2, 1, f"{minutes[0]} to {minutes[3]}"),
        ("a", "openai/m", "m-2027", "schema", half, 1, 0, "none"),
        ("a", "openai/m", NULL_OBSERVER, "schema", half, 1, 0, minutes[1]),
        ("b", "openai/m", "m-2026", "schema", half, 1, 0, minutes[4]),
        ("b", "openai/m", "m-2026", "text", "none", 1, 0, minutes[5]),
        ("b", "openai/m", NULL_OBSERVER, "unknown", "none", 1, 0, minutes[5]),
    ]
    used = Usage(input_tokens=10, output_tokens=2)
    assert costs["a"] == Cost(3, used + used, 0.5, unpriced=1, uncounted=1)
    assert costs["b"] == Cost(2, used, 0.25, unresolved=1)
    assert costs["old"] == Cost(1, used, 0.25), "bought for a superseded match"


def test_methods_name_the_answering_models(badly: Any, reported: Reported) -> None:
    page: Page = reported(badly)
    rows = [[cell.text for cell in row] for row in page.tables["models"][1:]]
    requested = {(row[0], row[1]) for row in rows}
    assert requested == {(EVIL, "vllm/evil"), ("mute", "vllm/mute"), ("broken", "vllm/broken")}
    assert {row[2] for row in rows if row[0] == EVIL} == {"evil-2026", UNNAMED}
    assert NULL_OBSERVER in {row[2] for row in rows if row[0] == "broken"}
    sent = sum(int(row[5].text) for row in page.tables["models"][1:])
    calls = sum(row["Calls"].number() or 0 for row in page.rows("costs"))
    assert sent == calls > 0
