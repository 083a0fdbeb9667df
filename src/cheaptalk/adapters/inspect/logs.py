"""Recorded matches as logs of Inspect, which its viewer and its analyses read.

A log for each game and each model player of a study, a sample for each match and seat. A log has
the scorers of the game's task, so that what was played here and there stands side by side.
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
from cheaptalk.models import ChatMessage, ModelName, ModelSettings, Reply
from cheaptalk.records import AnswerRecord, MatchRecord, Stand, Standing, Status, Store, digest
from cheaptalk.records.exports.exporter import Exported, NamedRows
from cheaptalk.rules import CheaptalkError
from cheaptalk.whole_files import whole_folder


class Subject(NamedTuple):
    """What a log is of: a game, and a model player under its label."""

    game: str
    label: str


class Seat(NamedTuple):
    """A model's seat in a recorded match, and how the match stands in the study."""

    record: MatchRecord
    stand: Stand
    name: str

    @property
    def place(self) -> str:
        return self.record.place_of(self.name)

    @property
    def settings(self) -> dict[str, Any]:
        """All settings of the player."""
        found: dict[str, Any] = self.record.seats[self.place]["spec"]
        return found

    @property
    def model(self) -> ModelName:
        return ModelName.parse(self.settings["model"])

    @property
    def answers(self) -> list[AnswerRecord]:
        return [one for one in self.record.answers if one.seat == self.name]

    @property
    def forfeited(self) -> bool:
        """Whether the match ended because this seat failed to answer its last question."""
        last = self.record.answers[-1].request if self.record.answers else None
        failed = [one for one in self.answers if one.request == last and one.action is None]
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
                    made = _log(name, subject, list(_seats(opened, name, subject)))
                    log.write_eval_log(made, half / _file_name(made.eval))
                    rows.update(logs=1, samples=len(made.samples))
        except FileExistsError as error:
            raise CheaptalkError(f"{folder} is there already; name a new folder") from error
        except OSError as error:
            why = error.strerror or error
            raise CheaptalkError(f"{folder} cannot be written: {why}") from error
    return Exported(Path(folder), dict(rows))


def _subjects(store: Store, study: str) -> list[Subject]:
    """The games and model players of a study's matches, in the order of their first match."""
    return list(
        dict.fromkeys(
            Subject(record.game, record.label(place))
            for record in store.records(study) if record.over
            for place in record.seats if _of_model(record, place)
        )
    )  # fmt: skip


def _of_model(record: MatchRecord, place: str) -> bool:
    """Whether a model sat there that was asked here; imported matches have none of their calls."""
    return bool(record.seats[place]["spec"].get("model")) and not record.imported


def _seats(store: Store, study: str, subject: Subject) -> Iterator[Seat]:
    """The seats that a model player had in a game."""
    standing = Standing(store, study)
    for record in store.records(study, bodies=True, games=[subject.game]):
        for name, place in record.at.items() if record.over else ():
            if record.label(place) == subject.label and _of_model(record, place):
                yield Seat(record, standing.of(record), name)


def _file_name(spec: Any) -> str:
    """A log's name as Inspect makes them, of its time, task and id."""
    begun = datetime.fromisoformat(spec.created)
    return (
        f"{begun:%Y-%m-%dT%H-%M-%S}_{spec.task_display_name.replace('_', '-')}_{spec.task_id}.eval"
    )


def _log(study: str, subject: Subject, seats: Sequence[Seat]) -> Any:
    """A whole log, with the means that Inspect makes of its samples."""
    log = inspect_part("inspect_ai.log")
    samples = [_sample(one) for one in seats]
    ended = [one.record.finished for one in seats if one.record.finished is not None]
    begun = [one.record.begun for one in seats if one.record.begun is not None] or ended
    usage: dict[str, Any] = {}
    for one in samples:
        for model, used in one.model_usage.items():
            usage[model] = usage[model] + used if model in usage else used
    made = log.EvalLog(
        status="success",
        eval=_spec(study, subject, seats, min(begun)),
        plan=log.EvalPlan(config=config_of(_settings(seats[0].settings))),
        stats=log.EvalStats(
            started_at=_moment(min(begun)), completed_at=_moment(max(ended)), model_usage=usage
        ),
        samples=samples,
    )
    log.recompute_metrics(made)
    return made


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
            name=study, samples=len(seats), sample_ids=[one.id for one in seats]
        ),
        model=first.model.short,
        model_base_url=first.model.url or None,
        config=log.EvalConfig(epochs=1),
        packages={"cheaptalk": first.record.body["package"]},
        metadata={"study": study, "player": subject.label, "settings": first.settings},
        scorers=[{"name": name, "metrics": {"*": of_value}} for name in ("outcome", "answers")],
    )


