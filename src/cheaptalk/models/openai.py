"""Models behind any URL that speaks the OpenAI chat format."""

import asyncio
import os
import time
from typing import Any

import openai
from openai import AsyncOpenAI, DefaultAioHttpClient

from cheaptalk.models.calls import Failure, ModelCall, Reply, Usage
from cheaptalk.models.names import PROVIDERS, ModelName

CALL_HEADER = "X-Cheaptalk-Call"
"""The header that carries a call's number, so that a server's log can be held against ours."""


class OpenAIModels:
    """Makes calls to OpenAI-compatible servers; one connection pool for each server.

    Use as an asynchronous context manager, or :meth:`close` it.
    """

    def __init__(self) -> None:
        self._clients: dict[tuple[str, str], AsyncOpenAI] = {}

    async def __aenter__(self) -> "OpenAIModels":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call. Every failure comes back as a reply that says what failed.

        Args:
            number: identifies the call in the server's log.
            deadline: seconds until the call counts as timed out, from sending to the last byte.
        """
        name = ModelName.parse(call.model)
        key = os.environ.get(PROVIDERS[name.provider].key)
        started = time.monotonic()
        try:
            async with asyncio.timeout(deadline):
                reply = _read(await self._send(call, name, key, number))
        except TimeoutError:
            detail = f"no answer within {deadline:g} seconds"
            reply = Reply(failure=Failure.TIMED_OUT, detail=detail, retry=True)
        except openai.APIError as error:
            reply = _failure(error, key)
        except (AttributeError, TypeError, ValueError) as error:
            what = f"the server's reply is not what it should be: {error}"
            reply = _broken(what, key, retry=True)
        return reply.model_copy(update={"seconds": round(time.monotonic() - started, 4)})

    async def _send(self, call: ModelCall, name: ModelName, key: str | None, number: str) -> Any:
        messages: Any = [message.model_dump() for message in call.messages]
        settings: Any = call.settings.sent()
        return await self._client(name, key).chat.completions.create(
            model=name.model,
            messages=messages,
            timeout=None,  # the deadline is ours; the transport calls every lost connection one
            extra_headers={CALL_HEADER: number},
            **settings,
        )

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.close()

    def _client(self, name: ModelName, key: str | None) -> AsyncOpenAI:
        place = (name.provider, name.url)
        if place not in self._clients:
            self._clients[place] = AsyncOpenAI(
                base_url=name.url,
                api_key=key or "none",
                max_retries=0,
                http_client=DefaultAioHttpClient(),
            )
        return self._clients[place]


def _read(completion: Any) -> Reply:
    """A completion as a reply; servers are not trusted to keep to the format."""
    choice = completion.choices[0] if completion.choices else None
    usage = Usage()
    if completion.usage is not None:
        usage = Usage(
            input_tokens=completion.usage.prompt_tokens or 0,
            output_tokens=completion.usage.completion_tokens or 0,
        )
    if choice is None or choice.message is None:
        return Reply(
            failure=Failure.PROVIDER_ERROR,
            detail="the reply holds no choice",
            retry=True,
            model=completion.model,
            usage=usage,
        )
    declined = getattr(choice.message, "refusal", None)
    filtered = choice.finish_reason == "content_filter"
    if declined or filtered:
        return Reply(
            failure=Failure.FILTERED if filtered else Failure.REFUSED,
            detail=declined or "stopped by the provider's content filter",
            model=completion.model,
            finish=choice.finish_reason,
            usage=usage,
        )
    return Reply(
        text=choice.message.content or "",
        model=completion.model,
        finish=choice.finish_reason,
        usage=usage,
    )


def _failure(error: openai.APIError, key: str | None) -> Reply:
    if isinstance(error, openai.APIStatusError):
        again = error.status_code in {408, 409, 429} or error.status_code >= 500
        return _broken(f"status {error.status_code}: {error.message}", key, retry=again)
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return _broken(f"connection failed: {str(cause) or type(cause).__name__}", key, retry=True)


def _broken(detail: str, key: str | None, *, retry: bool) -> Reply:
    """A failure of the provider, in its own words but for a key that they may repeat."""
    said = " ".join((detail.replace(key, "[key]") if key else detail).split())
    return Reply(failure=Failure.PROVIDER_ERROR, detail=said[:500], retry=retry)
