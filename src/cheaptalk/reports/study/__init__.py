"""The report of a study: what each game came to, who met whom, and what was played."""
