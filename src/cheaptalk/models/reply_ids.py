"""Reply ids: no reply may answer two requests.

A gateway that mixes up its connections can answer a request with the reply to another one. The id
that a provider gives to each reply reveals it.
"""

import hashlib
from collections import OrderedDict, defaultdict

import msgspec

from cheaptalk.models.calls import ModelCall, Reply
from cheaptalk.models.http.failures import broken
from cheaptalk.models.model_strings import ModelName

REMEMBERED = 100_000
"""Ids that are remembered for each server."""


class ReplyIds:
    """The ids of a run's replies, by server."""

    def __init__(self) -> None:
        self._requests: defaultdict[tuple[str, str], OrderedDict[str, bytes]] = defaultdict(
            OrderedDict
        )

    def checked(self, call: ModelCall, reply: Reply) -> Reply:
        """Return the reply, or the provider's failure if it answered another request before.

        A gateway's cache may answer equal requests with one reply.
        """
        if reply.id is None:
            return reply
        name = ModelName.parse(call.model)
        requests = self._requests[name.provider, name.url]
        request = request_digest(call)
        if requests.setdefault(reply.id, request) != request:
            detail = (
                f'the server answered with the reply to another request (id "{reply.id:.100}"): '
                "check the gateway or proxy before it"
            )
            seen = reply.model_dump(include={"id", "model", "usage", "seconds", "sent", "route"})
            return broken(detail, retry=True).model_copy(update=seen | {"usage": reply.usage})
        if len(requests) > REMEMBERED:
            requests.popitem(last=False)
        return reply


def request_digest(call: ModelCall) -> bytes:
    """Return a digest of what a call asks, by which equal requests are known."""
    asked = call.model_dump(mode="json", include={"model", "messages", "settings"})
    return hashlib.sha256(msgspec.json.encode(asked, order="deterministic")).digest()[:16]
