"""Refusals: the status and the sentence of a page that says why something was not done."""

import re

from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import OperationalError

from cheaptalk.rules import CheaptalkError, UnknownName
from cheaptalk.web.console.accounts import BadAccount, TooManyTries, WrongPassword
from cheaptalk.web.laboratory.drafts import BadName, Conflict, Missing, Taken
from cheaptalk.web.laboratory.staff import LastOwner
from cheaptalk.web.problems import without_folders

NOT_SAID = ("Not Found", "Method Not Allowed")
"""What the framework says where there is no page."""
STATUSES: dict[type[Exception], int] = {
    BadAccount: 400,
    BadName: 400,
    Conflict: 409,
    LastOwner: 409,
    Missing: 404,
    OperationalError: 503,
    RequestValidationError: 400,
    Taken: 409,
    TooManyTries: 429,
    UnknownName: 404,
    WrongPassword: 403,
}


def status_of(error: Exception) -> int:
    """The status of an answer that says an error; 500 of one that nobody foresaw."""
    if isinstance(error, HTTPException):
        return error.status_code
    other = 400 if isinstance(error, CheaptalkError) else 500
    return STATUSES.get(type(error), getattr(error, "status_code", other))


def sentence(error: Exception) -> str:
    """What is wrong, as a page says it.

    >>> sentence(CheaptalkError("there is no such study"))
    'There is no such study.'
    >>> sentence(CheaptalkError("pilot.sqlite is damaged"))
    'pilot.sqlite is damaged.'
    """
    match error:
        case HTTPException(detail=said) if said not in NOT_SAID:
            return str(said)
        case CheaptalkError():
            said = without_folders(str(error))
            is_file = re.match(r"\S*\w\.\w", said)
            return f"{said}." if is_file else f"{said[:1].upper()}{said[1:]}."
        case RequestValidationError():
            return "This address cannot be read."
        case OperationalError():
            return (
                "The laboratory's file cannot be written just now, and nothing was changed. Try "
                "again; if that does not help, look whether the disk is full."
            )
    if status_of(error) == 500:
        return "Something failed here that is no fault of yours. Go back, and try again."
    return "There is nothing here. Go to the beginning, and choose a study."
