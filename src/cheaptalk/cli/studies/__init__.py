"""Commands that plan, run, control, serve and store studies, or train players."""
