"""The commands in their groups, and where each is found."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """A command.

    Attributes:
        where: it is found, below ``cheaptalk.cli``: the module, and the name in it.
        does: the first sentence of its help.
    """

    where: str
    does: str


GROUPS: dict[str, dict[str, Entry]] = {
    "Look around": {
        "games": Entry(
            "catalogue.games:games",
            "List the games, or show one with its parameters, measures and strategies.",
        ),
        "players": Entry(
            "catalogue.players:players", "List the scripted strategies with their settings."
        ),
        "rosters": Entry(
            "catalogue.rosters:rosters",
            "List the rosters of models, or show one with the settings of its players.",
        ),
        "prompt": Entry(
            "catalogue.prompt:prompt",
            "Show what a model would be sent in a sample match, with its settings. "
            "Nothing is sent.",
        ),
        "preset": Entry(
            "catalogue.preset:preset",
            "List the presets, or print one as YAML to start a study file of one's own from.",
        ),
        "providers": Entry(
            "catalogue.providers:providers",
            "List the providers of models: where their keys go, and whether they are set.",
        ),
        "prices": Entry(
            "catalogue.prices:prices",
            "Show what models cost, in dollars per million tokens, with the date of each price.",
        ),
        "stand-in": Entry(
            "catalogue.stand_in:stand_in",
            "Pretend to be a model server, on this machine only: no key, no bill.",
        ),
        "doctor": Entry(
            "catalogue.doctor:doctor",
            "Check the installation and the store, and say what is missing for what.",
        ),
    },
    "Make your own": {
        "new": Entry(
            "catalogue.new:new",
            "Write a small package with a game, player or style of your own, which passes its "
            "tests.",
        ),
        "check": Entry(
            "catalogue.check:check", "Check that a game keeps every law that games keep."
        ),
    },
    "Play": {
        "play": Entry(
            "studies.play:play",
            "Play a game yourself at the terminal; each match is recorded and "
            "counted like any other.",
        ),
        "serve": Entry(
            "studies.serve:serve",
            "Let people play in the browser, or without a study open a laboratory for researchers.",
        ),
        "bots": Entry(
            "studies.bots:bots",
            "Let bots play as people do, by the pages of a server, and say how it went.",
        ),
        "mcp": Entry(
            "studies.mcp:mcp",
            "Let a client of the Model Context Protocol play as a guest of a run.",
        ),
    },
    "Learn": {
        "train": Entry(
            "studies.train:train",
            "Train a policy that sits down at tables as {policy: FILE}, or language models.",
        ),
        "exploitability": Entry(
            "studies.train:exploitability",
            "Say what could be gained against a policy by playing otherwise.",
        ),
        "lm": Entry(
            "studies.lm:commands",
            "Make small language models, and train them on what players said.",
        ),
    },
    "Studies": {
        "plan": Entry(
            "studies.plan:plan",
            "Show what a study consists of before anything runs, and what its models may cost.",
        ),
        "run": Entry(
            "studies.run:run", "Play a study; what the store already holds is not played again."
        ),
        "resume": Entry(
            "studies.run:resume", "Go on with a study that was stopped, from what the store holds."
        ),
        "profile": Entry(
            "results.profile:profile",
            "Test an agent for weaknesses, and report its metrics beside those of baselines.",
        ),
        "status": Entry(
            "studies.status:status",
            "Show the studies in the store, how far each is, and calls left unresolved.",
        ),
        "ctl": Entry(
            "studies.ctl:ctl",
            "Look after a study while it runs: see how it does, pause it, stop it, or retune it.",
        ),
        "batches": Entry(
            "studies.batches:batches",
            "List the batches that were submitted to providers, and what is in them.",
        ),
        "copy": Entry(
            "studies.copy:copy",
            "Copy a store, to another file or into a database; its studies go on there.",
        ),
        "cache": Entry(
            "studies.cache:commands",
            "Look into the cache of replies.",
        ),
    },
    "Results": {
        "matches": Entry(
            "results.matches:matches",
            "List recorded matches, or those that fit: id, game, state, players and payoffs.",
        ),
        "show": Entry(
            "results.show:show",
            "Show a match: what each seat was told, asked and answered, and each call it took.",
        ),
        "view": Entry(
            "results.view:view", "Read all matches of a store in the browser, on this machine only."
        ),
        "judge": Entry(
            "results.judge:judge",
            "Have a model judge a study's matches by a rubric; what is judged is not judged again.",
        ),
        "label": Entry(
            "results.label:label",
            "Label a sample by hand, to hold a judge against: write a sheet, fill it in, "
            "take it in.",
        ),
        "report": Entry(
            "results.report:report",
            "Write a study's report, or a paper's tables and figures: one HTML file "
            "that works offline.",
        ),
        "recipes": Entry(
            "catalogue.recipes:recipes",
            "List the report recipes: the tables and figures of papers, made from any study.",
        ),
        "compare": Entry(
            "results.compare:compare",
            "Compare two studies, match by match where they share deals: B less A, with intervals.",
        ),
        "leaderboard": Entry(
            "results.leaderboard:leaderboard",
            "Rank players over all games of some studies, with ranges of their ranks.",
        ),
        "metagame": Entry(
            "results.metagame:metagame",
            "Find who would be chosen to play: equilibria of an empirical game, with intervals.",
        ),
    },
    "Records": {
        "archive": Entry(
            "studies.archive:archive",
            "Write a store, or one study, as Parquet to a folder of any file system, to come back.",
        ),
        "restore": Entry("studies.archive:restore", "Bring an archive back into a new store."),
        "export": Entry(
            "results.export:export",
            "Write a study's matches, answers and calls to files, with a codebook.",
        ),
        "import": Entry(
            "results.import_:commands",
            "Take in games that other systems published.",
        ),
    },
}
"""The commands in the order in which one comes to need them, under the headings of the help."""
COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}
