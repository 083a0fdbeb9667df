"""Playing what is planned: scripted matches, live ones, and how far they are."""
