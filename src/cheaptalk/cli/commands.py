"""All commands and command groups, and the module that defines each."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """A command that is imported when it is first used.

    Attributes:
        location: module below ``cheaptalk.cli``, and its function or Typer app.
        summary: first sentence of the command's help.
    """

    location: str
    summary: str


class GroupEntry(NamedTuple):
    """A command group: its help, and its commands by name."""

    summary: str
    commands: dict[str, Entry]


COMMANDS: dict[str, Entry] = {
    "plan": Entry("studies.plan:plan", "Preview a study's matches and estimate its cost."),
    "run": Entry("studies.run:run", "Run a study; matches already in the store are reused."),
    "resume": Entry("studies.run:resume", "Resume an interrupted study from the store."),
    "status": Entry("studies.status:status", "Show the progress and cost of stored studies."),
    "control": Entry(
        "studies.control:control", "Inspect, pause, resume, stop or adjust a running study."
    ),
    "play": Entry("studies.play:play", "Play a game yourself at the terminal."),
    "serve": Entry("studies.serve:serve", "Start the web server for participants or researchers."),
    "profile": Entry(
        "results.profile:profile", "Test an agent for weaknesses and compare it with baselines."
    ),
    "report": Entry("results.report:report", "Write a study's report as one HTML file."),
    "compare": Entry("results.compare:compare", "Compare two studies on their common instances."),
    "leaderboard": Entry(
        "results.leaderboard:leaderboard", "Rank players across studies, with rank intervals."
    ),
    "metagame": Entry(
        "results.metagame:metagame", "Compute equilibria of the empirical game among players."
    ),
    "view": Entry("results.view:view", "Browse recorded matches in a local web viewer."),
}
"""The top-level commands, most used first."""

GROUPS: dict[str, GroupEntry] = {
    "study": GroupEntry(
        "List presets and report recipes; test web studies with bots.",
        {
            "presets": Entry(
                "catalogue.presets:presets", "List the presets, or print one as a study file."
            ),
            "recipes": Entry(
                "catalogue.recipes:recipes",
                "List the recipes for the tables and figures of papers.",
            ),
            "bots": Entry("studies.bots:bots", "Run bots that play through the web pages."),
        },
    ),
    "match": GroupEntry(
        "List recorded matches, or show one.",
        {
            "list": Entry("results.matches:matches", "List recorded matches."),
            "show": Entry(
                "results.show:show", "Show a match: observations, requests, actions and calls."
            ),
        },
    ),
    "game": GroupEntry(
        "List, check or create games; list their strategies.",
        {
            "list": Entry("catalogue.games:games", "List the games, or show one in full."),
            "strategies": Entry(
                "catalogue.strategies:strategies",
                "List the scripted strategies and their settings.",
            ),
            "check": Entry("catalogue.check:check", "Run the conformance checks on a game."),
            "new": Entry(
                "catalogue.new:new", "Create a package with a new game, strategy or prompt style."
            ),
        },
    ),
    "model": GroupEntry(
        "List providers, prices and rosters; preview prompts; mock APIs.",
        {
            "providers": Entry(
                "catalogue.providers:providers",
                "List the model providers and whether their API keys are set.",
            ),
            "prices": Entry(
                "catalogue.prices:prices", "Show model prices in dollars per million tokens."
            ),
            "rosters": Entry(
                "catalogue.rosters:rosters", "List the rosters of models, or show one in full."
            ),
            "prompt": Entry(
                "catalogue.prompt:prompt", "Show the prompt and settings a model would receive."
            ),
            "mock-server": Entry(
                "catalogue.mock_server:mock_server", "Start a local mock model server."
            ),
            "cache": Entry("studies.cache:commands", "Inspect or clear the response cache."),
            "batches": Entry(
                "studies.batches:batches", "List the batches submitted to model providers."
            ),
            "mcp": Entry("studies.mcp:mcp", "Connect an MCP client to a run as a remote agent."),
        },
    ),
    "judge": GroupEntry(
        "Judge matches with a model, or label them by hand.",
        {
            "run": Entry("results.judge:judge", "Judge a study's matches with a model."),
            "label": Entry(
                "results.label:label", "Create or import hand labels to validate a judge."
            ),
        },
    ),
    "train": GroupEntry(
        "Train policies and language models.",
        {
            "policy": Entry("studies.train:policy", "Train a policy with NFSP or R-NaD."),
            "exploitability": Entry(
                "studies.train:exploitability", "Estimate the exploitability of a policy."
            ),
            "pretrain": Entry(
                "studies.lm:pretrain", "Pretrain a small language model on recorded dialogues."
            ),
            "tune": Entry("studies.lm:tune", "Fine-tune a language model on recorded dialogues."),
            "self-play": Entry(
                "studies.lm:self_play", "Fine-tune a language model on its own best matches."
            ),
            "experiment": Entry(
                "studies.experiment:experiment", "Run a self-play experiment and write its report."
            ),
        },
    ),
    "store": GroupEntry(
        "Copy, archive, export, import or check a store.",
        {
            "copy": Entry("studies.copy:copy", "Copy a store to another file or database."),
            "archive": Entry(
                "studies.archive:archive", "Archive a store, or one study, as Parquet files."
            ),
            "restore": Entry("studies.archive:restore", "Restore an archive to a new store."),
            "export": Entry(
                "results.export:export", "Export a study's matches, responses and calls to files."
            ),
            "import": Entry("results.import_:commands", "Import games published by other systems."),
            "doctor": Entry("catalogue.doctor:doctor", "Check the installation and the store."),
        },
    ),
}
"""The command groups, each called as ``cheaptalk GROUP COMMAND``."""

RENAMED: dict[str, str] = {
    "games": "game list",
    "players": "game strategies",
    "check": "game check",
    "new": "game new",
    "rosters": "model rosters",
    "prompt": "model prompt",
    "providers": "model providers",
    "prices": "model prices",
    "stand-in": "model mock-server",
    "cache": "model cache",
    "batches": "model batches",
    "mcp": "model mcp",
    "preset": "study presets",
    "recipes": "study recipes",
    "bots": "study bots",
    "matches": "match list",
    "show": "match show",
    "judge": "judge run",
    "label": "judge label",
    "train": "train policy",
    "exploitability": "train exploitability",
    "lm": "train",
    "ctl": "control",
    "copy": "store copy",
    "archive": "store archive",
    "restore": "store restore",
    "export": "store export",
    "import": "store import",
    "doctor": "store doctor",
}
"""Current command names by their names before version 0.1.0; to be removed in 1.0."""


def full_names() -> dict[str, Entry]:
    """Return all commands by full name, such as ``run`` and ``game list``."""
    grouped = {
        f"{group} {name}": entry
        for group, (_, commands) in GROUPS.items() for name, entry in commands.items()
    }  # fmt: skip
    return COMMANDS | grouped
