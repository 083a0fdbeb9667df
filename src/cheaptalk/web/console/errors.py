"""HTTP status codes and messages of the console's error pages."""

import re

from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import OperationalError

from cheaptalk.rules import CheaptalkError, UnknownName
from cheaptalk.web.problems import without_folders

NOT_SAID = ("Not Found", "Method Not Allowed")
"""Framework messages that the pages replace."""
STATUSES: dict[type[Exception], int] = {
    OperationalError: 503,
    RequestValidationError: 400,
    UnknownName: 404,
}
"""Statuses of errors that have no attribute ``status_code``."""


def status_of(error: Exception) -> int:
    """Return the HTTP status for an error; 500 for unexpected errors."""
    default = 400 if isinstance(error, CheaptalkError) else 500
    status: int = getattr(error, "status_code", STATUSES.get(type(error), default))
    return status


def sentence(error: Exception) -> str:
    """Return the message that a page shows for an error.

    >>> sentence(CheaptalkError("there is no such study"))
    'There is no such study.'
    >>> sentence(CheaptalkError("pilot.sqlite is damaged"))
    'pilot.sqlite is damaged.'
    """
    match error:
        case HTTPException(detail=text) if text not in NOT_SAID:
            return str(text)
        case CheaptalkError():
            text = without_folders(str(error))
            is_file = re.match(r"\S*\w\.\w", text)
            return f"{text}." if is_file else f"{text[:1].upper()}{text[1:]}."
        case RequestValidationError():
            return "The address of this page is invalid. Choose a study from the list of studies."
        case OperationalError():
            return (
                "The laboratory's database could not be written. Your changes were not saved. Try "
                "again; if the error persists, check for free disk space."
            )
    if status_of(error) == 500:
        return (
            "An internal error occurred. The server's log has the details. Go back and try again."
        )
    return "Page not found. Choose a study from the list of studies."
