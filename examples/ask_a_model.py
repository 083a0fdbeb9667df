"""Let a language model bargain, and print all requests and responses.

python examples/ask_a_model.py ollama/llama3.2  # your model
python examples/ask_a_model.py                  # a mock model, without a key or cost
"""

import json
import sys
import tempfile
from pathlib import Path

import cheaptalk as ct


def answer(messages: list[dict[str, str]]) -> str:
    """Demand 70 and accept any offer.

    The first answer is invalid, to show how the request is repeated with the reason.
    """
    request = messages[-1]["content"]
    if '"decision"' in request:
        return json.dumps({"decision": "accept"})
    return json.dumps({"alice_gain": 70, "bob_gain": 30 if "does not count" in request else 70})


def ask(model: str, path: Path) -> None:
    """Play one match of the model against a strategy, and print the conversation."""
    study = ct.studies.parse_study(
        {
            "name": "ask-a-model",
            "games": [{"game": "bargaining", "fixed": {"money": 100, "messages": False}}],
            "players": {"model": {"model": model}, "firm": {"strategy": "boulware"}},
            "pairing": [["model", "firm"]],
            "budget": {"calls": 40},
        },
        "ask_a_model.py",
    )
    with ct.Store.open(path, create=True) as store:
        ct.run(study, store)
        (record,) = store.records(study.name, bodies=True)
    for answer in record.answers:
        if answer.calls:
            last = answer.calls[-1]
            for message in last["call"]["messages"]:
                print(f"--- {message['role']}\n{message['content']}")
            print(f"--- reply ({answer.kind})\n{last['reply'].get('text')}\n")
    print(f"{record.status.value}: {record.payoffs}, {record.calls} calls, kinds {record.kinds}")


def main() -> None:
    """Use the model on the command line, or the mock model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        if len(sys.argv) > 1:
            ask(sys.argv[1], path)
        else:
            with ct.mock_server(answer) as url:
                ask(f"vllm/mock@{url}", path)


if __name__ == "__main__":
    main()
