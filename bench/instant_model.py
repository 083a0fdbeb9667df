"""Mock model server that returns a fixed answer to every request after a delay.

    python bench/instant_model.py DELAY [CERTIFICATE]

It prints its port and runs until it is stopped. The delay is in seconds. The answer is legal in
persuasion. With a certificate (a PEM file that also contains the key), the server uses HTTPS.
"""

import asyncio
import json
import ssl
import sys

from aiohttp import web

TEXT = '{"decision": "yes"}'
BACKLOG = 4096
"""Maximum number of connections that wait to be accepted."""


async def serve(delay: float, certificate: str | None = None) -> None:
    """Serve requests until the process is stopped."""
    message = {"role": "assistant", "content": TEXT}
    data = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "instant",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 7, "total_tokens": 307},
    }
    body = json.dumps(data).encode()

    async def chat(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(delay)
        return web.Response(body=body, content_type="application/json")

    app = web.Application()
    app.router.add_post("/v1/chat/completions", chat)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    context = None
    if certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=BACKLOG, ssl_context=context)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1]), *sys.argv[2:]))
