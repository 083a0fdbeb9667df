"""Parts that installed packages add to games, and warnings about unusable ones."""

import shutil
import sys
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

import cheaptalk as ct
from cheaptalk.judges import RUBRICS, find_rubric
from cheaptalk.rules import PluginWarning
from cheaptalk.rules.registry import PARTS, Registry
from tests.conftest import Command
from tests.fakes import study

GREED = Path(__file__).parents[1] / "examples" / "greed"
POINTS = tomllib.loads((GREED / "pyproject.toml").read_text())["project"]["entry-points"]


def reset_registries() -> None:
    for registry in Registry.known:
        registry.forget()


class Packages:
    """A folder on the path with packages, as installed by pip."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name: str, points: Mapping[str, Mapping[str, str]]) -> None:
        """Install a package's entry points."""
        about = self.folder / f"{name}-1.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        lines = []
        for group, named in points.items():
            lines += [f"[{group}]", *(f"{point} = {value}" for point, value in named.items())]
        (about / "entry_points.txt").write_text("\n".join(lines))
        reset_registries()

    def write(self, module: str, text: str) -> None:
        """Write a module."""
        (self.folder / f"{module}.py").write_text(dedent(text))


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packages]:
    folder = tmp_path / "installed"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    known = set(sys.modules)
    yield Packages(folder)
    shutil.rmtree(folder)
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
            del sys.modules[name]
    reset_registries()


@pytest.fixture
def greed(packages: Packages) -> None:
    """Install the example package."""
    shutil.copytree(GREED / "greed", packages.folder / "greed")
    packages.add("greed", POINTS)


def plugin_warnings() -> list[str]:
    """Load all plugins and return the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PluginWarning)
        ct.rules.games()
    return [str(warning.message) for warning in caught]


@pytest.mark.usefixtures("greed")
def test_parts_of_a_package_extend_a_game(cheaptalk: Command, store: ct.Store) -> None:
    command = ("model", "prompt", "bargaining", "--prompt-style", "stepwise", "--seat", "bob")
    shown = cheaptalk(*command).out
    assert "Think first. What is this offer worth to you" in shown
    assert "Do you accept?" in shown
    game_spec = ct.get_game("bargaining")
    assert next(iter(game_spec.styles)) == ct.styles.style("bargaining").name == "plain"
    ct.conformance.check_words(game_spec, game_spec.rules(), "any seed")
    ct.run(study(), store)
    assert "unevenness" in ct.frames.read_matches(store, "small")["bargaining"].columns
    assert find_rubric("greed").labels == ["modest", "greedy"]
    ct.judge(store, "small", ct.judges.judge_of("greed", "script/legal"))
    (agreement,) = ct.judges.agreements(store, "small")
    assert agreement.items > 0
    metric = ct.Metric("unevenness", lambda result: 0.0)
    with pytest.raises(ct.CheaptalkError, match=r"^greed already registers a metric"):
        ct.register(metric, game="bargaining")


def test_register_adds_parts_without_a_package() -> None:
    style = ct.rules.StyleFile("stepwise.jinja", folder=GREED / "greed")
    metric = ct.Metric("length", lambda result: float(len(result.given())))
    ct.register(style, name="stepwise", game="bargaining")
    ct.register(metric, game="bargaining")
    ct.register(lambda result: {}, name="courtesy", game="bargaining")
    rubric = find_rubric(GREED / "greed" / "greed.yaml")
    ct.register(rubric)
    try:
        game_spec = ct.get_game("bargaining")
        assert game_spec.styles["stepwise"] is style
        assert game_spec.metrics["length"] is metric
        assert "courtesy" in game_spec.checks
        assert find_rubric("greed") is rubric
        ct.conformance.check_words(game_spec, game_spec.rules(), "any seed")
    finally:
        for registry in (*PARTS.values(), RUBRICS):
            for name in registry.here:
                registry.remove(name)


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        (ct.Metric("efficiency", lambda result: 0.0), None),
        (ct.rules.StyleFile("plain.jinja"), "plain"),
        (ct.get_game("bargaining").strategies["linear"], None),
    ],
)
def test_register_does_not_replace_parts_of_a_game(thing: object, name: str | None) -> None:
    with pytest.raises(ct.CheaptalkError, match=r"^bargaining already has a \w+ named .*; choose"):
        ct.register(thing, name=name, game="bargaining")


def test_registering_an_ambiguous_file_raises_error(tmp_path: Path) -> None:
    with pytest.raises(ct.CheaptalkError, match="may be a preset, a roster or a rubric"):
        ct.register(tmp_path / "mine.yaml", name="mine")


METRIC = """
    import cheaptalk as ct

    def number(result):
        \"\"\"A number.\"\"\"
        return 1.0

    METRICS = [ct.Metric("{name}", number)]
    """


ASKING = """
import cheaptalk as ct

RANDOM = ct.get_game("bargaining").strategies["random"]


@ct.strategy("alice", "bob")
def asking(request: ct.DecisionRequest) -> ct.Action:
    return RANDOM(request)
"""


def test_players_can_use_strategies_of_their_game(packages: Packages) -> None:
    packages.write("asking", ASKING)
    packages.add("asking", {"cheaptalk.players": {"bargaining.asking": "asking"}})
    assert plugin_warnings() == []
    assert "asking" in ct.get_game("bargaining").strategies


def test_duplicate_names_warn_with_both_packages(packages: Packages) -> None:
    packages.write("beta", METRIC.format(name="number"))
    packages.write("gamma", METRIC.format(name="efficiency"))
    packages.write("alpha", METRIC.format(name="number"))
    for name in ("beta", "gamma", "alpha"):
        packages.add(name, {"cheaptalk.metrics": {f"bargaining.{name}": name}})
    first, second = plugin_warnings()
    assert first == (
        'alpha and beta both register a metric named "bargaining.number"; that of alpha is '
        "used; rename that of beta, or uninstall one of them"
    )
    assert 'cheaptalk and gamma both register a metric named "efficiency" for barg' in second


@pytest.mark.parametrize(
    ("group", "name", "text", "expected"),
    [
        (
            "styles", "bargaining.mine",
            "from cheaptalk import rules as r\nTHING = r.StyleFile('x', folder=r.game_spec.Path())",
            "template not found",
        ),
        ("metrics", "bargaining.mine", "THING = 3", "the object neither is nor contains a Metric"),
        (
            "metrics", "bargaining.mine",
            "import cheaptalk as ct\nTHING = [ct.Metric('a', abs), ct.Metric('a', all)]",
            'two of them are named "a"',
        ),
        ("checks", "bargaining.mine", "THING = 3", "3 is not a check"),
        ("checks", "bargainig.mine", "def THING(result): ...", 'did you mean "bargaining"?'),
        ("styles", "mine", "import cheaptalk as ct\nTHING = ct.rules.StyleFile('a')",
        "name it GAME.NAME"),
    ],
)  # fmt: skip
def test_unusable_parts_warn_with_the_package(
    packages: Packages, group: str, name: str, text: str, expected: str
) -> None:
    packages.write("odd", text)
    packages.add("odd-package", {f"cheaptalk.{group}": {name: "odd:THING"}})
    (warning,) = plugin_warnings()
    assert f'"{name}" of odd-package' in warning
    assert expected in warning
