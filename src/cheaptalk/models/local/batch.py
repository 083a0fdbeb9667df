"""Continuous batching: calls join and leave a batch while the answers of others are generated."""

import time
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import takewhile
from typing import Any, NamedTuple

from cheaptalk.models.calls import ModelCall, Reply, Usage
from cheaptalk.models.http.failures import broken, timed_out
from cheaptalk.models.local.generator import Generator
from cheaptalk.models.local.masks import restricted
from cheaptalk.models.local.prefix_cache import PASS, Reading, shared_prefixes
from cheaptalk.models.local.row_cache import SPARE, RowCache
from cheaptalk.models.local.sampling import filters, penalised, sample, stream, temperature_of
from cheaptalk.models.settings import most_characters, wire
from cheaptalk.models.structured_output import standard, ways


class PendingCall(NamedTuple):
    """A queued call to a model, with a timeout that starts when processing begins."""

    call: ModelCall
    seed: int
    deadline: float
    reply: "Future[Reply]"

    @property
    def seeded(self) -> bool:
        """Whether the settings specify a seed."""
        return self.call.settings.seed is not None


State = tuple[Any, int]
"""The state of a text that starts with the same tokens as a prompt, and their number."""


class Row:
    """A call that is being answered.

    Attributes:
        ids: the tokens of the answer so far, including an end token.
        processed: the number of tokens of which the model has computed the state.

    Raises:
        ValueError: the call's schema or the model's tokenizer is not supported.
    """

    def __init__(self, pending: PendingCall, generator: Generator) -> None:
        call, config = pending.call, generator.model.generation_config
        self.pending = pending
        self.seeded = pending.seeded
        self.route = ways(call)[0]
        self.prompt = generator.prompt(call, self.route)
        self.ids: list[int] = []
        self.processed = 0
        self.started = time.monotonic()
        self.most = wire(call.settings, call.model)["max_tokens"]
        self.temperature = temperature_of(call.settings, config)
        self.stream = stream(pending.seed)
        self.matcher: Any = None
        self.longest = most_characters(call.settings, call.model)
        if call.form and self.route == "schema":
            self.matcher = generator.schemas.matcher(standard(call.form.json_schema, self.longest))

    def add(self, token: int, generator: Generator) -> Reply | None:
        """Append a token to the answer; return the reply if the call ends with it.

        Raises:
            ValueError: the token violates the schema.
        """
        self.ids.append(token)
        if self.matcher is not None and not self.matcher.consume_token(token):
            raise ValueError(self.matcher.get_error())
        complete = token in generator.ends or bool(self.matcher and self.matcher.is_stopped())
        if complete or len(self.ids) >= self.most or self._stop(generator):
            return self._reply(generator, complete)
        if time.monotonic() - self.started > self.pending.deadline:
            return timed_out(self.pending.deadline).model_copy(update=self._record())
        return None

    def _stop(self, generator: Generator) -> bool:
        stops = self.pending.call.settings.stop or ()
        longest = max(map(len, stops), default=0)  # a token is at least a fourth of a character
        ending = generator.tokenizer.decode(self.ids[-4 * longest - 1 :]) if stops else ""
        return any(stop in ending for stop in stops)

    def _reply(self, generator: Generator, complete: bool) -> Reply:
        ids = self.ids[:-1] if self.ids[-1] in generator.ends else self.ids
        text = generator.tokenizer.decode(ids, skip_special_tokens=True)
        stops = self.pending.call.settings.stop or ()
        stopped = [text.index(stop) for stop in stops if stop in text]
        return Reply(
            text=text[: min(stopped)] if stopped else text,
            model=generator.name,
            finish="stop" if complete or stopped else "length",
        ).model_copy(update=self._record())

    def _record(self) -> dict[str, Any]:
        sent: dict[str, Any] = {"temperature": self.temperature}
        if self.temperature:
            sent["seed"] = self.pending.seed
        if self.matcher is not None:
            sent["max_characters"] = self.longest
        return {
            "usage": Usage(input_tokens=len(self.prompt), output_tokens=len(self.ids)),
            "sent": sent,
            "route": self.pending.call.form and self.route,
            "seconds": round(time.monotonic() - self.started, 4),
        }


