"""Public functions accept stores, studies and games in any form, and reject wrong arguments."""

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from inspect import Parameter
from pathlib import Path
from socket import socket
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.games.bargaining.rules import Offer
from cheaptalk.rules import WrongArgument, WrongValue
from cheaptalk.rules.actions import Data
from cheaptalk.rules.arguments import RANGES, described, hint_of
from tests import fakes

PACKAGES = [
    *("adapters", "arrays", "conformance", "equilibrium", "frames", "games", "judges", "learning"),
    *("models", "papers", "players", "profiles", "records", "reports", "rules", "statistics"),
    *("studies", "styles", "web"),
]
COLLECTIONS = "Sequence|list|Iterable|Collection|Container|tuple|_SupportsArray|ndarray"
WRONG: Mapping[str, tuple[Any, str]] = {
    "an object": (object(), ""),
    "None": (None, "None|NoneType"),
    "an int": (3, "int|float|_SupportsArray|ndarray"),
    "a str": ("wrong text", "str|_SupportsArray|ndarray"),
    "a list": ([object()], COLLECTIONS),
    "a dict": ({3: 4}, "Mapping|dict|Iterable|Collection|Container"),
    "a column": (pl.Series([3]), f"{COLLECTIONS}|ArrowFrame"),
}
"""Wrong values, each with the parts of annotations that may accept the value."""
OPEN = {
    "adapters.chat_environment player", "adapters.inspect_task player",
    "adapters.openenv_app player", "adapters.play_as_remote_agent agent",
    "adapters.play_as_remote_agent_async agent", "adapters.push_dataset api",
    "judges.judge_of model", "players.code_digest player", "records.digest parts",
    "records.text_of data", "rules.decider player", "rules.register thing", "rules.talker player",
    "studies.parse_study data",
}  # fmt: skip
"""Arguments that may have any type, or are checked otherwise."""
OTHER_GAMES = {
    "equilibrium.bootstrap_equilibrium game", "equilibrium.propose_cells game",
    "equilibrium.resample game", "learning.get_preset game",
}  # fmt: skip
"""Arguments named ``game`` that are empirical games or names of papers' configurations."""


def public() -> Iterator[tuple[str, Any]]:
    """Yield the public objects of all packages by name, except those of missing extras."""
    for package in (import_module(f"cheaptalk.{name}") for name in PACKAGES):
        for name in package.__all__:
            with suppress(ct.CheaptalkError, ImportError):  # an extra is not installed
                yield (
                    f"{package.__name__.removeprefix('cheaptalk.')}.{name}",
                    getattr(package, name),
                )


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public functions."""
    for name, value in public():
        if inspect.isfunction(inspect.unwrap(value)):
            yield name, value


def bare(hint: Any) -> Any:
    """Return an object that an annotation accepts, which need not be usable."""
    origin, args = get_origin(hint), get_args(hint)
    kind = origin or hint
    if kind is Literal:
        return args[0]
    if kind in (Union, UnionType):
        return bare(args[-1])
    if kind is tuple and ... not in args:
        return tuple(map(bare, args))
    if kind.__module__.startswith("numpy"):
        return np.zeros(1)
    if kind in (int, float):
        return kind(1)
    if kind is Any or kind.__module__ in ("builtins", "pathlib"):
        return None if kind is Any else kind()
    if kind.__module__ == "collections.abc":
        return bare if kind.__name__ == "Callable" else {} if "Mapping" in kind.__name__ else []
    makers = (base for base in (tuple, socket) if issubclass(kind, base))
    return next(makers, object).__new__(kind)


def hints_of(function: Callable[..., Any]) -> list[tuple[Parameter, Any]]:
    return [(p, hint_of(function, p)) for p in inspect.signature(function).parameters.values()]


def arguments(hints: list[tuple[Parameter, Any]], wrong: Parameter, value: Any) -> Any:
    """Return the arguments of a call in which one argument has a wrong value."""
    args, kwargs = [], {}
    for parameter, hint in hints:
        starred = parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        if parameter is not wrong and (starred or parameter.default is not Parameter.empty):
            continue
        given = value if parameter is wrong else bare(hint)
        if parameter.kind is Parameter.KEYWORD_ONLY or parameter.default is not Parameter.empty:
            kwargs[parameter.name] = given
        else:
            args.append(given)
    return args, kwargs


def call(function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Call a function, which may be asynchronous."""
    result = function(*args, **kwargs)
    if inspect.iscoroutine(result):
        asyncio.run(result)


