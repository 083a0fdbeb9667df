"""Conversations of ten turns as an Inspect task, its own log on: for the anchors' environment.

    python -m bench.inspect_turns URL SAMPLES AT_ONCE FOLDER

The folder holds ``turns.json``: the system message and the user's, those of one of our seats.
"""

import json
import sys
from pathlib import Path

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver

from bench.measuring import measured


def conversation(turns: list[str]) -> Solver:
    """Say each of the turns and have the model answer it."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.messages = [ChatMessageSystem(content=turns[0])]
        for turn in turns[1:]:
            state.messages.append(ChatMessageUser(content=turn))
            state = await generate(state)
        return state

    return solve


def main(url: str, samples: int, at_once: int, folder: Path) -> None:
    """Run the task, and say what it took."""
    turns = json.loads((folder / "turns.json").read_text())
    talks = [Sample(input="talk", id=number) for number in range(samples)]
    task = inspect_ai.Task(talks, solver=solver(conversation)(turns))
    model = get_model("openai/instant", base_url=url, api_key="none", responses_api=False)

    def work() -> int:
        (log,) = inspect_ai.eval(
            task, model, log_dir=str(folder / "logs"), max_connections=at_once,
            max_samples=at_once, display="none",
        )  # fmt: skip
        assert log.status == "success", log.error
        return samples * (len(turns) - 1)

    measured(work)


if __name__ == "__main__":
    url, samples, at_once, folder = sys.argv[1:]
    main(url, int(samples), int(at_once), Path(folder))
