"""The console of a laboratory at work, with all its pages, and the site around it."""

from fastapi import FastAPI

from cheaptalk.web.console.pay import PayDesk
from cheaptalk.web.console.people import People
from cheaptalk.web.console.server import make_console
from cheaptalk.web.console.work import Work
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.site import make_site


def make_laboratory(laboratory: Laboratory, code: str = "", title: str = "cheaptalk") -> FastAPI:
    """All pages of a laboratory: its researchers' and its participants'.

    Args:
        code: for setting it up, which whoever does must know.
        title: what stands over the researchers' pages.
    """
    console = make_console(
        laboratory.database, laboratory.address, code, title,
        [People(laboratory).add, PayDesk(laboratory).add, Work(laboratory).add],
        remove=laboratory.remove,
    )  # fmt: skip
    return make_site(laboratory, console)
