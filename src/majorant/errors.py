"""What can go wrong, by who can mend it. The command line turns each into one message and exit code 2."""


class MajorantError(Exception):
    """Any error this package raises on purpose; its text says where, what, and the next move."""


class DataError(MajorantError, ValueError):
    """The table must be fixed.

    >>> import majorant as mj
    >>> mj.read([("a", "w")])
    Traceback (most recent call last):
    ...
    majorant.errors.DataError: list of votes, row 0: ('a', 'w') is not (item, worker, label).
    """


class ConfigError(MajorantError, ValueError):
    """The call must be fixed.

    >>> import majorant as mj
    >>> mj.read([("a", "w", 1)], repeats="both")
    Traceback (most recent call last):
    ...
    majorant.errors.ConfigError: repeats='both': choose one of error, first, last, each.
    """


class NotIdentified(MajorantError):
    """The data cannot answer the question, however they are analysed.

    >>> import majorant as mj
    >>> mj.plan([("a", "u", 1), ("b", "v", 0), ("b", "u", 0)])
    Traceback (most recent call last):
    ...
    majorant.errors.NotIdentified: ...
    """