class Batch:
    """The calls that a model answers at present.

    A call with a seed in its settings is answered without others and without the prefix cache,
    which change the rounding of scores.

    Args:
        generator: the model.

    Attributes:
        limit: the maximum number of calls: halved after a failure, and increased by answers.
    """

    def __init__(self, generator: Generator) -> None:
        self.limit = generator.most
        self._generator = generator
        self._rows: list[Row | None] = []  # the rows of the cache; None is free
        self._cache: Any = None

    @property
    def _live(self) -> list[Row]:
        return [row for row in self._rows if row is not None]

    def __len__(self) -> int:
        return len(self._live)

    def advance(self, waiting: list[PendingCall]) -> None:
        """Let waiting calls join, removing them from the list, and generate a token per call.

        If the model fails, its calls wait again, and fewer are answered at a time. If a single call
        fails, its reply reports the failure.
        """
        joining = self._joining(waiting)
        del waiting[: len(joining)]
        rows = [row for call in joining if (row := self._row(call))]
        try:
            with self._generator.torch.inference_mode():
                self._add(rows)
                self._step()
        except Exception as error:  # noqa: BLE001 - a model that breaks is a failed call
            started = dict.fromkeys([*self._live, *rows])
            calls = [row.pending for row in started if not row.pending.reply.done()]
            self._rows, self._cache = [], None
            self.limit = max(1, len(calls) // 2)
            if len(calls) == 1:
                calls.pop().reply.set_result(broken(f"the model failed: {error}", retry=False))
            waiting[:0] = calls
        if not self:
            self._rows, self._cache = [], None  # releases memory

    def _joining(self, waiting: Sequence[PendingCall]) -> Sequence[PendingCall]:
        """Return the calls that join now, in order; few calls wait until others can join, too."""
        live = self._live
        alone = self._generator.token is None or any(row.seeded for row in live)
        if not waiting or (live and (alone or waiting[0].seeded)):
            return ()
        if waiting[0].seeded:
            return waiting[:1]
        free = max(self.limit - len(live), 0)
        calls = [*takewhile(lambda pending: not pending.seeded, waiting)][:free]
        return calls if len(calls) >= len(live) // 4 else ()

    def _row(self, pending: PendingCall) -> Row | None:
        reply = pending.reply
        if not reply.running() and not reply.set_running_or_notify_cancel():
            return None
        try:
            return Row(pending, self._generator)
        except Exception as error:  # noqa: BLE001 - such as the errors of chat templates
            reply.set_result(broken(f"the model failed: {error}", retry=False))
            return None

    def _add(self, rows: Sequence[Row]) -> None:
        """Process the prompts of new rows, and let them join."""
        if self._generator.token is not None:
            self._share(rows)
        states = [self._find(row) for row in rows]
        unread = [len(row.prompt) - read for row, (_, read) in zip(rows, states, strict=True)]
        groups = [range(len(rows))] if self._generator.token is None else similar(unread)
        for group in filter(None, groups):
            members: list[Row | None] = [rows[index] for index in group]
            prompts = [rows[index].prompt for index in group]
            scores, cache = self._read(prompts, [states[index] for index in group])
            self._extend(members, scores, cache)
            self._join(members, cache)

    def _find(self, row: Row) -> State:
        if row.seeded or self._generator.token is None:
            return None, 0
        return self._generator.readings.find(row.prompt)

    def _share(self, rows: Sequence[Row]) -> None:
        """Process prefixes that new rows share, and cache them."""
        read = {index: self._find(row)[1] for index, row in enumerate(rows) if not row.seeded}
        fresh = {
            index: rows[index].prompt
            for index, tokens in read.items()
            if 2 * tokens < len(rows[index].prompt)
        }
        for indexes, tokens in shared_prefixes(fresh):
            if tokens - max(read[index] for index in indexes) > PASS:
                text = rows[indexes[0]].prompt[:tokens]
                _, cache = self._read([text], [self._generator.readings.find(text)])
                self._generator.readings.keep(Reading(text, cache.row(0, tokens).clone()))

    def _read(self, prompts: Sequence[list[int]], states: Sequence[State]) -> tuple[Any, Any]:
        """Process prompts, of which the states are known in part; return scores and a cache."""
        lengths = [*map(len, prompts)]
        width = max(lengths)
        unread = max(length - read for length, (_, read) in zip(lengths, states, strict=True))
        padding = [self._generator.tokenizer.pad_token_id]
        tokens = [(padding * (width - len(prompt)) + prompt)[-unread:] for prompt in prompts]
        cache = None
        if self._generator.token is not None:
            token, columns = self._generator.token, unread + SPARE
            cache = RowCache.empty(token, len(prompts), width - unread, columns)
            for row, (length, (state, _)) in enumerate(zip(lengths, states, strict=True)):
                if length > unread:
                    cache.write(row, state[..., : length - unread, :])
        return self._generator.scores(tokens, lengths, cache)

    def _join(self, rows: list[Row | None], cache: Any) -> None:
        """Let rows that have been processed in a cache of their own join the batch."""
        if not self._live:
            self._rows, self._cache = rows, cache
            return
        joining = {index: row for index, row in enumerate(rows) if row is not None}
        free = [index for index, row in enumerate(self._rows) if row is None]
        longest = max((row.processed for row in joining.values()), default=0)
        if len(joining) > len(free) or longest > self._cache.end:
            added = max(len(joining) - len(free), 0)
            kept = range(len(self._rows))
            free += range(len(kept), len(kept) + added)
            self._rows += [None] * added
            self._cache.arrange([*kept, *[None] * added], max(longest, self._longest))
        for place, (index, row) in zip(free, joining.items(), strict=False):
            self._cache.write(place, cache.row(index, row.processed))
            self._rows[place] = row
        self._cache.span = self._longest

    @property
    def _longest(self) -> int:
        return max(row.processed for row in self._live)

    def _step(self) -> None:
        """Generate the next token of each row."""
        live = self._live
        if not live:
            return
        if isinstance(self._cache, RowCache):
            self._rearrange()
        padding = self._generator.tokenizer.pad_token_id
        tokens = [[padding if row is None else row.ids[-1]] for row in self._rows]
        lengths = [1 if row is None else row.processed + 1 for row in self._rows]
        scores, self._cache = self._generator.scores(tokens, lengths, self._cache)
        for row in live:
            row.processed += 1
        self._extend(self._rows, scores, self._cache)

    def _rearrange(self) -> None:
        """Make space for the next token, and remove free rows if they are the majority."""
        kept = [*range(len(self._rows))]
        if 2 * len(self) < len(self._rows):
            kept = [index for index in kept if self._rows[index] is not None]
        if len(kept) < len(self._rows) or self._cache.full:
            self._rows = [self._rows[index] for index in kept]
            self._cache.arrange(kept, self._longest)
        self._cache.span = self._longest

    def _extend(self, rows: list[Row | None], scores: Any, cache: Any) -> None:
        """Choose the next token of each row; a row whose answer ends becomes None."""
        live = [index for index, row in enumerate(rows) if row is not None]
        open_rows = [row for row in rows if row is not None]
        tokens = chosen(open_rows, scores[live], self._generator.model.generation_config)
        for index, row, token in zip(live, open_rows, tokens, strict=True):
            row.processed = row.processed or len(row.prompt)
            try:
                reply = row.add(token, self._generator)
            except ValueError as error:
                reply = broken(f"the model failed: {error}", retry=False)
            if reply is not None:
                rows[index] = None
                self.limit = min(self.limit + 1, self._generator.most)
                if isinstance(cache, RowCache) and not row.seeded:
                    state = cache.row(index, row.processed).clone()
                    self._generator.readings.keep(Reading([*row.prompt, *row.ids], state))
                row.pending.reply.set_result(reply)


def chosen(rows: Sequence[Row], scores: Any, config: Any) -> list[int]:
    """Return the next token of each row, given the scores with the shape [rows, vocabulary]."""
    scores = penalised(scores, ([*row.prompt, *row.ids] for row in rows), config)
    matchers = {index: row.matcher for index, row in enumerate(rows) if row.matcher is not None}
    scores = restricted(scores, matchers)
    tokens = scores.argmax(-1)
    sampled: dict[tuple[float, float | None], list[int]] = {}
    for index, row in enumerate(rows):
        if row.temperature:
            key = row.temperature, row.pending.call.settings.top_p
            sampled.setdefault(key, []).append(index)
    for (temperature, _), indexes in sampled.items():
        exclude = filters(rows[indexes[0]].pending.call.settings, config)
        streams = [rows[index].stream for index in indexes]
        tokens[indexes] = sample(scores[indexes], temperature, exclude, streams)
    result: list[int] = tokens.tolist()
    return result


def similar(unread: Sequence[int]) -> list[list[int]]:
    """Group prompts so that the padding of a prompt costs less than another pass.

    >>> similar([300, 20, 290, 25])
    [[0, 2], [3, 1]]
    """
    groups: list[list[int]] = []
    for index in sorted(range(len(unread)), key=unread.__getitem__, reverse=True):
        if groups and unread[groups[-1][0]] - unread[index] <= PASS:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups
