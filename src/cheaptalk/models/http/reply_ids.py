"""Detection of replies that a server sends for two different requests.

A gateway that mixes up its connections can answer a request with the reply to another request. Such
a reply has the id of an earlier one.
"""

import hashlib
from collections import OrderedDict, defaultdict

import msgspec

from cheaptalk.models.calls import ModelCall, Reply
from cheaptalk.models.http.failures import broken
from cheaptalk.models.model_strings import ModelName

REMEMBERED = 100_000
"""Maximum number of ids remembered per server."""


class ReplyIds:
    """Ids of the replies that a run has received, by server, to detect repeated replies."""

    def __init__(self) -> None:
        self._requests: defaultdict[tuple[str, str], OrderedDict[str, bytes]] = defaultdict(
            OrderedDict
        )

    def checked(self, call: ModelCall, reply: Reply) -> Reply:
        """Return the reply, or a provider error if a different earlier request received it too.

        Identical requests may share a reply from a gateway's cache.
        """
        if reply.id is None:
            return reply
        name = ModelName.parse(call.model)
        requests = self._requests[name.provider, name.url]
        request = request_digest(call)
        if requests.setdefault(reply.id, request) != request:
            detail = (
                f'the server answered with the reply to another request (id "{reply.id:.100}"): '
                "check the gateway or proxy in front of it"
            )
            fields = reply.model_dump(include={"id", "model", "usage", "seconds", "sent", "route"})
            return broken(detail, retry=True).model_copy(update=fields | {"usage": reply.usage})
        if len(requests) > REMEMBERED:
            requests.popitem(last=False)
        return reply


def request_digest(call: ModelCall) -> bytes:
    """Return a digest of a call's model, messages and settings."""
    request = call.model_dump(mode="json", include={"model", "messages", "settings"})
    return hashlib.sha256(msgspec.json.encode(request, order="deterministic")).digest()[:16]
