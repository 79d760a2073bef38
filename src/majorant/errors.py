"""What can go wrong, by who can mend it. The command line turns each into one message and exit code 2."""


class MajorantError(Exception):
    """Any error this package raises on purpose; its text says where, what, and the next move."""


class DataError(MajorantError, ValueError):
    """The table must be fixed."""


class ConfigError(MajorantError, ValueError):
    """The call must be fixed."""


class NotIdentified(MajorantError):
    """The data cannot answer the question, however they are analysed."""
