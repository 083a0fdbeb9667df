"""Inspect task of conversations with ten turns, with logging enabled.

    python -m bench.inspect_turns URL SAMPLES CONCURRENCY FOLDER

Run it in the reference environment. The folder contains ``turns.json``: the system message and the
user messages of a seat of ``bench.live_study``.
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
    """Return a solver that sends each turn and lets the model answer it."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.messages = [ChatMessageSystem(content=turns[0])]
        for turn in turns[1:]:
            state.messages.append(ChatMessageUser(content=turn))
            state = await generate(state)
        return state

    return solve


def main(url: str, samples: int, concurrency: int, folder: Path) -> None:
    """Run the task, and print the resources that it used."""
    turns = json.loads((folder / "turns.json").read_text())
    conversations = [Sample(input="talk", id=number) for number in range(samples)]
    task = inspect_ai.Task(conversations, solver=solver(conversation)(turns))
    model = get_model("openai/instant", base_url=url, api_key="none", responses_api=False)

    def work() -> int:
        (log,) = inspect_ai.eval(
            task, model, log_dir=str(folder / "logs"), max_connections=concurrency,
            max_samples=concurrency, display="none",
        )  # fmt: skip
        assert log.status == "success", log.error
        return samples * (len(turns) - 1)

    measured(work)


if __name__ == "__main__":
    url, samples, concurrency, folder = sys.argv[1:]
    main(url, int(samples), int(concurrency), Path(folder))
