"""Telemetry of runs, read with OpenTelemetry's own SDK, conventions and protocol."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.models import Failure, ModelCall, Reply, Usage
from cheaptalk.yaml_files import parse_yaml
from tests.conftest import Command
from tests.fakes import Canned, broken, legal, study, with_model

pytest.importorskip("opentelemetry.sdk")
OWN_PREFIX = "cheaptalk."


class InMemoryTelemetry:
    """The telemetry of a run in the SDK's own in-memory exporters."""

    def __init__(self, *, content: bool = False) -> None:
        tracing = import_module("opentelemetry.sdk.trace")
        exporters = import_module("opentelemetry.sdk.trace.export.in_memory_span_exporter")
        metrics = import_module("opentelemetry.sdk.metrics")
        self._spans = exporters.InMemorySpanExporter()
        tracer = tracing.TracerProvider(shutdown_on_exit=False)
        processor = import_module("opentelemetry.sdk.trace.export").SimpleSpanProcessor
        tracer.add_span_processor(processor(self._spans))
        self._reader = import_module("opentelemetry.sdk.metrics.export").InMemoryMetricReader()
        meter = metrics.MeterProvider([self._reader], shutdown_on_exit=False)
        self.observer = ct.adapters.Telemetry(tracer, meter, content=content)

    @property
    def spans(self) -> list[Any]:
        return list(self._spans.get_finished_spans())

    @property
    def calls(self) -> list[Any]:
        return [span for span in self.spans if span.name.startswith("chat ")]

    @property
    def matches(self) -> dict[int, Any]:
        spans = [span for span in self.spans if span.name.startswith("match ")]
        return {span.context.span_id: span for span in spans}

    def points(self, name: str) -> list[Any]:
        """Return the points of a histogram."""
        (resource,) = self._reader.get_metrics_data().resource_metrics
        (scope,) = resource.scope_metrics
        (metric,) = [metric for metric in scope.metrics if metric.name == name]
        return list(metric.data.data_points)


def test_calls_are_children_of_matches_and_metrics_agree(tmp_path: Path) -> None:
    otel, models = InMemoryTelemetry(), Canned()
    store = tmp_path / "store.sqlite"
    ct.run(study(**with_model(temperature=0.5)), store, models=models, observer=otel.observer)
    with ct.Store.open(store) as opened:
        records = {record.id: record for record in opened.records("small", bodies=True)}
    played = {span.attributes["cheaptalk.match"]: span.attributes for span in otel.matches.values()}
    assert played == {
        id_: {
            "cheaptalk.study": "small",
            "cheaptalk.game": "bargaining",
            "cheaptalk.match": id_,
            "cheaptalk.status": record.status.value,
            **{f"cheaptalk.player.{place}": record.label(place) for place in record.seats},
        }
        for id_, record in records.items()
    }
    numbers = []
    for call in otel.calls:
        parent, about = otel.matches[call.parent.span_id], call.attributes
        assert parent.attributes["cheaptalk.match"] == about["cheaptalk.match"]
        assert parent.start_time <= call.start_time <= call.end_time <= parent.end_time
        parts = ("match", "request", "actor", "attempt", "sending")
        numbers.append("/".join(str(about[f"cheaptalk.{part}"]) for part in parts))
    assert sorted(numbers) == sorted(models.numbers) != []
    for metric, count in (
        ("gen_ai.client.operation.duration", len(numbers)),
        ("cheaptalk.match.duration", len(records)),
    ):
        assert sum(point.count for point in otel.points(metric)) == count
    tokens = otel.points("gen_ai.client.token.usage")
    assert {point.attributes["gen_ai.token.type"]: point.sum for point in tokens} == {
        "input": sum(record.input_tokens for record in records.values()),
        "output": sum(record.output_tokens for record in records.values()),
    }


