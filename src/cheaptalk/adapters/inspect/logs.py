"""Export of recorded matches as Inspect logs, for Inspect's viewer and analyses.

There is a log per game and model player of a study, with a sample per match and seat. It has the
scorers of the game's task, so that records and evaluations are comparable.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from cheaptalk.adapters.inspect.messages import (
    NOTHING_ASKED,
    continued,
    inspect_config,
    inspect_output,
    inspect_part,
)
from cheaptalk.adapters.inspect.scores import METRICS, achieved, answers_score, outcome_score
from cheaptalk.atomic_files import whole_folder
from cheaptalk.models import ChatMessage, ModelName, ModelSettings, Reply
from cheaptalk.records import AnswerRecord, MatchRecord, Stand, Standing, Status, Store, digest
from cheaptalk.records.store.lookup import StoreLike, StudyLike
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.exports.exporter import Exported


class Subject(NamedTuple):
    """The game and the label of the model player that a log covers."""

    game: str
    label: str


class Seat(NamedTuple):
    """A model's seat in a recorded match, with the match's status in the study."""

    record: MatchRecord
    stand: Stand
    name: str

    @property
    def seat(self) -> str:
        return self.record.seat_of(self.name)

    @property
    def settings(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.record.seats[self.seat]["spec"]
        return spec

    @property
    def model(self) -> ModelName:
        return ModelName.parse(self.settings["model"])

    @property
    def answers(self) -> list[AnswerRecord]:
        return [answer for answer in self.record.answers if answer.actor == self.name]

    @property
    def forfeited(self) -> bool:
        """Whether the match ended because this seat failed to answer a request."""
        last = self.record.answers[-1].request if self.record.answers else None
        failed = [
            answer for answer in self.answers if answer.request == last and answer.action is None
        ]
        return bool(failed) and self.record.status is Status.FORFEITED

    @property
    def id(self) -> str:
        return f"{self.record.id}-{self.name}"


def write_inspect_logs(store: StoreLike, study: StudyLike, folder: Path | str) -> Exported:
    """Write the matches of a study's models as Inspect logs; requires ``[inspect]``.

    Includes finished and forfeited matches, not failed or running ones. Dropped matches have no
    score.

    Args:
        store: the store, its file or its URL.
        study: a study in the store, or its name.
        folder: a new or empty folder, for ``inspect view --log-dir``.

    Returns:
        The number of logs and samples.

    Raises:
        StoreError: the store contains no such study.
        VersionMismatch: a match has another rules version than the installed one.
        CheaptalkError: no match of a model has ended, the folder can't be written, or Inspect
            isn't installed.
    """
    log = inspect_part("inspect_ai.log")
    name, rows = study if isinstance(study, str) else study.name, Counter[str]()
    with Store.opened(store) as opened:
        opened.study(name)
        subjects = dict.fromkeys(
            Subject(record.game, record.label(seat))
            for record in opened.records(name)
            for seat in record.seats
            if record.over and _of_model(record, seat)
        )
        if not subjects:
            raise CheaptalkError(f"{name}: no match of a model has ended")
        try:
            with whole_folder(Path(folder)) as half:
                for subject in subjects:
                    eval_log = _log(name, subject, list(_seats(opened, name, subject)))
                    begun = datetime.fromisoformat(eval_log.eval.created)
                    game, id_ = subject.game.replace("_", "-"), eval_log.eval.task_id
                    file = half / f"{begun:%Y-%m-%dT%H-%M-%S}_{game}_{id_}.eval"
                    log.write_eval_log(eval_log, file)
                    rows.update(logs=1, samples=len(eval_log.samples))
        except FileExistsError as error:
            raise CheaptalkError(f"{folder} already exists; choose a new folder") from error
        except OSError as error:
            why = error.strerror or error
            raise CheaptalkError(f"{folder} cannot be written: {why}") from error
    return Exported(Path(folder), dict(rows))


def _of_model(record: MatchRecord, seat: str) -> bool:
    """Return whether a model played the seat in a match that wasn't imported."""
    return bool(record.seats[seat]["spec"].get("model")) and not record.imported


def _seats(store: Store, study: str, subject: Subject) -> Iterator[Seat]:
    standing = Standing(store, study)
    for record in store.records(study, bodies=True, games=[subject.game]):
        for name, seat in record.at.items() if record.over else ():
            if record.label(seat) == subject.label and _of_model(record, seat):
                yield Seat(record, standing.of(record), name)


def _log(study: str, subject: Subject, seats: Sequence[Seat]) -> Any:
    log = inspect_part("inspect_ai.log")
    samples = [_sample(seat) for seat in seats]
    ended = [seat.record.finished for seat in seats if seat.record.finished is not None]
    begun = [seat.record.begun for seat in seats if seat.record.begun is not None] or ended
    usage: dict[str, Any] = {}
    for sample in samples:
        for model, used in sample.model_usage.items():
            usage[model] = usage[model] + used if model in usage else used
    eval_log = log.EvalLog(
        status="success",
        eval=_spec(study, subject, seats, min(begun)),
        plan=log.EvalPlan(config=inspect_config(_settings(seats[0].settings))),
        stats=log.EvalStats(
            started_at=_moment(min(begun)), completed_at=_moment(max(ended)), model_usage=usage
        ),
        samples=samples,
    )
    log.recompute_metrics(eval_log)
    return eval_log


