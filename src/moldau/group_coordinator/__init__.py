"""The group coordinator: who reads what, and how far everybody has come (pure)."""
