"""The transaction coordinator: producers, their transactions and how they end (pure)."""
