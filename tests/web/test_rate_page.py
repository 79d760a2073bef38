"""The page measures the share of a class, as the tutorial on rates does on the command line."""

import random
import re

from web.test_server import listening, page, send, settle


def judge_log():
    """Kind judges of two systems, and the truth of each answer."""
    rng = random.Random(7)
    judges, truth, rows = {"gpt-4o": (0.97, 0.55), "claude": (0.93, 0.30), "gemini": (0.90, 0.40)}, {}, []
    for q in range(150):
        for system, share in (("atlas", 0.88), ("borea", 0.62)):
            good = rng.random() < share
            truth[f"q{q} | {system}"] = "pass" if good else "fail"
            for judge, kind in judges.items():
                rows.append((f"q{q}", system, judge, "pass" if rng.random() < kind[not good] else "fail"))
    return "\n".join(map(",".join, [("question", "system", "judge", "verdict"), *rows])).encode(), truth


def test_labels_drawn_to_teach_measure_no_pass_rate(tmp_path):
    content, truth = judge_log()
    with listening(tmp_path / "kept") as server:
        id = send(server, "log.csv", content)
        page(server, f"/files/{id}/columns", do="check")
        before = page(server, f"/files/{settle(server, id)}").text
        assert re.search(r"<h2>Share of pass</h2><p>Share of pass: .*no labels to check that", before)
        shown = page(server, f"/files/{id}/label/begin", do="begin").text
        for _ in range(30):
            draw = re.search(r'name="draw" value="(\d+)"', shown)[1]
            item = re.search(r"item <bdi>([^<]+)</bdi>", shown)[1]
            shown = page(server, f"/files/{id}/label", draw=draw, label=truth[item]).text
        page(server, f"/files/{id}/label", do="finish")
        after = page(server, f"/files/{settle(server, id)}").text
        # These labels were drawn to teach a rule, so they are no random sample and measure no rate.
        assert re.search(r"<h2>Share of pass</h2><p>Share of pass: .*no labels to check that", after)
