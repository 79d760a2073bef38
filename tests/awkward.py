"""A table of awkward rows and the votes it must give, however it is read."""

TABLE = """item,worker,label,gold,status
i1,ana,1,1,ok
i1,bo,2,,ok
i1,bo,2,,done
i1,cy,,,ok
 i1,ana,1,2,
i2,ana,NA,2,ok
i2,bo,1,2,error
i2,cy,01,,success
i3,ana,   ,,ok
i3,bo,yes,,skipped
007,ana,1,NA,ok
7,ana,2,,ok
"i,4",bo,ünder,1,OK
i1,ana,1,1,ok
"""  # copies, blanks, a status that says no, ids and labels that only look alike, gold that is no label
VOTES = {
    ("i1", "ana", "1"), ("i1", "bo", "2"), (" i1", "ana", "1"), ("i2", "cy", "01"),
    ("007", "ana", "1"), ("7", "ana", "2"), ("i,4", "bo", "ünder"),
}  # fmt: skip
GOLD = {"i1": "1", " i1": "2", "i2": "2", "i,4": "1"}
ACCOUNT = {"rows": 14, "votes": 7, "abstained": 5, "merged": 2, "dropped": 0, "repeats": "error"}
NOTES = {"abstained", "merged", "unlabelled-items", "label-variants"}
REFUSED = {  # a row more, and what the message says
    "i1,bo,1,,ok": "worker 'bo' labels item 'i1'",
    "i2,ana,1,1,ok": "item 'i2' has",
    "i1,cy,1,,perhaps": "cannot tell whether 'perhaps' means a vote",
    ",cy,1,,ok": "column 'item'",
    "i1,,1,,ok": "column 'worker'",
}


def holds(votes):
    """Whether votes in memory are those of the table."""
    said = zip(votes.item_n.tolist(), votes.worker_n.tolist(), votes.label_n.tolist(), strict=True)
    assert {(votes.items[i], votes.workers[j], votes.labels[l]) for i, j, l in said} == VOTES
    assert votes.n_votes == len(VOTES)
    gold = zip(votes.items, votes.gold_i.tolist(), strict=True)
    assert {item: votes.labels[code] for item, code in gold if code >= 0} == GOLD
    assert votes.labels == ("01", "1", "2", "ünder")
    assert {name: getattr(votes.account, name) for name in ACCOUNT} == ACCOUNT
    assert {note.kind for note in votes.account.notes} - {"id-variants"} == NOTES  # Spark does not look at all items
    assert votes.account.balanced
