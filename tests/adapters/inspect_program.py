"""Inspect in a process of its own, whose streams and warnings are then its own, without a network.

python -m tests.adapters.inspect_program FOLDER      runs the evaluations of EVALS
python -m tests.adapters.inspect_program -- eval ... is Inspect's command line
"""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from cheaptalk.mock_server import answer
from cheaptalk.rules import games

NAMES = [f"cheaptalk/{name}" for name in games()]
TAGGED: dict[str, Any] = {"seat": "player_2", "other": "fair", "style": "tagged"}
"""A seat of Deal or No Deal, and how it is asked."""
NO_TAG, TAG = "no tag", "[message] I take 1 book."
HALF = {"parameters": {"money": 200, "messages": False}, "other": "equal_split", "seat": "bob"}

Says = Callable[[list[dict[str, str]]], tuple[str, Any]]


def first_without_a_tag(messages: list[dict[str, str]]) -> tuple[str, Any]:
    return (NO_TAG if len(messages) == 2 else TAG), "stop"


EVALS: dict[str, tuple[Any, Says, dict[str, Any]]] = {
    "legal": (NAMES, lambda asked: (answer(asked), "stop"), {"instances": 2, "seed": "a seed"}),
    "tagged": (NAMES[3], first_without_a_tag, {"instances": 1, "seed": 7, **TAGGED}),
    "half": (NAMES[0], lambda _: ('{"decision": "accept"}', "stop"), {"instances": 1, **HALF}),
    "truncated": (NAMES[0], lambda _: ('{"alice', "max_tokens"), {"instances": 1, "tries": 2}),
    "filtered": (NAMES[0], lambda _: ("", "content_filter"), {"instances": 1, "tries": 2}),
}
"""What is evaluated, by the folder of its logs: tasks, what the model says, and arguments."""


async def counted(*_: Any) -> int:
    """A number of tokens: Inspect counts its mock's by a file from the network."""
    return 1


def evaluate(folder: Path, tasks: Any, says: Says, arguments: dict[str, Any]) -> None:
    """Let Inspect run tasks with a mock model, and keep what the model was sent beside the logs."""
    model, heard = import_module("inspect_ai.model"), []

    def reply(asked: list[Any], *_: Any) -> Any:
        told = [{"role": one.role, "content": one.text} for one in asked]
        heard.append(told)
        text, stop = says(told)
        return model.ModelOutput.from_content("mock", text, stop_reason=stop)

    import_module("inspect_ai").eval(
        tasks, model.get_model("mockllm/model", custom_outputs=reply, memoize=False),
        task_args=arguments, log_dir=str(folder), display="none",
    )  # fmt: skip
    (folder / "heard.txt").write_text(json.dumps(heard))


if __name__ == "__main__":
    import_module("inspect_ai.model").ModelAPI.count_tokens = counted
    if sys.argv[1] == "--":
        sys.argv[:2] = ["inspect"]
        import_module("inspect_ai._cli.main").main()
    for name, of in EVALS.items():
        evaluate(Path(sys.argv[1]) / name, *of)
