"""Web pages for participants, from the recruitment link to the completion code."""