@pytest.mark.parametrize("package", PACKAGES)
def test_wrong_arguments_are_rejected_in_one_sentence(package: str) -> None:
    calls = 0
    for name, function in functions():
        if name.partition(".")[0] != package:
            continue
        hints = hints_of(function)
        for parameter, hint in hints:
            argument = f"{name} {parameter.name}"
            if argument in OPEN or parameter.kind is Parameter.VAR_KEYWORD:
                continue
            for kind, (value, accepted) in WRONG.items():
                if accepted and re.search(rf"\b({accepted})\b", str(hint)):
                    continue
                args, kwargs = arguments(hints, parameter, value)
                with pytest.raises(WrongArgument) as error:
                    call(function, args, kwargs)
                message = str(error.value)
                assert message.startswith(f"{parameter.name} of "), (argument, kind, message)
                assert " must be " in message
                assert "\n" not in message
                calls += 1
    assert calls or package == "games"


@pytest.mark.parametrize("package", PACKAGES)
def test_missing_and_unknown_arguments_are_named(package: str) -> None:
    for name, function in functions():
        parameters = inspect.signature(function).parameters.values()
        if name.partition(".")[0] != package or not parameters:
            continue
        hints = [hint_of(function, p) for p in parameters if p.kind is Parameter.VAR_KEYWORD]
        if not hints or "Unpack" in str(hints[0]):
            with pytest.raises(WrongArgument, match=r'^[a-z_]+ has no argument "nonsense" '):
                call(function, (), {"nonsense": 1})
        named = [p for p in parameters if p.kind is not Parameter.VAR_POSITIONAL]
        if required := [
            p.name for p in named if p.default is p.empty and p.kind is not p.VAR_KEYWORD
        ]:
            with pytest.raises(WrongArgument, match=rf"^[a-z_]+ requires .*\b{required[0]}\b"):
                call(function, (), {})


def test_unknown_fields_of_data_are_named() -> None:
    kinds = {
        kind
        for _, kind in public()
        if isinstance(kind, type) and issubclass(kind, Data) and not inspect.isabstract(kind)
    }
    assert len(kinds) > 30
    for kind in kinds:
        with pytest.raises(ct.CheaptalkError) as error:
            kind(nonsense=1)
        assert re.fullmatch('.*"nonsense".*', str(error.value)), kind


INVALID_FIELDS: list[tuple[type[Data], dict[str, Any], str]] = [
    (ct.studies.Cap, {"dollar": 1}, 'Cap: unknown key "dollar" (did you mean "dollars"?)'),
    (ct.studies.Cap, {"dollars": -1}, "dollars of Cap must be greater than 0, not -1"),
    (ct.games.ElFarolBar, {"home": 100}, "ElFarolBar: home must be above crowded and below fun, "),
    (Offer, {"alice_gain": 1}, "bob_gain of Offer is missing"),
    (Offer, {"bobgain": 1}, 'Offer: unknown key "bobgain" (did you mean "bob_gain"?)'),
]


