"""What OpenTelemetry's own SDK, names and protocol make of a run."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.models import Failure, ModelCall, Reply, Usage
from tests.conftest import Command
from tests.fakes import Canned, broken, legal, study, with_model

pytest.importorskip("opentelemetry.sdk")
OUR_OWN = "cheaptalk."


class Seen:
    """A run's telemetry, kept by the SDK's own exporters in memory."""

    def __init__(self, *, content: bool = False) -> None:
        tracing = import_module("opentelemetry.sdk.trace")
        kept = import_module("opentelemetry.sdk.trace.export.in_memory_span_exporter")
        metrics = import_module("opentelemetry.sdk.metrics")
        self._spans = kept.InMemorySpanExporter()
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
        return [one for one in self.spans if one.name.startswith("chat ")]

    @property
    def matches(self) -> dict[int, Any]:
        found = [one for one in self.spans if one.name.startswith("match ")]
        return {one.context.span_id: one for one in found}

    def points(self, name: str) -> list[Any]:
        """The points of a histogram, by its name."""
        (resource,) = self._reader.get_metrics_data().resource_metrics
        (scope,) = resource.scope_metrics
        (metric,) = [one for one in scope.metrics if one.name == name]
        return list(metric.data.data_points)


def test_a_run_is_matches_with_their_calls_below_and_sums_that_agree(tmp_path: Path) -> None:
    seen, models = Seen(), Canned()
    store = tmp_path / "store.sqlite"
    ct.run(study(**with_model(temperature=0.5)), store, models=models, observer=seen.observer)
    assert len(seen.calls) == len(models.calls) > 0
    with ct.Store.open(store) as opened:
        records = {one.id: one for one in opened.records("small", bodies=True)}
    told = {one.attributes["cheaptalk.match"]: one.attributes for one in seen.matches.values()}
    assert told.keys() == records.keys()
    for id_, record in records.items():
        assert told[id_] == {
            "cheaptalk.study": "small", "cheaptalk.game": "bargaining", "cheaptalk.match": id_,
            "cheaptalk.status": record.status.value,
            **{f"cheaptalk.player.{place}": record.label(place) for place in record.seats},
        }  # fmt: skip
    for call in seen.calls:
        parent = seen.matches[call.parent.span_id]
        assert parent.attributes["cheaptalk.match"] == call.attributes["cheaptalk.match"]
        assert parent.start_time <= call.start_time <= call.end_time <= parent.end_time
    numbers = {
        "/".join(str(one.attributes[f"cheaptalk.{name}"])
                 for name in ("match", "request", "actor", "attempt", "sending"))
        for one in seen.calls
    }  # fmt: skip
    assert numbers == set(models.numbers)
    assert sum(one.count for one in seen.points("gen_ai.client.operation.duration")) == len(numbers)
    assert sum(one.count for one in seen.points("cheaptalk.match.duration")) == len(records)
    tokens = seen.points("gen_ai.client.token.usage")
    assert {one.attributes["gen_ai.token.type"]: one.sum for one in tokens} == {
        "input": sum(one.input_tokens for one in records.values()),
        "output": sum(one.output_tokens for one in records.values()),
    }


def test_names_are_those_of_the_conventions(tmp_path: Path) -> None:
    seen = Seen(content=True)
    reply = Reply(
        model="tiny-1", finish="stop",
        usage=Usage(input_tokens=9, output_tokens=4, cached_tokens=2, reasoning_tokens=1),
    )  # fmt: skip
    models = Canned(lambda call, _: reply.model_copy(update={"text": legal(call)}))
    changes = with_model("http://gpu:81/v1", temperature=0.5, max_tokens=50, seed=7, top_p=0.9)
    ct.run(study(**changes), tmp_path / "s.sqlite", models=models, observer=seen.observer)
    module = "opentelemetry.semconv._incubating.attributes"
    known = {
        value
        for name in ("gen_ai", "server", "error")
        for value in vars(import_module(f"{module}.{name}_attributes")).values()
        if isinstance(value, str)
    }
    span = seen.calls[0]
    used = {name: value for name, value in span.attributes.items() if OUR_OWN not in name}
    assert used.keys() <= known
    assert span.name == "chat tiny"
    assert span.kind.name == "CLIENT"
    told = json.loads(used.pop("gen_ai.input.messages"))
    assert [one["role"] for one in told] == ["system", "user"]
    (said,) = json.loads(used.pop("gen_ai.output.messages"))
    assert said["parts"] == [{"type": "text", "content": legal(models.calls[0])}]
    match = span.attributes["cheaptalk.match"]
    assert used == {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "vllm",
        "gen_ai.request.model": "tiny", "gen_ai.response.model": "tiny-1",
        "gen_ai.request.temperature": 0.5, "gen_ai.request.max_tokens": 50,
        "gen_ai.request.seed": 7, "gen_ai.request.top_p": 0.9,
        "gen_ai.response.finish_reasons": ("stop",), "gen_ai.output.type": "json",
        "server.address": "gpu", "server.port": 81,
        "gen_ai.conversation.id": f"{match}/{span.attributes['cheaptalk.actor']}",
        "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 4,
        "gen_ai.usage.cache_read.input_tokens": 2, "gen_ai.usage.reasoning.output_tokens": 1,
    }  # fmt: skip
    metrics = import_module("opentelemetry.semconv._incubating.metrics.gen_ai_metrics")
    assert seen.points(metrics.GEN_AI_CLIENT_TOKEN_USAGE)
    (point,) = seen.points(metrics.GEN_AI_CLIENT_OPERATION_DURATION)
    assert point.explicit_bounds[:3] == (0.01, 0.02, 0.04)
    assert point.explicit_bounds[-1] == pytest.approx(81.92)
    values = import_module(f"{module}.gen_ai_attributes").GenAiProviderNameValues
    theirs = import_module("cheaptalk.adapters.telemetry").PROVIDERS.values()
    assert set(theirs) <= {one.value for one in values}


def test_what_was_said_is_in_no_span_unless_it_is_asked_for(tmp_path: Path) -> None:
    private = "the prompt that was sent says so"

    def answers(call: ModelCall, number: str) -> Reply | str:
        again = number.endswith("/1")
        return broken(f"invalid: {private}") if again else legal(call)

    for content in (False, True):
        seen, models = Seen(content=content), Canned(answers)
        store = tmp_path / f"{content}.sqlite"
        ct.run(study(**with_model()), store, models=models, observer=seen.observer)
        words = [one.content for one in models.calls[0].messages]
        spans = "".join(one.to_json() for one in seen.spans)
        found = [json.dumps(json.dumps(one))[3:-3] in spans for one in words]
        assert found == [content] * len(words)
        assert (private in spans) is content
        failed = [one for one in seen.calls if one.attributes.get("error.type")]
        assert {one.attributes["error.type"] for one in failed} == {"provider_error"}
        assert {one.status.status_code.name for one in failed} == {"ERROR"}
        assert len(failed) < len(seen.calls)


def test_a_match_that_fails_and_a_client_that_breaks_are_errors(tmp_path: Path) -> None:
    def answers(call: ModelCall, _: str) -> Reply | str:
        if seen.calls:
            raise RuntimeError(call.messages[0].content)
        return Reply(failure=Failure.PROVIDER_ERROR, status=400, detail="no")

    seen = Seen()
    ct.run(
        study(**with_model()), tmp_path / "s.sqlite", models=Canned(answers), concurrency=1,
        observer=seen.observer,
    )  # fmt: skip
    errors = [one.attributes["error.type"] for one in seen.calls]
    assert errors == ["400"] + ["RuntimeError"] * 5
    assert {one.attributes["cheaptalk.status"] for one in seen.matches.values()} == {"failed"}
    assert {one.status.status_code.name for one in seen.spans} == {"ERROR"}
    assert all(not one.events for one in seen.spans)
    assert {
        one.attributes["error.type"] for one in seen.points("gen_ai.client.operation.duration")
    } == {*errors}


@contextmanager
def collector() -> Iterator[tuple[str, dict[str, list[bytes]]]]:
    """A server that takes what is sent by OTLP: its address, and what came by path."""
    came: dict[str, list[bytes]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            came.setdefault(self.path, []).append(body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", came
        server.shutdown()
        thread.join()


def test_the_command_sends_to_where_the_environment_says(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = import_module("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    store = tmp_path / "s.sqlite"
    file = tmp_path / "played.yaml"
    file.write_text(
        "name: played\ngames: [{game: bargaining, fixed: {horizon: 2}}]\n"
        "players: {m: {model: script/legal}, fair: {strategy: equal_split}}\n"
        "pairing: [[m, fair]]\n"
    )
    with collector() as (url, came):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "a laboratory")
        assert cheaptalk("run", str(file), "--store", str(store)).status == 0
        assert came == {}
        store.unlink()
        assert cheaptalk("run", str(file), "--store", str(store), "--telemetry").status == 0
    assert came.keys() == {"/v1/traces", "/v1/metrics"}
    (body,) = came["/v1/traces"]
    (sent,) = wanted.ExportTraceServiceRequest.FromString(body).resource_spans
    assert "a laboratory" in {one.value.string_value for one in sent.resource.attributes}
    names = [span.name for scope in sent.scope_spans for span in scope.spans]
    assert {"chat legal", "match bargaining"} == {*names}
    with sqlite3.connect(store) as db:
        ((calls,),) = db.execute("select sum(calls) from v_matches")
    assert names.count("chat legal") == calls
