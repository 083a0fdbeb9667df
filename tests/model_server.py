"""A scripted model behind the OpenAI chat format, over real HTTP, for tests and examples.

    python tests/model_server.py --port 8123 --log calls.txt --delay 0.02

It answers the questions of the GLEE games, and those for a whole number or one of some words,
legally and deterministically: what it answers depends on the conversation alone. Each request's
call number is appended to the log as it arrives. Misbehaviour can be asked for: ``--faults`` makes
the given share of calls fail with status 503.
"""

import argparse
import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import web

CALL_HEADER = "X-Cheaptalk-Call"
CALLS = web.AppKey("CALLS", list[str])
Answerer = Callable[[list[dict[str, str]]], str]
Handler = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse | None]]
"""Answers a request itself, or returns None to have it answered as usual."""


def answer(messages: list[dict[str, str]]) -> str:
    """A legal answer to the open question, chosen by a hash of the conversation."""
    spoken = json.dumps([message["content"] for message in messages])
    luck = int(hashlib.sha256(spoken.encode()).hexdigest()[:8], 16) / 2**32
    question = messages[-1]["content"]
    form = re.findall(r"\{[^{}]*\}", question)[-1]
    fields: dict[str, Any] = {}
    for name, options in re.findall(r'"(\w+)": ((?:"\w+"(?: or )?)+)', form):
        choices = re.findall(r'"(\w+)"', options)
        fields[name] = choices[int(luck * len(choices))]
    for name in re.findall(r'"(\w+)": <whole number>', form):
        fields[name] = int(10 * luck)
    if '"alice_gain"' in form:
        money = amount(spoken, r"divide \$([\d,.]+)")
        fields["alice_gain"] = round(money * luck)
        fields["bob_gain"] = money - fields["alice_gain"]
    if '"price"' in form:
        fields["price"] = round(10_000 * (0.5 + luck))
    if '"message"' in form:
        fields["message"] = f"My luck is {luck:.3f}."
    return f"Here is my answer.\n```json\n{json.dumps(fields)}\n```"


def amount(text: str, pattern: str) -> float:
    """The last amount of dollars in a text that follows a pattern."""
    return float(re.findall(pattern, text)[-1].rstrip(".").replace(",", ""))


def completion(body: dict[str, Any], text: str) -> dict[str, Any]:
    """A completion in the OpenAI chat format; each word counts as a token."""
    words = sum(len(message["content"].split()) for message in body["messages"])
    said = len(text.split())
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": f"{body['model']}-2026-01-01",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": words,
            "completion_tokens": said,
            "total_tokens": words + said,
        },
    }


async def nothing_special(request: web.Request, body: dict[str, Any]) -> web.StreamResponse | None:
    """Leave every request to be answered as usual."""
    return None


def make_app(
    log: Path | None = None,
    delay: float = 0.0,
    faults: float = 0.0,
    answerer: Answerer = answer,
    handler: Handler = nothing_special,
) -> web.Application:
    """The server; ``app[CALLS]`` collects the numbers of the calls that arrived."""
    calls: list[str] = []
    app = web.Application()

    async def chat(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        number = request.headers.get(CALL_HEADER, "")
        calls.append(number)
        if log is not None:
            with log.open("a") as file:
                file.write(number + "\n")
        await asyncio.sleep(delay)
        if faults and int(hashlib.sha256(number.encode()).hexdigest()[:8], 16) / 2**32 < faults:
            return web.json_response({"error": {"message": "overloaded"}}, status=503)
        special = await handler(request, body)
        if special is not None:
            return special
        return web.json_response(completion(body, answerer(body["messages"])))

    app.router.add_post("/v1/chat/completions", chat)
    app[CALLS] = calls
    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--faults", type=float, default=0.0)
    chosen = parser.parse_args()
    app = make_app(chosen.log, chosen.delay, chosen.faults)
    web.run_app(app, host="127.0.0.1", port=chosen.port, print=None)
