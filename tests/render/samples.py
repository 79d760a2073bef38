"""Sample votes and summaries for rendering."""

from functools import cache

import numpy as np

from majorant.pipeline import check
from majorant.read import read
from majorant.render.summary import result_summary
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes

SCRIPT = "<script>window.hacked = 1</script>"
HOSTILE = (
    SCRIPT,
    "\u202egnp.exe\u2066",
    "long " * 2000,
    "😀🏳️‍🌈 $\\frac{1}{0}$",
    "\"'><img src=x onerror=alert(1)>",
    "</script><b>",
    "{{ 7 * 7 }}",
    "&amp;\x00\x1b[31m",
)


def crowd():
    """A crowd of two classes with some gold."""
    confusion = [[0.85, 0.15], [0.25, 0.75]]
    made = simulate(
        [0.7, 0.3], confusion, n_items=400, n_votes=5, n_workers=30, labels=("ham", "spam"), gold=0.3, rng=0
    )
    return made.votes


def panel():
    """Four judges, three classes, no gold."""
    judges = one_coin_workers([0.92, 0.81, 0.78, 0.66], n_classes=3)
    return simulate([0.5, 0.3, 0.2], judges, n_items=300, n_votes=4, labels=("good", "fair", "poor"), rng=0).votes


def two_items():
    """Hardly anything."""
    names = {"items": "ab", "workers": "xyz", "labels": ("no", "yes")}
    return Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], **names)


def hostile():
    """A panel whose items, workers and labels are out to do harm."""
    judges = one_coin_workers([0.9, 0.8, 0.75, 0.7, 0.6], n_classes=3)
    votes = simulate([0.5, 0.3, 0.2], judges, n_items=60, n_votes=5, gold=0.5, rng=0).votes
    return Votes.from_codes(
        votes.item_n,
        votes.worker_n,
        votes.label_n,
        items=[f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(60)],
        workers=HOSTILE[:5],
        labels=HOSTILE[:3],
        gold=votes.gold_i,
    )


def ties():
    """Two workers who agree on half of the items: no map, no plan worth the name, and many ties."""
    item, worker = np.repeat(np.arange(20), 2), np.tile([0, 1], 20)
    label = np.where(worker == 0, 0, np.arange(40) // 2 % 2)
    return Votes.from_codes(item, worker, label, items=range(20), workers="xy", labels=("no", "yes"))


def spam():
    """Workers with long names, some of whom stand out, and items with a text."""
    votes, truth = simulate([0.6, 0.4], [[0.85, 0.15], [0.2, 0.8]], n_items=200, n_votes=5, n_workers=15, rng=2)
    label_n = votes.label_n.copy()
    label_n[votes.worker_n == 3] = 0
    liar_n = votes.worker_n == 4
    label_n[liar_n] = 1 - truth[votes.item_n[liar_n]]
    item_n, worker_n = votes.item_n, votes.worker_n
    return read(
        {
            "item": [f"message {i}" for i in item_n],
            "worker": [f"annotator-{j}@labelling.example.org" for j in worker_n],
            "label": [("ham", "spam")[k] for k in label_n],
            "text": [
                f"Message {i}: you have been chosen, out of many, to receive a prize of your choice" for i in item_n
            ],
        }
    )


def one_class():
    """Everyone says the same."""
    return Votes.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [0] * 4, items="ab", workers="xy", labels=("yes",))


SAMPLES = {sample.__name__: sample for sample in (crowd, panel, two_items, hostile, ties, one_class, spam)}


@cache
def result(name):
    """The result of a sample."""
    return check(SAMPLES[name](), rng=0)


@cache
def summary(name):
    """The summary of a sample."""
    how = {"command": f"majorant check {name}.csv --report report.html", "seed": 0}
    return result_summary(result(name), next_command=f"majorant ask {name}.csv --n 30", **how)
