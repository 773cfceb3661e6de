"""From the text schema to Python modules; see ``schema.py`` for the schema's form."""
