"""Let a language model bargain, and read every word that went over the wire.

python examples/ask_a_model.py ollama/llama3.2  # a model of yours
python examples/ask_a_model.py                  # a stand-in, started here: no key, no cost
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
    """A server of the OpenAI chat format whose model asks for 70 and accepts anything.

    Its first answer is wrong, to show how the model is told so and asked again.
    """
    messages = (await request.json())["messages"]
    if '"decision"' in messages[-1]["content"]:
        answer: dict[str, object] = {"decision": "accept"}
    elif len(messages) == 2:
        answer = {"alice_gain": 70, "bob_gain": 70}
    else:
        answer = {"alice_gain": 70, "bob_gain": 30}
    choice = {"index": 0, "message": {"role": "assistant", "content": json.dumps(answer)}}
    return web.json_response({"id": "1", "model": "stand-in-1", "choices": [choice]})


@contextmanager
def served() -> Iterator[str]:
    """Serve the stand-in from a thread; yields the model string that reaches it."""
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
        yield f"vllm/stand-in@http://{host}:{port}/v1"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(runner.cleanup())
        loop.close()


def ask(model: str, path: Path) -> None:
    """Play one match of the model against a strategy and print its conversation."""
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
    """Ask the model named on the command line, or the stand-in."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        if len(sys.argv) > 1:
            ask(sys.argv[1], path)
        else:
            with served() as model:
                ask(model, path)


if __name__ == "__main__":
    main()
