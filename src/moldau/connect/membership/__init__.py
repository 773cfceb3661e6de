"""Which worker of a group is the active one: it runs all connectors, the others stand by."""
