"""What trains language models on chats: here, or at a provider."""
