"""The study form: its fields, the study that they describe, and its pages."""
