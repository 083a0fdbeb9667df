import base64
import hashlib
import inspect
import math
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from html import escape, unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.reports.study.scores import GameScores
from cheaptalk.rules import field_meanings
from cheaptalk.text import fixed
from tests.fakes import install_game
from tests.pages import Cell, Page
from tests.played import BADLY, EVIL, HALTED, WELL, play
from tests.reports.conftest import Reported
from tests.toys import SPEC, Guessing


def records_of(path: Path) -> list[ct.MatchRecord]:
    with ct.Store.open(path) as store:
        return list(store.records(bodies=True))


def labels(record: ct.MatchRecord) -> tuple[str, ...]:
    return tuple(record.label(role) for role in record.seats)


Place = tuple[str, str]


def summarise(values: Iterable[tuple[Place, float, tuple[float, float]]]) -> dict[str, Any]:
    """Return the mean of bounded values by place, with its interval and counts."""
    rows = [(*place, value, *ends) for place, value, ends in values]
    columns = ["configuration", "instance", "x", "least", "most"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    result = ct.statistics.mean_intervals(
        frame, ["x"], strata=["configuration"], bounds={"x": ("least", "most")}
    )
    return result.row(0, named=True)


def metrics_of(record: ct.MatchRecord) -> Mapping[str, float | None]:
    metrics = ct.get_game(record.game).metrics.values()
    payoffs = record.payoffs or {}
    return {m.name.replace("_", " "): m.of(record.result()) for m in metrics} | {
        f"payoff {role}": value for role, value in payoffs.items()
    }


def bounds_of(record: ct.MatchRecord, heading: str) -> tuple[float, float]:
    """Return the bounds of a metric or payoff in a match."""
    if heading.startswith("Payoff "):
        return record.rules.payoff_bounds()[heading.removeprefix("Payoff ").lower()]
    name = heading.lower().replace(" ", "_")
    return ct.get_game(record.game).metrics[name].bounds_in(record.rules)


def test_pairing_numbers_agree_with_their_matches(well: Path, well_page: Page) -> None:
    for game in ("bargaining", "negotiation", "persuasion"):
        records = [record for record in records_of(well) if record.game == game]
        rows = well_page.rows(f"{game}-pairings")
        assert len(rows) == 4
        checked = 0
        for row in rows:
            who = (row.pop("Alice").text, row.pop("Bob").text)
            if "Agreement" in row:
                query = parse_qs(urlsplit(row["Agreement"].link or "").query)
                seated = {"player_alice": [who[0]], "player_bob": [who[1]]}
                assert query == seated | {"status": ["finished"]}
            matches = [record for record in records if labels(record) == who]
            assert row.pop("Finished").number() == len(matches) > 0
            assert row.pop("Valid at first try").number() == 100
            for heading, cell in row.items():
                known = [
                    ((str(r.parameters), r.instance_key), value, bounds_of(r, heading))
                    for r in matches
                    if (value := metrics_of(r)[heading.lower()]) is not None
                ]
                if not known:
                    assert cell.text == "none"
                    continue
                checked += 1
                names = ("data-v", "data-low", "data-high", "data-n", "data-clusters")
                shown = [cell.number(name) if name in cell.attributes else None for name in names]
                summary = summarise(known)
                expected = [summary[name] for name in ("mean", "low", "high", "n", "clusters")]
                assert summary["mean"] == pytest.approx(
                    math.fsum(v for _, v, _ in known) / len(known)
                )
                pairs = [pair for pair in zip(shown, expected, strict=True) if pair != (None, None)]
                assert all(
                    value == pytest.approx(other, rel=2e-6, abs=2e-6) for value, other in pairs
                )
                assert ("†" in cell.text) == (summary["wanted"] is not None)
        assert checked > 20


def test_player_rows_average_over_rivals(well: Path, well_page: Page) -> None:
    records = [record for record in records_of(well) if record.game == "bargaining"]
    rows = well_page.rows("bargaining-players")
    assert {(row["Player"].text, row["Role"].text) for row in rows} == {
        (label, role) for label in WELL["players"] for role in ("Alice", "Bob")
    }
    for row in rows:
        matches = [r for r in records if r.label(row["Role"].text.lower()) == row["Player"].text]
        gains = [metrics_of(record)["self gain alice"] for record in matches]
        mean = sum(filter(None, gains)) / len(matches)
        assert row["Self gain Alice"].number() == pytest.approx(mean, rel=1e-6)
    gained = [row["Self gain Alice"].number() for row in rows if row["Role"].text == "Alice"]
    assert gained == sorted(gained, reverse=True)  # type: ignore[type-var]


def test_published_variants_are_used_and_named_on_demand(
    well: Path, well_page: Page, reported: Reported
) -> None:
    published = reported(well, as_published=True, sample=0)

    def fairness(page: Page) -> list[float | None]:
        return [row["Fairness"].number() for row in page.rows("bargaining-pairings")]

    assert fairness(well_page) != fairness(published)
    assert "A published variant, not used here" in well_page.text
    assert "The published variant, used here" in published.text


def test_numbers_and_metrics_are_explained_and_linked(
    well_page: Page, reported: Reported, badly: Path, tmp_path: Path
) -> None:
    ids = set(well_page.attributes("id"))
    assert {link[1:] for link in well_page.attributes("href") if link.startswith("#")} <= ids
    for name in ("bargaining", "negotiation", "persuasion"):
        game_spec = ct.get_game(name)
        for metric in game_spec.metrics.values():
            assert f"about-{name}-players-{metric.name}" in ids
            assert metric.meaning in well_page.text
    assert field_meanings(ct.get_game("negotiation").rules)["buyer_factor"] in well_page.text

    page = reported(badly, viewer="http://127.0.0.1:9999")
    for name in ("players", "pairings", "answers"):
        for row in page.tables[f"persuasion-{name}"][1:]:
            numbers = [cell for cell in row[2:] if cell.attributes.get("data-v") and cell.number()]
            assert [cell.text for cell in numbers if cell.link is None] == []
    for cell in cells_with_links(page):
        url = urlsplit(cell.link or "")
        assert (url.netloc, url.path.split("/")[:3]) == ("127.0.0.1:9999", ["", "studies", "badly"])

    study: dict[str, Any] = WELL | {"pairing": [["luck", "hard & fast"]]}
    page = reported(play(tmp_path, study))
    assert page.charts()
    assert not any("Alice luck, Bob hard" in chart for chart in page.charts())


def test_methods_and_cells_explain_intervals(
    well_page: Page, reported: Reported, tmp_path: Path
) -> None:
    text = " ".join(well_page.text.split())
    assert "covers the true mean in 95 %" not in text  # not true of thin data
    assert "Intervals have a nominal coverage of 95 %" in text
    assert "intervals in tables and charts are not adjusted for the number of comparisons" in text
    assert "Simultaneous intervals are adjusted for all rivals and roles of a game" in text
    assert "(simultaneous 95 % interval " in text  # two roles

    games = [{"game": "bargaining", "fixed": {"horizon": 3}}]
    page = reported(play(tmp_path, WELL | {"games": games, "instances": 1, "repeats": 1}))
    for row in page.rows("bargaining-pairings"):
        assert row["Finished"].number() == 1
        assert "data-low" not in row["Self gain Alice"].attributes
        assert row["Self gain Alice"].text.endswith("one instance")
        assert row["Self gain Alice"].title == "1 match in 1 instance"

    players = {"fair": {"strategy": "equal_split"}}
    games = [{"game": "bargaining"}]
    page = reported(play(tmp_path, WELL | {"games": games, "players": players}))
    (row,) = page.rows("bargaining-pairings")
    assert row["Agreement"].text == "1.000at least 0.473 (4 of 4)"
    assert row["Agreement"].title == "95 % interval 0.473 to 1.000; 8 matches in 4 instances"


def test_unfinished_matches_are_counted_beside_the_scores(badly: Path, reported: Reported) -> None:
    page = reported(badly)
    records = [record for record in records_of(badly) if record.game == "persuasion"]
    statuses = Counter((labels(record), record.status.value) for record in records)
    for row in page.rows("persuasion-pairings"):
        who = (row["Alice"].text, row["Bob"].text)
        counted = [row[status].number() for status in ("Finished", "Forfeited", "Failed")]
        assert counted == [statuses[who, status] for status in ("finished", "forfeited", "failed")]
        assert (row["Self gain Alice"].text == "none") == (counted[0] == 0)


def test_answer_kinds_are_shown_as_rates(badly: Path, reported: Reported) -> None:
    page = reported(badly)
    records = [record for record in records_of(badly) if record.game == "persuasion"]
    for row in page.rows("persuasion-answers"):
        role, who = row["Role"].text.lower(), row["Player"].text
        kinds: Counter[str] = Counter()
        for record in records:
            if record.label(role) == who:
                kinds.update(record.kinds.get(role, {}))
        assert row["Answers"].number() == kinds.total()
        for kind in ("Ok", "Repaired", "Unparsable"):
            rate = 100 * kinds[kind.lower()] / kinds.total() if kinds else None
            assert row[kind].number() == (pytest.approx(rate) if kinds else None)
        forfeits = [(event.player, event.seat) for record in records for event in record.forfeits]
        assert row["Forfeited"].number() == forfeits.count((who, role))

    seen: Counter[str] = Counter()
    for row in page.rows("persuasion-pairings"):
        kinds = Counter()
        valid, others = row["Valid at first try"], row["Other answers"]
        for record in records:
            if labels(record) == (row["Alice"].text, row["Bob"].text):
                for counts in record.kinds.values():
                    kinds.update(counts)
        if not kinds:
            assert (valid.text, others.text) == ("none", "")
            continue
        total = kinds.total()
        assert valid.number() == pytest.approx(100 * kinds["ok"] / total)
        faults = {kind: count for kind, count in kinds.items() if count and kind != "ok"}
        assert set(filter(None, others.text.split(", "))) == {
            f"{kind.replace('_', ' ')} {100 * count / total:.1f}" for kind, count in faults.items()
        }
        seen.update(faults)
    assert {"repaired", "unparsable"} <= set(seen)


def test_unfinished_studies_are_reported(tmp_path: Path, reported: Reported, badly: Path) -> None:
    page = reported(play(tmp_path, HALTED))
    assert "This study is not complete." in page.text
    assert re.search(r"Of its matches, \d+ have not started, \d+ are live", page.text)
    assert "Calls to models9failed attempts included" in page.text

    players = {"broken": {"model": "vllm/broken"}}
    page = reported(play(tmp_path, BADLY | {"players": players}))
    assert "6 failed. The results cover the 0 finished matches." in page.text
    assert f"out of order {EVIL}" in page.text
    assert page.text.count("No match finished, so there are no scores.") == 2
    assert [row["Failed"].number() for row in page.rows("persuasion-pairings")] == [4]

    path = tmp_path / "empty.sqlite"
    with ct.Store.open(path, create=True) as store:
        store.register_study("empty", {"name": "empty"})
    page = reported(path)
    assert "No match of this study has started." in page.text
    assert len(page.source) < 100_000

    page = reported(badly)
    assert "Not in the charts, because they have no scored match: broken, mute." in page.text
    dots = [chart for chart in page.charts() if "<circle" in chart and "Payoff" not in chart]
    assert dots
    assert not any(">broken</text>" in chart for chart in dots)


def test_matches_of_other_rules_versions_are_excluded_and_named(
    tmp_path: Path, reported: Reported, well: Path
) -> None:
    path = Path(shutil.copy(well, tmp_path))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("update configurations set version = 7 where game = 'negotiation'")
    page = reported(path, sample=1)
    assert "64 finished matches of negotiation were played under another version" in page.text
    assert any("version 7 of the rules" in transcript["html"] for transcript in page.transcripts())
    (row, *_) = page.rows("negotiation-pairings")
    assert [row["Self gain Alice"].text, row["Payoff Alice"].text == "none"] == ["none", False]


def cells_with_links(page: Page) -> list[Cell]:
    return [
        cell
        for rows in page.tables.values()
        for row in rows[1:]
        for cell in row[2:]
        if cell.link is not None and cell.link.startswith("http")
    ]


def test_transcripts_are_sampled_complete_and_inert(
    badly: Path, reported: Reported, well: Path, well_page: Page
) -> None:
    records = {record.id: record for record in records_of(badly)}
    groups = Counter((match.game, labels(match), match.status.value) for match in records.values())
    for number in (0, 1, 9):
        page = reported(badly, sample=number)
        drawn = page.transcripts()
        counts = Counter(
            (entry["game"], tuple(entry["players"].values()), entry["status"]) for entry in drawn
        )
        assert counts == {key: min(count, number) for key, count in groups.items() if number}
    for entry in drawn:
        assert entry["kinds"] == {r: list(kinds) for r, kinds in records[entry["id"]].kinds.items()}

    records = {record.id: record for record in records_of(well)}
    for transcript in well_page.transcripts():
        text = " ".join(Page(transcript["html"]).text.split())
        for line in ct.records.transcript(records[transcript["id"]]):
            assert " ".join(line.text.split()) in text

    kinds = Counter(attributes.get("type") for attributes, _ in page.scripts)
    assert kinds == {None: 2, "application/gzip": 1}
    assert page.tags().isdisjoint({"img", "iframe", "object", "embed", "link", "base"})
    assert EVIL in page.text
    quoted = 0
    for entry in page.transcripts():
        shown = Page(entry["html"])
        assert shown.tags().isdisjoint({"script", "img", "a", "style"})
        assert not any(name.startswith("on") for _, attrs in shown.elements for name in attrs)
        quoted += " ".join(EVIL.split()) in " ".join(shown.text.split())
    assert quoted > 3


def test_nothing_is_fetched_and_only_own_scripts_run(well_page: Page) -> None:
    assert well_page.attributes("src") == []
    assert well_page.tags().isdisjoint({"img", "iframe", "link", "object", "embed", "base", "form"})
    style = re.findall(r"<style>(.*?)</style>", well_page.source, re.DOTALL)
    assert len(style) == 1
    assert not re.search(r"url\(|@import", style[0])
    for link in well_page.attributes("href"):
        assert link.startswith(("#", "http://127.0.0.1:8642/studies/well"))
    (policy,) = [
        attributes["content"] or ""
        for tag, attributes in well_page.elements
        if tag == "meta" and "http-equiv" in attributes
    ]
    digests = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for script in well_page.running()
    ]
    assert len(digests) == 2
    assert "script-src " + " ".join(f"'sha256-{digest}'" for digest in digests) + ";" in policy
    assert policy.startswith("default-src 'none';")


