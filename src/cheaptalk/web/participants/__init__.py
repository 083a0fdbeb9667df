"""The pages of participants: from the link by which they come to the code with which they go."""
