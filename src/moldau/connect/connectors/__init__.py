"""The connectors that come with Moldau, one module or package for each system."""
