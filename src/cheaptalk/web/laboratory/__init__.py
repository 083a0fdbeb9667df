"""The laboratory: researchers' studies on a server, with their runs, outputs and accounts."""
