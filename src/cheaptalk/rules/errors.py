"""Errors that are told to people."""


class CheaptalkError(Exception):
    """Something a user can mend; the message is one sentence with the cause and the cure."""