def test_names_follow_semantic_conventions(tmp_path: Path) -> None:
    otel = InMemoryTelemetry(content=True)
    reply = Reply(
        model="tiny-1",
        finish="stop",
        usage=Usage(input_tokens=9, output_tokens=4, cached_tokens=2, reasoning_tokens=1),
    )
    models = Canned(lambda call, _: reply.model_copy(update={"text": legal(call)}))
    changes = with_model("http://gpu:81/v1", temperature=0.5, max_tokens=50, seed=7, top_p=0.9)
    ct.run(study(**changes), tmp_path / "s.sqlite", models=models, observer=otel.observer)
    module = "opentelemetry.semconv._incubating.attributes"
    known = {
        value
        for name in ("gen_ai", "server", "error")
        for value in vars(import_module(f"{module}.{name}_attributes")).values()
        if isinstance(value, str)
    }
    span = otel.calls[0]
    attributes = {name: value for name, value in span.attributes.items() if OWN_PREFIX not in name}
    assert attributes.keys() <= known
    assert span.name == "chat tiny"
    assert span.kind.name == "CLIENT"
    messages = json.loads(attributes.pop("gen_ai.input.messages"))
    assert [message["role"] for message in messages] == ["system", "user"]
    (completion,) = json.loads(attributes.pop("gen_ai.output.messages"))
    assert completion["parts"] == [{"type": "text", "content": legal(models.calls[0])}]
    match = span.attributes["cheaptalk.match"]
    assert attributes.pop("server.address") == "gpu"
    assert attributes.pop("server.port") == 81
    seat = span.attributes["cheaptalk.actor"]
    known_values = """
        {operation.name: chat, provider.name: vllm, request.model: tiny, response.model: tiny-1,
        request.temperature: 0.5, request.max_tokens: 50, request.seed: 7, request.top_p: 0.9,
        response.finish_reasons: [stop], output.type: json, usage.input_tokens: 9,
        usage.output_tokens: 4, usage.cache_read.input_tokens: 2,
        usage.reasoning.output_tokens: 1}"""
    expected = {f"gen_ai.{name}": value for name, value in parse_yaml(known_values).items()}
    expected |= {"gen_ai.conversation.id": f"{match}/{seat}"}
    reasons = list(attributes["gen_ai.response.finish_reasons"])
    assert attributes | {"gen_ai.response.finish_reasons": reasons} == expected
    metrics = import_module("opentelemetry.semconv._incubating.metrics.gen_ai_metrics")
    assert otel.points(metrics.GEN_AI_CLIENT_TOKEN_USAGE)
    (point,) = otel.points(metrics.GEN_AI_CLIENT_OPERATION_DURATION)
    assert point.explicit_bounds[:3] == (0.01, 0.02, 0.04)
    assert point.explicit_bounds[-1] == pytest.approx(81.92)
    values = import_module(f"{module}.gen_ai_attributes").GenAiProviderNameValues
    providers = import_module("cheaptalk.adapters.telemetry").PROVIDERS.values()
    assert set(providers) <= {value.value for value in values}


def test_message_content_is_opt_in(tmp_path: Path) -> None:
    private = "the prompt that was sent says so"

    def reply_or_fail(call: ModelCall, number: str) -> Reply | str:
        second_attempt = number.endswith("/1")
        return broken(f"invalid: {private}") if second_attempt else legal(call)

    for content in (False, True):
        otel, models = InMemoryTelemetry(content=content), Canned(reply_or_fail)
        store = tmp_path / f"{content}.sqlite"
        ct.run(study(**with_model()), store, models=models, observer=otel.observer)
        contents = [message.content for message in models.calls[0].messages]
        spans = "".join(span.to_json() for span in otel.spans)
        in_spans = [json.dumps(json.dumps(text))[3:-3] in spans for text in contents]
        assert in_spans == [content] * len(contents)
        assert (private in spans) is content
        failed = [call for call in otel.calls if call.attributes.get("error.type")]
        assert {call.attributes["error.type"] for call in failed} == {"provider_error"}
        assert {call.status.status_code.name for call in failed} == {"ERROR"}
        assert len(failed) < len(otel.calls)


def test_failed_matches_and_client_exceptions_are_errors(tmp_path: Path) -> None:
    def reply_or_fail(call: ModelCall, _: str) -> Reply | str:
        if otel.calls:
            raise RuntimeError(call.messages[0].content)
        return Reply(failure=Failure.PROVIDER_ERROR, status=400, detail="no")

    otel, store = InMemoryTelemetry(), tmp_path / "s.sqlite"
    models, failing = Canned(reply_or_fail), study(**with_model())
    ct.run(failing, store, models=models, concurrency=1, observer=otel.observer)
    errors = [call.attributes["error.type"] for call in otel.calls]
    assert errors == ["400"] + ["RuntimeError"] * 5
    assert {span.attributes["cheaptalk.status"] for span in otel.matches.values()} == {"failed"}
    assert {span.status.status_code.name for span in otel.spans} == {"ERROR"}
    assert all(not span.events for span in otel.spans)
    durations = otel.points("gen_ai.client.operation.duration")
    assert {point.attributes["error.type"] for point in durations} == {*errors}


@contextmanager
def collector() -> Iterator[tuple[str, dict[str, list[bytes]]]]:
    """Run an OTLP server. Yield its URL and the received bodies by path."""
    received: dict[str, list[bytes]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.setdefault(self.path, []).append(body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", received
        server.shutdown()
        thread.join()


def test_command_exports_to_endpoint_from_environment(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = import_module("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    store = tmp_path / "s.sqlite"
    file = tmp_path / "played.yaml"
    file.write_text(
        "name: played\ngames: [{game: bargaining, fixed: {horizon: 2}}]\n"
        "players: {m: {model: script/legal}, fair: {strategy: equal_split}}\n"
        "pairing: [[m, fair]]\n"
    )
    with collector() as (url, received):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "a laboratory")
        assert cheaptalk("run", str(file), "--store", str(store)).status == 0
        assert received == {}
        store.unlink()
        assert cheaptalk("run", str(file), "--store", str(store), "--telemetry").status == 0
    assert received.keys() == {"/v1/traces", "/v1/metrics"}
    (body,) = received["/v1/traces"]
    (sent,) = protocol.ExportTraceServiceRequest.FromString(body).resource_spans
    assert "a laboratory" in {pair.value.string_value for pair in sent.resource.attributes}
    names = [span.name for scope in sent.scope_spans for span in scope.spans]
    assert {"chat legal", "match bargaining"} == {*names}
    with closing(sqlite3.connect(store)) as db, db:
        ((calls,),) = db.execute("select sum(calls) from v_matches")
    assert names.count("chat legal") == calls
