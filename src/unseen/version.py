"""The version, in a module of its own so that building the package imports nothing else."""

__version__ = "0.1.0"
