"""Run Inspect in a separate process, which isolates its streams and warnings, without a network.

python -m tests.adapters.inspect_program FOLDER runs the evaluations of EVALS.
"""

import json
import sys
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from cheaptalk.mock_models import answer
from cheaptalk.rules import games

NAMES = [f"cheaptalk/{name}" for name in games()]
SAMPLE = [f"cheaptalk/{name}" for name in ("bargaining", "negotiation", "public_goods")]
SAMPLE += ["cheaptalk/deal_or_no_deal", "cheaptalk/persuasion"]
"""Games with one and several decisions per seat, with and without messages and bounded payoffs."""
TAGGED: dict[str, Any] = {"seat": "player_2", "other": "fair", "style": "tagged"}
"""A seat of Deal or No Deal and its prompt style."""
NO_TAG, TAG = "no tag", "[message] I take 1 book."
HALF = {"parameters": {"money": 200, "messages": False}, "other": "equal_split", "seat": "bob"}

Model = Callable[[list[dict[str, str]]], tuple[str, Any]]


def omit_first_tag(messages: list[dict[str, str]]) -> tuple[str, Any]:
    is_first = len(messages) == 2 and "does not count" not in messages[-1]["content"]
    return (NO_TAG if is_first else TAG), "stop"


EVALS: dict[str, tuple[Any, Model, dict[str, Any]]] = {
    "legal": (SAMPLE, lambda inputs: (answer(inputs), "stop"), {"instances": 2, "seed": "a seed"}),
    "illegal": (SAMPLE, lambda _: ("No answer.", "stop"), {"instances": 1}),
    "tagged": (NAMES[3], omit_first_tag, {"instances": 1, "seed": 7, **TAGGED}),
    "half": (NAMES[0], lambda _: ('{"decision": "accept"}', "stop"), {"instances": 1, **HALF}),
}
"""Evaluations by the folder of their logs: tasks, mock model and task arguments."""


async def counted(*_: Any) -> int:
    """Return a constant: Inspect's mock model needs a downloaded file to count tokens."""
    return 1


def evaluate(folder: Path, tasks: Any, model_reply: Model, arguments: dict[str, Any]) -> None:
    """Run tasks in Inspect with a mock model, and write the model's inputs beside the logs."""
    inspect_model, requests = import_module("inspect_ai.model"), []

    def reply(inputs: list[Any], *_: Any) -> Any:
        messages = [{"role": message.role, "content": message.text} for message in inputs]
        requests.append(messages)
        text, stop = model_reply(messages)
        return inspect_model.ModelOutput.from_content("mock", text, stop_reason=stop)

    import_module("inspect_ai").eval(
        tasks,
        inspect_model.get_model("mockllm/model", custom_outputs=reply, memoize=False),
        task_args=arguments,
        log_dir=str(folder),
        display="log",
    )
    (folder / "heard.txt").write_text(json.dumps(requests))


if __name__ == "__main__":
    # for each task, Inspect lists the files of all installed packages, which takes a second
    metadata.packages_distributions = lambda: {"cheaptalk": ["cheaptalk"]}
    import_module("inspect_ai.model").ModelAPI.count_tokens = counted
    for name, evaluation in EVALS.items():
        evaluate(Path(sys.argv[1]) / name, *evaluation)
