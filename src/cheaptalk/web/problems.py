"""Messages about stored entries and files that cannot be read."""

import logging
import re

from cheaptalk.rules import CheaptalkError

LOG = logging.getLogger(__name__)
FOLDERS = re.compile(r"(?<![\w:/.])/(?:[^\s/:\"']+/)+(?=[^\s/:\"'])")
"""Matches the folders of an absolute path in a message."""


def without_folders(text: str) -> str:
    """Remove the folders of all file paths in a message, leaving only file names.

    >>> without_folders("/srv/lab/pilot.sqlite is no store; see https://a.org/b/c")
    'pilot.sqlite is no store; see https://a.org/b/c'
    """
    return FOLDERS.sub("", text)


def problem_of(error: Exception, entry: str) -> str:
    """Return why an entry, such as ``the design of pilot``, cannot be shown, without a full stop.

    Unexpected errors are logged with their traceback. The sentence contains only their type,
    because their text may quote the data.
    """
    if isinstance(error, CheaptalkError):
        return without_folders(str(error))
    LOG.error("%s cannot be read", entry, exc_info=error)
    return (
        f"{entry} cannot be read ({type(error).__name__}); correct it or restore a backup; see the "
        "server's log for details"
    )
