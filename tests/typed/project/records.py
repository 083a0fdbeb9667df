"""Records: exports, imports, copies, archives, the cache, batches; the doctor."""

from pathlib import Path

import cheaptalk as ct
from cheaptalk import doctor


def export_study(path: Path, out: Path) -> dict[str, int]:
    with ct.Store.open(path) as store:
        chats: ct.records.Chat = next(iter(ct.records.chats(next(store.records(bodies=True)))))
        print(chats)
        ct.adapters.write_inspect_logs(store, "mine", out / "logs")
    return ct.export(path, "mine", out / "mine.zip", "parquet", workers=2).rows


def import_games(path: Path, games: Path) -> int:
    taken = ct.import_matches(ct.papers.read_glee(games, names=["Ada"]), path, "glee")
    other = ct.records.imports.IMPORTERS.find("gama").read([games])
    return taken.imported + ct.import_matches(other, path, "gama").present


def archive_study(path: Path, url: str) -> dict[str, int]:
    with ct.Store.open(path) as store:
        manifest: ct.records.Manifest = ct.records.archive(store, url, study="mine")
    with ct.Store.open("back.sqlite", create=True) as back:
        ct.records.restore(url, back)
        with ct.Store.open("copy.sqlite", create=True) as copy:
            print(ct.records.copy_store(back, copy)["matches"])
    return manifest.rows


def explain_cache(file: Path, path: Path, match: str) -> list[str]:
    with ct.records.Cache(file, create=False) as cache, ct.Store.open(path) as store:
        print([shelf.replies for shelf in cache.shelves()], cache.clear("openai/*"))
        why = ct.records.explain_match(cache, store, match, request=0)
        batches: list[ct.records.BatchSummary] = ct.records.all_batches(store)
        print(batches)
        return [line for reason in why for line in reason.differences]


def is_healthy(path: Path) -> bool:
    checks = [*doctor.examine_installation(), *doctor.examine_store(path, deep=True)]
    return all(check.ok for check in checks)
