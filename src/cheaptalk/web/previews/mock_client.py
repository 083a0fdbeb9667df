"""A client for a mock model in this process, which answers at once and costs nothing."""

import json

from cheaptalk.mock_models.answers import SCHEMA, answer
from cheaptalk.models import ModelCall, Reply


class MockClient:
    """A client whose answers are random and legal, as those of the mock server."""

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        messages = [{"role": item.role, "content": item.content} for item in call.messages]
        if call.form is not None:
            messages[-1][SCHEMA] = json.dumps(call.form.json_schema)
        return Reply(text=answer(messages), model="mock", finish="stop")
