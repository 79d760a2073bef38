"""Default argument values; imports nothing, so that --help stays fast."""

LEVEL = 0.95  # of every interval, test and verdict
TOLERANCE = 0.01  # a difference in accuracy too small to matter
TARGET = 0.95  # the accuracy to buy votes for
MAX_VOTES = 25  # on an item, that a plan looks at
MAJORITY = "majority"  # the name of majority vote among the methods
WEIGHTED_VOTE = "weighted-vote"  # the name of the weighted vote among the rules
COMBINED = ("one-coin", "hierarchical", "ebcc", MAJORITY)  # methods whose mean is the weighted vote
WORKER_METHOD = "hierarchical"  # by which workers are judged, unless the caller names another that knows each
RESULT_FILES = ("report.html", "labels.csv", "workers.csv", "review.csv", "result.json")  # of check --out
