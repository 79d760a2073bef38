"""The version, alone in its file so that every room can import it."""

__version__ = "0.1.0"