def _spec(study: str, subject: Subject, seats: Sequence[Seat], begun: float) -> Any:
    log, first = inspect_part("inspect_ai.log"), seats[0]
    metrics = [
        {"name": f"inspect_ai/{name}", "options": options} for name, options in METRICS.items()
    ]
    id_ = digest(study, *subject)
    return log.EvalSpec(
        eval_id=id_,
        run_id=digest(study),
        task_id=id_,
        created=_moment(begun),
        task=f"cheaptalk/{subject.game}",
        task_display_name=subject.game,
        task_version=first.record.version,
        dataset=log.EvalDataset(
            name=study, samples=len(seats), sample_ids=[seat.id for seat in seats]
        ),
        model=first.model.short,
        model_base_url=first.model.url or None,
        config=log.EvalConfig(epochs=1),
        packages={"cheaptalk": first.record.body["package"]},
        metadata={"study": study, "player": subject.label, "settings": first.settings},
        scorers=[{"name": name, "metrics": {"*": metrics}} for name in ("outcome", "answers")],
    )


def _sample(seat: Seat) -> Any:
    log, scorer = inspect_part("inspect_ai.log"), inspect_part("inspect_ai.scorer")
    record, conversation = seat.record, _conversation(seat)
    result = record.result() if record.status is Status.FINISHED else None
    kinds = Counter(answer.kind for answer in seat.answers)
    metrics = achieved(record.rules, seat.name, result, kinds, forfeited=seat.forfeited)
    dropped = scorer.Score.unscored(reason="dropped", explanation=seat.stand.dropped_because)
    calls = [event for event in conversation["events"] if event.event == "model"]
    used = [call.output.usage for call in calls]
    times = (record.begun, record.finished)
    return log.EvalSample(
        **conversation,
        id=seat.id,
        epoch=1,
        input=calls[0].input if calls else NOTHING_ASKED,
        target="",
        scores={
            "outcome": dropped if seat.stand.dropped else outcome_score(metrics),
            "answers": answers_score(metrics),
        },
        metadata=_metadata(seat),
        model_usage={seat.model.short: sum(used[1:], used[0])} if used else {},
        started_at=times[0] and _moment(times[0]),
        completed_at=times[1] and _moment(times[1]),
        total_time=times[1] - times[0] if times[0] and times[1] else None,
    )


def _metadata(seat: Seat) -> dict[str, Any]:
    """Return a match's metadata, in which ``instance`` identifies the game instance."""
    record = seat.record
    return {
        "match_id": record.id,
        "actor": seat.name,
        "instance": f"{record.configuration.digest}/{record.instance_key}",
        "repeat": record.repeat,
        "players": {seat_name: record.label(seat_name) for seat_name in record.seats},
        "status": record.status.value,
        "reason": record.why,
        "kinds": record.kinds,
        "payoffs": record.payoffs,
        "outcome": record.outcome,
        "parameters": record.parameters,
        "instance_values": record.body["instance"],
        "seed": record.body["seed"],
    }


def _conversation(seat: Seat) -> dict[str, Any]:
    """Return the calls and answers as ``events``, the last ``messages``, and the ``output``."""
    event, model = inspect_part("inspect_ai.event"), inspect_part("inspect_ai.model")
    events, history, output = list[Any](), list[Any](), model.ModelOutput()
    begun = seat.record.begun or seat.record.finished or 0.0
    for answer in seat.answers:
        received = begun
        for recorded in answer.calls:
            call, reply = recorded["call"], Reply.model_validate(recorded["reply"])
            history = continued(
                history, [ChatMessage.model_validate(message) for message in call["messages"]]
            )
            output = inspect_output(reply, seat.model.short)
            sent, received = recorded.get("sent", begun), recorded.get("received", begun)
            times: dict[str, Any] = {"timestamp": _moment(sent), "completed": _moment(received)}
            times |= {"working_start": sent - begun, "working_time": reply.seconds}
            request = {"input": history, "tools": [], "tool_choice": "none"}
            request["config"] = inspect_config(_settings(call.get("settings") or {}))
            result = {"output": output, "error": output.error}
            result["cache"] = "read" if reply.cached else None
            parts = times | request | result
            events.append(event.ModelEvent(model=seat.model.short, **parts))
        data = {"request": answer.request, "kind": answer.kind, "action": answer.action}
        ended = {"timestamp": _moment(received), "working_start": received - begun}
        events.append(event.InfoEvent(source="cheaptalk", data=data, **ended))
    messages = history + [choice.message for choice in output.choices]
    return {"events": events, "messages": messages, "output": output}


def _settings(written: Mapping[str, Any]) -> ModelSettings:
    names = written.keys() & ModelSettings.model_fields.keys()
    return ModelSettings.model_validate({name: written[name] for name in names})


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
