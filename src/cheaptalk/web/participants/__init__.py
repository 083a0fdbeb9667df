"""Web pages of participants, from the recruitment link to the completion code."""