@pytest.mark.parametrize(("kind", "fields", "message"), INVALID_FIELDS)
def test_invalid_fields_of_data_are_named(
    kind: type[Data], fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(WrongValue, match=f"^{re.escape(message)}"):
        kind(**fields)


def test_numbers_out_of_range_are_rejected() -> None:
    calls = 0
    for _, function in functions():
        hints = hints_of(function)
        for parameter, hint in hints:
            if parameter.name in RANGES and hint in (int, float, int | None):
                args, kwargs = arguments(hints, parameter, RANGES[parameter.name][0] - 1)
                with pytest.raises(WrongValue, match=f"^{parameter.name} of .* must be "):
                    call(function, args, kwargs)
                calls += 1
    assert calls > 40


RAGGED = [[1, 2], [3]]
FRAME = pl.DataFrame({"payoff": [1.0]})
GAME: Any = ct.equilibrium.EmpiricalGame
MATCH: Any = ct.Match
WRONG_VALUES: list[tuple[Callable[[], Any], str]] = [
    (lambda: ct.preset("quickstar"), 'unknown preset "quickstar" (did you mean "quickstart"?)'),
    (lambda: ct.get_game("bargaining").metrics["agrement"], 'unknown metric "agrement" (did you'),
    (lambda: ct.models.PROVIDERS["opnai"], 'unknown provider "opnai" (did you mean "openai"?)'),
    (lambda: ct.players.roster("gle"), 'unknown roster "gle" (did you mean "glee"?)'),
    (lambda: ct.equilibrium.pure_equilibria(RAGGED, RAGGED), "payoffs must be a matrix of numbers"),
    (lambda: ct.equilibrium.nash_average(RAGGED), "row 0 has 2 numbers, and row 1 has 1"),
    (lambda: ct.equilibrium.bradley_terry(RAGGED), "wins must be a matrix of numbers"),
    (lambda: ct.equilibrium.alpha_rank([[1]], alpha=-1), "alpha must be positive and finite"),
    (lambda: GAME.of_frame(FRAME), "the frame has no columns player_SEAT; pass a frame of"),
    (lambda: GAME.of_frame(FRAME, seats=()), 'Empirical.of_frame has no argument "seats" (known: '),
    (lambda: GAME.of_study("x.sqlite", where="horizon=3"), "where of Empirical.of_study must be a"),
    (lambda: MATCH("bargaining", {}, sead=1), 'Match has no argument "sead" (did you mean "se'),
]


def test_types_are_named_in_the_plural() -> None:
    assert described(list[ct.Study]) == "a sequence of Study objects"
    assert described(Mapping[str, pl.Series]) == "a mapping from strings to polars.Series objects"


def test_wrong_values_and_names_raise_one_sentence() -> None:
    for create, message in WRONG_VALUES:
        with pytest.raises(ct.CheaptalkError) as error:
            create()
        assert message in str(error.value)
        assert "\n" not in str(error.value)


FORMS: Mapping[str, set[type]] = {
    "store": {ct.Store, Path, str},
    "study": {Path, str},
    "planned": {ct.studies.Plan, ct.Study, Path, str},
    "game": {ct.Game, str},
    "rules": {ct.Game, str},
    "game_spec": {ct.GameSpec, ct.Game, str},
    **{name: {Path, str} for name in ("file", "folder", "out", "path")},
}
"""The types that every public function accepts for an argument of this name."""


def test_arguments_of_the_same_name_accept_the_same_types() -> None:
    for name, function in functions():
        for parameter, hint in hints_of(function):
            if f"{name} {parameter.name}" not in OTHER_GAMES:
                accepted = [hint, *get_args(hint)]
                assert all(kind in accepted for kind in FORMS.get(parameter.name, ())), (
                    f"{name} {parameter.name}"
                )


def outcome(function: Callable[..., Any], *args: Any) -> str:
    """Describe what a function returns or raises."""
    try:
        result = function(*args)
        text = repr(list(result) if isinstance(result, Iterator) else result)
        return re.sub(r"seconds=[\d.]+| at 0x\w+", "", text)
    except ct.CheaptalkError as error:
        return repr(error)


def test_stores_and_studies_are_accepted_in_any_form(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    study = fakes.study()
    ct.run(study, path)
    called = []
    with ct.Store.open(path) as store:
        for name, function in functions():
            required = [p.name for p, _ in hints_of(function) if p.default is Parameter.empty]
            if required not in (["store"], ["store", "study"]) or inspect.iscoroutine(function):
                continue
            called.append(name)
            forms = [(store, study.name), (path, study), (str(path), study.name)]
            first, *others = [outcome(function, *form[: len(required)]) for form in forms]
            assert others == [first, first], name
    assert {"records.find_matches", "records.study_cost", "frames.balance"} <= {*called}
    assert len(called) > 30, called
