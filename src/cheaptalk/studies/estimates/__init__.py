"""What a study is going to take, as a range, before anything runs."""
