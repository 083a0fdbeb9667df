"""The form by which a study is made: its fields, what they come to, and its pages."""
