"""Export recorded matches as Inspect logs, for its viewer and analyses.

There is a log for each game and model player of a study, with a sample for each match and seat. Its
scorers are those of the game's task, so that records and evaluations can be compared.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from cheaptalk.adapters.inspect.messages import (
    NOTHING_ASKED,
    config_of,
    continued,
    inspect_part,
    output_of,
)
from cheaptalk.adapters.inspect.scores import METRICS, achieved, answers_score, outcome_score
from cheaptalk.atomic_files import whole_folder
from cheaptalk.models import ChatMessage, ModelName, ModelSettings, Reply
from cheaptalk.records import AnswerRecord, MatchRecord, Stand, Standing, Status, Store, digest
from cheaptalk.records.exports.exporter import Exported, NamedRows
from cheaptalk.rules import CheaptalkError


class Subject(NamedTuple):
    """The subject of a log: a game, and a model player by its label."""

    game: str
    label: str


class Seat(NamedTuple):
    """A model's seat in a recorded match, with the match's status in the study."""

    record: MatchRecord
    stand: Stand
    name: str

    @property
    def place(self) -> str:
        return self.record.seat_of(self.name)

    @property
    def settings(self) -> dict[str, Any]:
        """The player's settings."""
        spec: dict[str, Any] = self.record.seats[self.place]["spec"]
        return spec

    @property
    def model(self) -> ModelName:
        return ModelName.parse(self.settings["model"])

    @property
    def answers(self) -> list[AnswerRecord]:
        return [answer for answer in self.record.answers if answer.actor == self.name]

    @property
    def forfeited(self) -> bool:
        """Whether the match ended because this seat failed to answer its last question."""
        last = self.record.answers[-1].request if self.record.answers else None
        failed = [
            answer for answer in self.answers if answer.request == last and answer.action is None
        ]
        return bool(failed) and self.record.status is Status.FORFEITED

    @property
    def id(self) -> str:
        return f"{self.record.id}-{self.name}"


class Talk(NamedTuple):
    """What a seat was sent and replied in a match, in Inspect's terms.

    Attributes:
        events: its calls, each with all that was sent, and what became of its answers.
        messages: the last conversation that was sent, and the reply to it.
        output: the last reply.
    """

    events: list[Any]
    messages: list[Any]
    output: Any


def write_inspect_logs(
    store: Store | Path | str, study: NamedRows | str, folder: Path | str
) -> Exported:
    """Write what the models of a study played as logs of Inspect; it needs ``[inspect]``.

    Matches that ended are written, forfeited ones too; those that failed or are under way are not.
    Matches that the study drops are there without a score.

    Args:
        store: the store, its file or its URL.
        study: a study in the store, or its name.
        folder: a new or empty folder, for ``inspect view --log-dir``.

    Returns:
        How many logs and samples there are.

    Raises:
        StoreError: the store holds no such study.
        OtherVersion: a match was played under other rules than those installed.
        CheaptalkError: no model has played a match to its end, the folder cannot be written, or
            Inspect is missing.
    """
    log = inspect_part("inspect_ai.log")
    name, rows = study if isinstance(study, str) else study.name, Counter[str]()
    with Store.opened(store) as opened:
        opened.study(name)
        subjects = _subjects(opened, name)
        if not subjects:
            raise CheaptalkError(f"{name}: no model has played a match to its end")
        try:
            with whole_folder(Path(folder)) as half:
                for subject in subjects:
                    eval_log = _log(name, subject, list(_seats(opened, name, subject)))
                    log.write_eval_log(eval_log, half / _file_name(eval_log.eval))
                    rows.update(logs=1, samples=len(eval_log.samples))
        except FileExistsError as error:
            raise CheaptalkError(f"{folder} is there already; name a new folder") from error
        except OSError as error:
            why = error.strerror or error
            raise CheaptalkError(f"{folder} cannot be written: {why}") from error
    return Exported(Path(folder), dict(rows))


def _subjects(store: Store, study: str) -> list[Subject]:
    """Return the games and model players of a study, ordered by first match."""
    return list(
        dict.fromkeys(
            Subject(record.game, record.label(seat))
            for record in store.records(study) if record.over
            for seat in record.seats if _of_model(record, seat)
        )
    )  # fmt: skip


def _of_model(record: MatchRecord, seat: str) -> bool:
    """Whether a model sat there that was asked here; imported matches have none of their calls."""
    return bool(record.seats[seat]["spec"].get("model")) and not record.imported


