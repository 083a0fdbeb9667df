"""Models behind any URL that speaks the OpenAI chat format."""

import os
import time
from typing import Any

import openai
from openai import AsyncOpenAI, DefaultAioHttpClient
from openai.types.chat import ChatCompletion

from cheaptalk.models.calls import Failure, ModelCall, Reply, Usage
from cheaptalk.models.names import PROVIDERS, ModelName

CALL_HEADER = "X-Cheaptalk-Call"
"""The header that carries a call's number, so that a server's log can be held against ours."""


class OpenAIModels:
    """Makes calls to OpenAI-compatible servers; one connection pool for each server."""

    def __init__(self) -> None:
        self._clients: dict[tuple[str, str], AsyncOpenAI] = {}

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call. Every failure comes back as a reply that says what failed.

        Args:
            number: identifies the call in the server's log.
            deadline: seconds until the call counts as timed out.
        """
        name = ModelName.parse(call.model)
        started = time.monotonic()
        messages: Any = [message.model_dump() for message in call.messages]
        settings: Any = call.settings.sent()
        try:
            completion = await self._client(name).chat.completions.create(
                model=name.model,
                messages=messages,
                timeout=deadline,
                extra_headers={CALL_HEADER: number},
                **settings,
            )
            reply = _read(completion)
        except openai.APIError as error:
            reply = _failure(error)
        except ValueError as error:
            reply = _broken(f"the server's reply is not what it should be: {error}", retry=True)
        return reply.model_copy(update={"seconds": round(time.monotonic() - started, 4)})

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.close()

    def _client(self, name: ModelName) -> AsyncOpenAI:
        place = (name.provider, name.url)
        if place not in self._clients:
            key = os.environ.get(PROVIDERS[name.provider].key) or "none"
            self._clients[place] = AsyncOpenAI(
                base_url=name.url, api_key=key, max_retries=0, http_client=DefaultAioHttpClient()
            )
        return self._clients[place]


def _read(completion: ChatCompletion) -> Reply:
    choice: Any = completion.choices[0] if completion.choices else None
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
    if declined or choice.finish_reason == "content_filter":
        return Reply(
            failure=Failure.REFUSED,
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


def _failure(error: openai.APIError) -> Reply:
    if isinstance(error, openai.APITimeoutError):
        return Reply(failure=Failure.TIMED_OUT, detail="no answer before the deadline", retry=True)
    if isinstance(error, openai.APIStatusError):
        again = error.status_code in {408, 409, 429} or error.status_code >= 500
        return _broken(f"status {error.status_code}: {error.message}", retry=again)
    return _broken(f"{type(error).__name__}: {error.message}", retry=True)


def _broken(detail: str, *, retry: bool) -> Reply:
    return Reply(failure=Failure.PROVIDER_ERROR, detail=detail[:500], retry=retry)
