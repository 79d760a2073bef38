"""Agreement by loops over pairs of votes. `ballots`: for each item the list of (worker, label) given to it."""

from collections import defaultdict
from itertools import combinations


def pairs_of_votes(ballot):
    """Ordered pairs of two different votes on an item."""
    return [(one, two) for i, one in enumerate(ballot) for j, two in enumerate(ballot) if i != j]


def percent(ballots):
    shares = []
    for ballot in ballots:
        if len(ballot) >= 2:
            equal = [one[1] == two[1] for one, two in pairs_of_votes(ballot)]
            shares.append(sum(equal) / len(equal))
    return sum(shares) / len(shares)


def class_shares(ballots):
    """The share of each label on an item, averaged over items with votes."""
    voted = [ballot for ballot in ballots if ballot]
    share = defaultdict(float)
    for ballot in voted:
        for _, label in ballot:
            share[label] += 1 / len(ballot) / len(voted)
    return dict(share)


def fleiss(ballots):
    chance = sum(share * share for share in class_shares(ballots).values())
    return (percent(ballots) - chance) / (1 - chance)


def gwet(ballots):
    share = class_shares(ballots)
    chance = sum(p * (1 - p) for p in share.values()) / (len(share) - 1)
    return (percent(ballots) - chance) / (1 - chance)


def krippendorff(ballots, distance=lambda one, two: float(one != two)):
    """One minus observed over expected disagreement; each vote is paired with the others of its item, then with all."""
    paired = [ballot for ballot in ballots if len(ballot) >= 2]
    votes = [vote for ballot in paired for vote in ballot]
    observed = sum(
        distance(one[1], two[1]) / (len(ballot) - 1) for ballot in paired for one, two in pairs_of_votes(ballot)
    )
    expected = sum(distance(one[1], two[1]) for one, two in pairs_of_votes(votes)) / (len(votes) - 1)
    return 1 - observed / expected


def ordinal_distance(ballots):
    """Votes from one label up to the other, the two ends counting half; numbers as labels."""
    number = defaultdict(int)
    for ballot in ballots:
        if len(ballot) >= 2:
            for _, label in ballot:
                number[label] += 1

    def distance(one, two):
        low, high = min(one, two), max(one, two)
        between = sum(count for label, count in number.items() if low <= label <= high)
        return (between - (number[low] + number[high]) / 2) ** 2

    return distance


def pair_tables(ballots):
    """For each two workers a < b: the items in common, and how often a said l and b said m on one of them."""
    items, tables = defaultdict(int), defaultdict(lambda: defaultdict(int))
    for ballot in ballots:
        for one, two in combinations(sorted(ballot), 2):
            if one[0] != two[0]:
                tables[one[0], two[0]][one[1], two[1]] += 1
        for pair in combinations(sorted({worker for worker, _ in ballot}), 2):
            items[pair] += 1
    return dict(items), {pair: dict(table) for pair, table in tables.items()}


def cohen(table):
    """Kappa of one table {(label of a, label of b): number}; None where it is not defined."""
    total = sum(table.values())
    labels = {label for cell in table for label in cell}
    observed = sum(n for (one, two), n in table.items() if one == two) / total
    margin_a = {label: sum(n for (one, _), n in table.items() if one == label) / total for label in labels}
    margin_b = {label: sum(n for (_, two), n in table.items() if two == label) / total for label in labels}
    chance = sum(margin_a[label] * margin_b[label] for label in labels)
    return None if len(labels) == 1 else (observed - chance) / (1 - chance)


def mean_cohen(ballots):
    """Mean over pairs of workers, weighted by their pairs of votes."""
    above = below = 0.0
    for table in pair_tables(ballots)[1].values():
        value = cohen(table)
        if value is not None:
            above += value * sum(table.values())
            below += sum(table.values())
    return above / below if below else None
