"""What people go through who take part in a study: the protocol, its path, its pay."""
