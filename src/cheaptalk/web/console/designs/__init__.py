"""The study form, with which researchers design a study in the browser."""