def _seats(store: Store, study: str, subject: Subject) -> Iterator[Seat]:
    """Return the seats of a model player in a game."""
    standing = Standing(store, study)
    for record in store.records(study, bodies=True, games=[subject.game]):
        for name, seat in record.at.items() if record.over else ():
            if record.label(seat) == subject.label and _of_model(record, seat):
                yield Seat(record, standing.of(record), name)


def _file_name(spec: Any) -> str:
    """A log's name as Inspect makes them, of its time, task and id."""
    begun = datetime.fromisoformat(spec.created)
    return (
        f"{begun:%Y-%m-%dT%H-%M-%S}_{spec.task_display_name.replace('_', '-')}_{spec.task_id}.eval"
    )


def _log(study: str, subject: Subject, seats: Sequence[Seat]) -> Any:
    """Return a complete log, with Inspect's metrics over its samples."""
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
        plan=log.EvalPlan(config=config_of(_settings(seats[0].settings))),
        stats=log.EvalStats(
            started_at=_moment(min(begun)), completed_at=_moment(max(ended)), model_usage=usage
        ),
        samples=samples,
    )
    log.recompute_metrics(eval_log)
    return eval_log


def _spec(study: str, subject: Subject, seats: Sequence[Seat], begun: float) -> Any:
    """What was evaluated: the game as a task, the model, and all settings of the player."""
    log, first = inspect_part("inspect_ai.log"), seats[0]
    of_value = [
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
        scorers=[{"name": name, "metrics": {"*": of_value}} for name in ("outcome", "answers")],
    )


def _sample(seat: Seat) -> Any:
    """Return a sample: a match from the perspective of a model's seat."""
    log, scorer = inspect_part("inspect_ai.log"), inspect_part("inspect_ai.scorer")
    record, talk = seat.record, _talk(seat)
    result = record.result() if record.status is Status.FINISHED else None
    kinds = Counter(answer.kind for answer in seat.answers)
    metrics = achieved(record.rules, seat.name, result, kinds, forfeited=seat.forfeited)
    dropped = scorer.Score.unscored(reason="dropped", explanation=seat.stand.dropped_because)
    used = [event.output.usage for event in talk.events if event.event == "model"]
    times = (record.begun, record.finished)
    return log.EvalSample(
        id=seat.id,
        epoch=1,
        input=next((event.input for event in talk.events if event.event == "model"), NOTHING_ASKED),
        target="",
        messages=talk.messages,
        output=talk.output,
        scores={
            "outcome": dropped if seat.stand.dropped else outcome_score(metrics),
            "answers": answers_score(metrics),
        },
        metadata=_metadata(seat),
        events=talk.events,
        model_usage={seat.model.short: sum(used[1:], used[0])} if used else {},
        started_at=times[0] and _moment(times[0]),
        completed_at=times[1] and _moment(times[1]),
        total_time=times[1] - times[0] if times[0] and times[1] else None,
    )


def _metadata(seat: Seat) -> dict[str, Any]:
    """What is known of a match and is no score; ``instance`` is equal where the instance is
    shared."""
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


def _talk(seat: Seat) -> Talk:
    """All that was sent for a seat and replied, character for character."""
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
            output = output_of(reply, seat.model.short)
            sent, received = recorded.get("sent", begun), recorded.get("received", begun)
            events.append(
                event.ModelEvent(
                    model=seat.model.short, input=history, tools=[], tool_choice="none",
                    config=config_of(_settings(call.get("settings") or {})), output=output,
                    error=output.error, cache="read" if reply.cached else None,
                    timestamp=_moment(sent), completed=_moment(received),
                    working_start=sent - begun,
                    working_time=reply.seconds,
                )
            )  # fmt: skip
        events.append(
            event.InfoEvent(
                source="cheaptalk",
                data={"request": answer.request, "kind": answer.kind, "action": answer.action},
                timestamp=_moment(received),
                working_start=received - begun,
            )
        )
    return Talk(events, history + [choice.message for choice in output.choices], output)


def _settings(written: Mapping[str, Any]) -> ModelSettings:
    """The sampling settings among what was written."""
    settings = {
        name: value for name, value in written.items() if name in ModelSettings.model_fields
    }
    return ModelSettings.model_validate(settings)


def _moment(seconds: float) -> str:
    """A moment in UTC, of seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()
