"""Language models as learners: chats in tokens, small models made here, self-play."""