def test_charts_show_table_numbers_and_link_to_their_matches(well_page: Page) -> None:
    assert len(well_page.charts()) > 30
    (agreement, *_) = [chart for chart in well_page.charts() if "<rect" in chart]
    for row in well_page.rows("bargaining-pairings"):
        alice, bob = row["Alice"].text, row["Bob"].text
        names = f"<title>Alice {escape(alice)}, Bob {escape(bob)}\n"
        (mark,) = [part for part in agreement.split("<a ") if names in part]
        assert f">{fixed(row['Agreement'].number() or 0, 2)}</text>" in mark
        (href,) = re.findall('href="([^"]*)"', mark)
        query = parse_qs(urlsplit(unescape(href)).query)
        assert (query["player_alice"], query["status"]) == ([alice], ["finished"])


def test_failed_writing_keeps_files(
    badly: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "report.html"
    out.write_text("the old report")
    (tmp_path / "file").touch()
    with (
        ct.Store.open(badly) as store,
        pytest.raises(ct.CheaptalkError, match=r"report\.html: cannot be written: Not a dir"),
    ):
        ct.reports.report(store, "badly", tmp_path / "file" / "report.html", sample=0)
    (tmp_path / "file").unlink()
    monkeypatch.setattr(GameScores, "notes", property(lambda _: 1 / 0))
    with ct.Store.open(badly) as store, pytest.raises(ZeroDivisionError):
        ct.reports.report(store, "badly", out)
    assert list(tmp_path.iterdir()) == [out]
    assert out.read_text() == "the old report"


def test_many_players_get_one_colour_and_short_labels(tmp_path: Path, reported: Reported) -> None:
    players = {
        f"a player who demands {share} of it": {"strategy": "fixed_demand", "share": share}
        for share in (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
    }
    games = [{"game": "bargaining", "fixed": {"horizon": 2}}]
    page = reported(play(tmp_path, WELL | {"games": games, "players": players, "instances": 2}))
    (cloud,) = [chart for chart in page.charts() if "Efficiency and fairness" in chart]
    assert cloud.count("<circle") == 49
    assert len(set(re.findall('<circle [^>]*fill="([^"]*)"', cloud))) == 1
    (matrix, *_) = [chart for chart in page.charts() if "<rect" in chart]
    assert matrix.count("<rect") == 49 + 9  # the scale, in place of printed numbers
    assert "a player who d" in matrix
    assert matrix.count("…</text>") >= 7


def test_custom_games_get_a_report(
    tmp_path: Path, reported: Reported, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_game(monkeypatch, SPEC)
    study = {
        "name": "toys",
        "games": [{"game": "guessing", "grid": {"talk": [True, False]}}],
        "players": {"careful": {"strategy": "own_card", "plus": 1}, "wild": {"strategy": "random"}},
        "instances": 5,
    }
    page = reported(play(tmp_path, study))
    headings = page.headings("guessing-pairings")
    assert headings[:5] == ["Left", "Right", "Payoff Left", "Payoff Right", "Hits"]
    hits = {
        labels: [
            sum((record.payoffs or {}).values())
            for record in records_of(tmp_path / "toys.sqlite")
            if tuple(player["label"] for player in record.seats.values()) == labels
        ]
        for labels in (("careful", "wild"), ("wild", "wild"))
    }
    for row in page.rows("guessing-pairings"):
        gained = hits.get((row["Left"].text, row["Right"].text))
        if gained:
            assert row["Hits"].number() == pytest.approx(sum(gained) / len(gained))
    assert (inspect.getdoc(Guessing) or "?").partition("\n")[0] in page.text
