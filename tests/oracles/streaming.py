"""LA by a dictionary and a loop."""


def one_pass(ballots, order):
    """Best labels by item and accuracy by worker, for ballots {item: [(worker, label)]} visited in order."""
    right, given, best = {}, {}, {}

    def accuracy(worker):
        return (right.get(worker, 0) + 1) / (given.get(worker, 0) + 2)

    for item in order:
        score = {}
        for worker, label in ballots[item]:
            score[label] = score.get(label, 0) + accuracy(worker)
        top = max(score.values(), default=0)
        best[item] = {label for label, value in score.items() if value >= top - 1e-9}
        for worker, label in ballots[item]:
            given[worker] = given.get(worker, 0) + 1
            right[worker] = right.get(worker, 0) + (1 / len(best[item]) if label in best[item] else 0)
    return best, {worker: accuracy(worker) for worker in given}


def two_pass(ballots, order, n_classes):
    """The label sets of the second vote."""
    _, accuracy = one_pass(ballots, order)
    best = {}
    for item, ballot in ballots.items():
        score = dict.fromkeys(range(n_classes), 0.0)
        for worker, label in ballot:
            score[label] += n_classes * accuracy[worker] - 1
        top = max(score.values())
        best[item] = {label for label, value in score.items() if value >= top - 1e-9}
    return best
