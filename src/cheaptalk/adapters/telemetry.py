"""OpenTelemetry traces and metrics of a run, following the conventions for generative AI.

A match is a span, and each attempt of a model call is a child span. Names follow the semantic
conventions for generative AI, v0.1.0 (spans and metrics of client inference); cheaptalk's own begin
with ``cheaptalk.``. Contents are omitted by default, because prompts contain a seat's private
information.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from time import perf_counter
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from cheaptalk import __version__
from cheaptalk.calls.dispatcher import Models
from cheaptalk.extras import needing
from cheaptalk.models import ChatMessage, ModelCall, Reply
from cheaptalk.models.model_strings import ModelName
from cheaptalk.records import MatchEnd, Status
from cheaptalk.studies import PlannedMatch, RunObserver
from cheaptalk.studies.runs.host import End

Attributes: TypeAlias = dict[str, Any]
PROVIDERS: Mapping[str, str] = {
    "azure-openai": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
"""The conventions' names of providers that differ from cheaptalk's."""
PORTS = {"http": 80, "https": 443}
SECONDS = [0.01 * 2**power for power in range(14)]
"""Bucket bounds of durations in the conventions."""
TOKENS = [4**power for power in range(14)]
"""Bucket bounds of token counts in the conventions."""
HISTOGRAMS = (
    ("gen_ai.client.operation.duration", "s", "GenAI operation duration.", SECONDS),
    ("gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.", TOKENS),
    ("cheaptalk.match.duration", "s", "Duration of matches played by this process.", None),
)
"""Names, units, descriptions and bucket bounds of the metrics."""


class Telemetry(RunObserver):
    """Observer of a run that records matches and calls as spans and metrics.

    Args:
        tracer_provider: OpenTelemetry's tracer provider; by default the global one, which creates
            no spans unless it is configured.
        meter_provider: OpenTelemetry's meter provider; by default the global one.
        content: whether spans contain prompts, responses and providers' error messages.

    Raises:
        CheaptalkError: OpenTelemetry isn't installed.
    """

    def __init__(
        self, tracer_provider: Any = None, meter_provider: Any = None, *, content: bool = False
    ) -> None:
        with needing("telemetry"):
            self._trace = import_module("opentelemetry.trace")
            metrics = import_module("opentelemetry.metrics")
        self._tracer = self._trace.get_tracer("cheaptalk", __version__, tracer_provider)
        meter = metrics.get_meter("cheaptalk", __version__, meter_provider)
        self._seconds, self._tokens, self._matches = (
            meter.create_histogram(name, unit, text, explicit_bucket_boundaries_advisory=bounds)
            for name, unit, text, bounds in HISTOGRAMS
        )
        self.content = content

    def models(self, models: Models) -> Models:
        return _Traced(models, self)

    @contextmanager
    def match(self, study: str, match: PlannedMatch) -> Iterator[Callable[[End], None]]:
        game = match.configuration.game
        about = {"cheaptalk.study": study, "cheaptalk.game": game.name}
        players = {
            f"cheaptalk.player.{seat}": seated.label
            for seat, seated in zip(game.seats, match.seating, strict=True)
        }
        attributes = about | players | {"cheaptalk.match": match.id}
        began = perf_counter()
        with self._span(f"match {game.name}", "INTERNAL", attributes) as span:

            def tell(end: End) -> None:
                other = Status.LIVE if end is None else Status.FAILED
                status = (end.status if isinstance(end, MatchEnd) else other).value
                span.set_attribute("cheaptalk.status", status)
                if status == Status.FAILED:
                    self._fail(span, status)
                self._matches.record(perf_counter() - began, about | {"cheaptalk.status": status})

            yield tell

    @contextmanager
    def call(self, call: ModelCall, number: str) -> Iterator[Callable[[Reply], None]]:
        """Open a span for one attempt of a model call; yield a function that records the reply."""
        about = _model_attributes(call)
        attributes = about | _setting_attributes(call) | _request_attributes(number)
        if self.content:
            attributes["gen_ai.input.messages"] = json.dumps(
                [_message(message) for message in call.messages]
            )
        began = perf_counter()
        with self._span(f"chat {about['gen_ai.request.model']}", "CLIENT", attributes) as span:

            def tell(reply: Reply) -> None:
                about.update({"gen_ai.response.model": reply.model} if reply.model else {})
                if reply.usage.input_tokens:
                    for kind in ("input", "output"):
                        count = getattr(reply.usage, f"{kind}_tokens")
                        self._tokens.record(count, about | {"gen_ai.token.type": kind})
                span.set_attributes(about | _used(reply))
                if self.content and reply.text is not None:
                    span.set_attribute("gen_ai.output.messages", json.dumps([_answer(reply)]))
                if reply.failure is not None:
                    about["error.type"] = str(reply.status or reply.failure)
                    detail = reply.detail if self.content else None
                    self._fail(span, about["error.type"], detail)

            try:
                yield tell
            except BaseException as error:
                about["error.type"] = type(error).__qualname__
                raise
            finally:
                self._seconds.record(perf_counter() - began, about)

    @contextmanager
    def _span(self, name: str, kind: str, attributes: Attributes) -> Iterator[Any]:
        """Open a span for the enclosed code; if it raises an exception, record only the type."""
        silent = {"record_exception": False, "set_status_on_exception": False}
        kind = self._trace.SpanKind[kind]
        with self._tracer.start_as_current_span(name, None, kind, attributes, **silent) as span:
            try:
                yield span
            except BaseException as error:
                self._fail(span, type(error).__qualname__)
                raise

    def _fail(self, span: Any, error: str, detail: str | None = None) -> None:
        span.set_attribute("error.type", error)
        span.set_status(self._trace.StatusCode.ERROR, detail)


class _Traced:
    """A model client that records a span for each call."""

    def __init__(self, models: Models, telemetry: Telemetry) -> None:
        self._models = models
        self._telemetry = telemetry

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        with self._telemetry.call(call, number) as tell:
            reply = await self._models.call(call, number, deadline)
            tell(reply)
        return reply


@contextmanager
def open_telemetry(*, content: bool = False) -> Iterator[Telemetry]:
    """Export telemetry over OTLP/HTTP, and send the remaining data on exit.

    Use OpenTelemetry's environment variables, such as ``OTEL_EXPORTER_OTLP_ENDPOINT`` (default:
    port 4318 of this machine), ``OTEL_EXPORTER_OTLP_HEADERS``, ``OTEL_SERVICE_NAME`` and
    ``OTEL_TRACES_SAMPLER``.

    Args:
        content: see :class:`Telemetry`.

    Raises:
        CheaptalkError: OpenTelemetry isn't installed.
    """
    with needing("telemetry"):
        tracing = import_module("opentelemetry.sdk.trace")
        batches = import_module("opentelemetry.sdk.trace.export")
        metrics = import_module("opentelemetry.sdk.metrics")
        readers = import_module("opentelemetry.sdk.metrics.export")
        resources = import_module("opentelemetry.sdk.resources")
        spans = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        numbers = import_module("opentelemetry.exporter.otlp.proto.http.metric_exporter")
    own_resource = resources.Resource.create({"service.name": "cheaptalk"})
    resource = own_resource.merge(resources.OTELResourceDetector().detect())
    tracer = tracing.TracerProvider(resource=resource, shutdown_on_exit=False)
    tracer.add_span_processor(batches.BatchSpanProcessor(spans.OTLPSpanExporter()))
    reader = readers.PeriodicExportingMetricReader(numbers.OTLPMetricExporter())
    meter = metrics.MeterProvider([reader], resource, shutdown_on_exit=False)
    try:
        yield Telemetry(tracer, meter, content=content)
    finally:
        tracer.shutdown()
        meter.shutdown()


def _model_attributes(call: ModelCall) -> Attributes:
    """Return the attributes that describe a call's operation, model and server.

    >>> _model_attributes(ModelCall(model="xai/grok-4", messages=()))["gen_ai.provider.name"]
    'x_ai'
    """
    name = ModelName.parse(call.model)
    url = urlsplit(name.url)
    attributes: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDERS.get(name.provider, name.provider),
        "gen_ai.request.model": name.model,
    }
    if url.hostname:
        port = url.port or PORTS[url.scheme]
        attributes |= {"server.address": url.hostname, "server.port": port}
    return attributes


def _setting_attributes(call: ModelCall) -> Attributes:
    settings = call.settings.model_dump(exclude_none=True, exclude={"reasoning"})
    if "stop" in settings:
        settings["stop_sequences"] = settings.pop("stop")
    attributes = {f"gen_ai.request.{name}": value for name, value in settings.items()}
    return attributes | ({"gen_ai.output.type": "json"} if call.form else {})


def _request_attributes(number: str) -> Attributes:
    """Parse span attributes, such as match and attempt, from the number of a call.

    >>> _request_attributes("a1b2/3/alice/0/2")["gen_ai.conversation.id"]
    'a1b2/alice'
    """
    match, request, seat, attempt, sending = number.split("/")
    return {
        "gen_ai.conversation.id": f"{match}/{seat}",
        "cheaptalk.match": match,
        "cheaptalk.request": int(request),
        "cheaptalk.actor": seat,
        "cheaptalk.attempt": int(attempt),
        "cheaptalk.sending": int(sending),
    }


def _used(reply: Reply) -> Attributes:
    usage = reply.usage
    used: Attributes = {"gen_ai.response.finish_reasons": [reply.finish]} if reply.finish else {}
    if usage.input_tokens:
        used |= {
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
        }
    return used


def _message(message: ChatMessage) -> dict[str, Any]:
    return {"role": message.role, "parts": [{"type": "text", "content": message.content}]}


def _answer(reply: Reply) -> dict[str, Any]:
    thought = [{"type": "reasoning", "content": reply.reasoning}] if reply.reasoning else []
    parts = [*thought, {"type": "text", "content": reply.text}]
    return {"role": "assistant", "parts": parts, "finish_reason": reply.finish or "unknown"}
