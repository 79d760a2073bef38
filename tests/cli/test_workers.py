"""`majorant check` and `majorant workers` report the same number for each worker."""

from majorant.output import votes_table, write_table
from majorant.simulate import one_coin_workers, simulate


def test_check_and_workers_write_the_same_table(run):
    crew = one_coin_workers([0.85] * 19 + [0.15])
    votes, _ = simulate([0.5, 0.5], crew, n_items=600, n_votes=5, rng=0)
    write_table("votes.csv", votes_table(votes))
    run("check", "votes.csv", "--out", "results")
    run("workers", "votes.csv", "--out", "workers.csv")
    with open("results/workers.csv", encoding="utf-8") as one, open("workers.csv", encoding="utf-8") as other:  # noqa: PTH123
        checked, judged = one.read(), other.read()
    assert checked == judged
    assert "adversarial" in judged
