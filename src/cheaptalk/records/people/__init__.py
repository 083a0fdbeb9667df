"""People who take part: what they did, who they are, what they are paid, how they are deleted."""