def _sample(seat: Seat) -> Any:
    """A match as a model in one of its seats played it."""
    log, scorer = inspect_part("inspect_ai.log"), inspect_part("inspect_ai.scorer")
    record, talk = seat.record, _talk(seat)
    result = record.result() if record.status is Status.FINISHED else None
    kinds = Counter(one.kind for one in seat.answers)
    found = achieved(record.rules, seat.name, result, kinds, forfeited=seat.forfeited)
    dropped = scorer.Score.unscored(reason="dropped", explanation=seat.stand.dropped_because)
    used = [one.output.usage for one in talk.events if one.event == "model"]
    times = (record.begun, record.finished)
    return log.EvalSample(
        id=seat.id,
        epoch=1,
        input=next((one.input for one in talk.events if one.event == "model"), NOTHING_ASKED),
        target="",
        messages=talk.messages,
        output=talk.output,
        scores={
            "outcome": dropped if seat.stand.dropped else outcome_score(found),
            "answers": answers_score(found),
        },
        metadata=_metadata(seat),
        events=talk.events,
        model_usage={seat.model.short: sum(used[1:], used[0])} if used else {},
        started_at=times[0] and _moment(times[0]),
        completed_at=times[1] and _moment(times[1]),
        total_time=times[1] - times[0] if times[0] and times[1] else None,
    )


def _metadata(seat: Seat) -> dict[str, Any]:
    """What is known of a match and is no score; ``deal`` is equal where the deal is shared."""
    record = seat.record
    return {
        "match": record.id,
        "seat": seat.name,
        "deal": f"{record.configuration.digest}/{record.deal_key}",
        "repeat": record.repeat,
        "players": {place: record.label(place) for place in record.seats},
        "status": record.status.value,
        "reason": record.why,
        "kinds": record.kinds,
        "payoffs": record.payoffs,
        "outcome": record.outcome,
        "parameters": record.parameters,
        "dealt": record.body["deal"],
        "seed": record.body["seed"],
    }


def _talk(seat: Seat) -> Talk:
    """All that was sent for a seat and replied, character for character."""
    event, model = inspect_part("inspect_ai.event"), inspect_part("inspect_ai.model")
    events, told, output = list[Any](), list[Any](), model.ModelOutput()
    begun = seat.record.begun or seat.record.finished or 0.0
    for answer in seat.answers:
        at = begun
        for made in answer.calls:
            call, reply = made["call"], Reply.model_validate(made["reply"])
            told = continued(told, [ChatMessage.model_validate(one) for one in call["messages"]])
            output = output_of(reply, seat.model.short)
            sent, at = made.get("sent", begun), made.get("received", begun)
            events.append(
                event.ModelEvent(
                    model=seat.model.short, input=told, tools=[], tool_choice="none",
                    config=config_of(_settings(call.get("settings") or {})), output=output,
                    error=output.error, cache="read" if reply.cached else None,
                    timestamp=_moment(sent), completed=_moment(at), working_start=sent - begun,
                    working_time=reply.seconds,
                )
            )  # fmt: skip
        events.append(
            event.InfoEvent(
                source="cheaptalk",
                data={"request": answer.request, "kind": answer.kind, "action": answer.action},
                timestamp=_moment(at),
                working_start=at - begun,
            )
        )
    return Talk(events, told + [one.message for one in output.choices], output)


def _settings(written: Mapping[str, Any]) -> ModelSettings:
    """The sampling settings among what was written."""
    known = {name: one for name, one in written.items() if name in ModelSettings.model_fields}
    return ModelSettings.model_validate(known)


def _moment(seconds: float) -> str:
    """A moment in UTC, of seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()
