"""What is taken where the caller says nothing: judgements that every command, page and function shares."""

LEVEL = 0.95  # of every interval, test and verdict
TOLERANCE = 0.01  # a difference in accuracy that nobody would pay a model for
TARGET = 0.95  # the accuracy to buy votes for
MAX_VOTES = 25  # on an item, that a plan looks at
WORKER_METHOD = "hierarchical"  # by which workers are judged, unless the caller names another that knows each
