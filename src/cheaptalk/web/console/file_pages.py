"""Console pages on which researchers upload images and templates for participants."""

from typing import NamedTuple

from fastapi import HTTPException
from fastapi.responses import Response

from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.errors import shown
from cheaptalk.studies.people.page_texts.files import SUFFIXES, TEMPLATE, suffix_of
from cheaptalk.web.console.authentication import STUDY, Authentication, CurrentVisit, Visit
from cheaptalk.web.console.errors import sentence
from cheaptalk.web.console.study_pages import conflict_page
from cheaptalk.web.laboratory.drafts import Conflict, Draft
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.library import (
    PATH,
    add_to_library,
    files_of,
    last_files,
    preview_of,
    remove_last,
    with_file,
    with_paths,
)
from cheaptalk.web.laboratory.staff import Role

LIBRARY = "/files"


class StudyFile(NamedTuple):
    """A file of a study or of the library: its name, what shows it in a text, and a preview."""

    name: str
    usage: str
    preview: str


class FilePages:
    """The Files tab of a study, and the page with the files of the laboratory."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.folder = laboratory.folder.path
        self.drafts = laboratory.database.drafts

    def add(self, authentication: Authentication) -> None:
        path = f"{STUDY}/files"
        authentication.add_page(path, self.listing, Role.VIEWER)
        authentication.add_action(path, self.upload, Role.RESEARCHER, uploads=True)
        authentication.add_action(f"{path}/remove", self.remove, Role.RESEARCHER)
        authentication.add_page(LIBRARY, self.library, Role.VIEWER)
        authentication.add_action(LIBRARY, self.upload_to_library, Role.RESEARCHER, uploads=True)
        authentication.add_action(f"{LIBRARY}/remove", self.remove_from_library, Role.RESEARCHER)

    def library(self, visit: CurrentVisit) -> Response:
        return self._library(visit)

    def _library(self, visit: Visit, problem: str = "") -> Response:
        files = [
            StudyFile(name, usage_of(name), preview_of(name, data))
            for name, data in last_files(self.folder).items()
        ]
        values = {"files": files, "problem": problem, "suffixes": ",".join(SUFFIXES)}
        return visit.render("library.html.jinja", 422 if problem else 200, **values)

    def upload_to_library(self, visit: CurrentVisit) -> Response:
        try:
            names = [name for name, _ in self._added(visit)]
        except ValueError as error:
            return self._library(visit, sentence(CheaptalkError(str(error))))
        return visit.go(LIBRARY, "Files uploaded: %(names)s.", names=", ".join(names))

    def remove_from_library(self, visit: CurrentVisit) -> Response:
        file = visit.form.get("file", "")
        if not remove_last(self.folder, file):
            raise HTTPException(404, f"The laboratory has no file {shown(file)}.")
        return visit.go(LIBRARY, "File removed: %(names)s.", names=file)

    def _added(self, visit: Visit) -> list[tuple[str, str]]:
        """Add the uploaded files to the library, and return their names and paths."""
        if not visit.files:
            raise ValueError("no file was chosen; choose an image or a template")
        return [
            (file.name, add_to_library(self.folder, file.name, file.content))
            for file in visit.files
        ]

    def listing(self, visit: CurrentVisit, name: str) -> Response:
        return self._page(visit, name)

    def _page(self, visit: Visit, name: str, problem: str = "") -> Response:
        draft = self.drafts.read(name)
        files = [self._file(file, path) for file, path in files_of(draft.text).items()]
        values = {"files": files, "problem": problem, "suffixes": ",".join(SUFFIXES)}
        return visit.render("files.html.jinja", 422 if problem else 200, **values)

    def _file(self, name: str, path: str) -> StudyFile:
        usage = usage_of(name)
        try:
            content = (self.folder / path).read_bytes() if PATH.fullmatch(path) else b""
            return StudyFile(name, usage, preview_of(name, content))
        except (OSError, ValueError):
            return StudyFile(name, usage, "")

    def upload(self, visit: CurrentVisit, name: str) -> Response:
        """Add the uploaded files to the library and to the design."""
        draft = self.drafts.read(name)
        text = draft.text
        try:
            for file, path in self._added(visit):
                text = with_file(text, file, path)
        except ValueError as error:
            return self._page(visit, name, sentence(CheaptalkError(str(error))))
        names = ", ".join(file.name for file in visit.files)
        return self._save(visit, text, draft, "Files uploaded: %(names)s.", names)

    def remove(self, visit: CurrentVisit, name: str) -> Response:
        """Remove a file from the design; versions of the design that name it keep it."""
        draft, file = self.drafts.read(name), visit.form.get("file", "")
        if file not in files_of(draft.text):
            raise HTTPException(404, f"The study has no file {shown(file)}.")
        text = with_file(draft.text, file, None)
        if file in files_of(with_paths(text, self.folder)):
            problem = f"the design uses {file}; remove it from the texts first"
            return self._page(visit, name, sentence(CheaptalkError(problem)))
        return self._save(visit, text, draft, "File removed: %(names)s.", file)

    def _save(self, visit: Visit, text: str, draft: Draft, notice: str, names: str) -> Response:
        try:
            self.drafts.replace(draft.name, text, draft.version, visit.account.name)
        except Conflict as conflict:
            return conflict_page(visit, conflict)
        return visit.go(f"/studies/{draft.name}/files", notice, names=names)


def usage_of(name: str) -> str:
    """Return what a design contains to show a file."""
    return f"page: {name}" if suffix_of(name) == TEMPLATE else f"![Description]({name})"
