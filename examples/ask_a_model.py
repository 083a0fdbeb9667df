"""Let a language model bargain, and print all requests and responses.

python examples/ask_a_model.py ollama/llama3.2  # your model
python examples/ask_a_model.py                  # a mock model, without a key or cost
"""

import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aiohttp import web

import cheaptalk as ct


async def mock_server(request: web.Request) -> web.Response:
    """Respond in the OpenAI chat format as a model that demands 70 and accepts any offer.

    Its first answer is invalid, to show how the request is repeated with the reason.
    """
    messages = (await request.json())["messages"]
    if '"decision"' in messages[-1]["content"]:
        answer: dict[str, object] = {"decision": "accept"}
    elif len(messages) == 2:
        answer = {"alice_gain": 70, "bob_gain": 70}
    else:
        answer = {"alice_gain": 70, "bob_gain": 30}
    choice = {"index": 0, "message": {"role": "assistant", "content": json.dumps(answer)}}
    return web.json_response({"id": "1", "model": "mock-1", "choices": [choice]})


@contextmanager
def served() -> Iterator[str]:
    """Serve the mock model in a thread, and yield its model string."""
    loop = asyncio.new_event_loop()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", mock_server)
    runner = web.AppRunner(app)
    loop.run_until_complete(runner.setup())
    site = web.TCPSite(runner, "127.0.0.1", 0)
    loop.run_until_complete(site.start())
    host, port = runner.addresses[0][:2]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"vllm/mock@http://{host}:{port}/v1"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(runner.cleanup())
        loop.close()


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
            with served() as model:
                ask(model, path)


if __name__ == "__main__":
    main()
