"""Default argument values; imports nothing, so that --help stays fast."""

LEVEL = 0.95  # confidence level of every interval, test and verdict
TOLERANCE = 0.01  # a difference in accuracy too small to matter
TARGET = 0.95  # the accuracy that a plan aims for
MAX_VOTES = 25  # the most votes per item that a plan considers
MAJORITY = "majority"  # the method name of majority vote
WEIGHTED_VOTE = "weighted-vote"  # the rule name of the weighted vote
ONE_STEP = "one-step"  # the rule name of one step of Dawid-Skene
MEDIAN = "median"  # the rule name of the median of grades
WORKER_METHOD = "hierarchical"  # rates workers by default
RESULT_FILES = ("report.html", "labels.csv", "workers.csv", "review.csv", "result.json")  # by check --out
REPEATS = ("error", "first", "last", "each")  # which vote counts if a worker labels an item twice; the first is usual
MAX_CLASSES = 1000  # distinct labels
