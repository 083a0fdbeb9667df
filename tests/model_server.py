"""A scripted model behind the OpenAI chat format, over real HTTP, for tests and examples.

    python tests/model_server.py --port 8123 --log calls.txt --delay 0.02

It answers the questions of the GLEE games and of Deal or No Deal, and those for a whole number or
one of some words, legally and deterministically: what it answers depends on the conversation alone.
Each request's call number is appended to the log as it arrives. ``--faults`` makes the given share
of calls fail with status 503; ``python -m tests.attack.server`` starts a server that can do worse.
"""

import argparse
import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Sequence
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
    if "[propose]" in question:
        return tagged(divided(messages, luck))
    fields = divided(messages, luck) if '"books"' in question else filled(question, spoken, luck)
    return f"Here is my answer.\n```json\n{json.dumps(fields)}\n```"


def filled(question: str, spoken: str, luck: float) -> dict[str, Any]:
    """The form at the end of a question, filled in."""
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
    return fields


def divided(messages: list[dict[str, str]], luck: float) -> dict[str, Any]:
    """A move of Deal or No Deal: say what to take, and then take it, or what the other leaves."""
    briefing, question = messages[0]["content"], messages[-1]["content"]
    kinds = "book", "hat", "ball"
    pool = [int(re.findall(rf"(\d+) {kind}", briefing)[0]) for kind in kinds]
    offers = [
        [int(number) for number in found] if message["role"] == "assistant"
        else [have - int(number) for have, number in zip(pool, found, strict=True)]
        for message in messages[1:]
        for found in re.findall(r"I take (\d) books, (\d) hats and (\d) balls", message["content"])
    ]  # fmt: skip
    must = "message is no longer possible" in question
    if offers and (must or luck < 0.5):
        return dict(zip(("books", "hats", "balls"), offers[-1], strict=True))
    mine = [int(luck * (have + 1)) for have in pool]
    return {"message": "I take {} books, {} hats and {} balls.".format(*mine)}


def tagged(move: dict[str, Any]) -> str:
    """A move of Deal or No Deal as tagged text."""
    if "message" in move:
        return f"[message] {move['message']}"
    return "[propose] ({books} books, {hats} hats, {balls} balls)".format(**move)


def amount(text: str, pattern: str) -> float:
    """The last amount of dollars in a text that follows a pattern."""
    return float(re.findall(pattern, text)[-1].rstrip(".").replace(",", ""))


def completion(body: dict[str, Any], text: str) -> dict[str, Any]:
    """A completion in the OpenAI chat format; each word counts as a token.

    Where a schema or a tool is asked for, the answer comes as that, without the words around it.
    """
    words = sum(len(message["content"].split()) for message in body["messages"])
    said = len(text.split())
    message: dict[str, Any] = {"role": "assistant", "content": text}
    bare = text[text.find("{") : text.rfind("}") + 1]
    if bare and body.get("tools"):
        function = {"name": body["tools"][0]["function"]["name"], "arguments": bare}
        called = {"id": "call-1", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [called]}
    elif bare and "response_format" in body:
        message["content"] = bare
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": f"{body['model']}-2026-01-01",
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
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
    paths: Sequence[str] = ("/v1/chat/completions",),
) -> web.Application:
    """The server; ``app[CALLS]`` collects the numbers of the calls that arrived."""
    calls: list[str] = []
    app = web.Application(client_max_size=64 * 2**20)

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

    for path in paths:
        app.router.add_post(path, chat)
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
