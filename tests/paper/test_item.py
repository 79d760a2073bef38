"""The marks of table cells."""

import pytest

from paper.item import Context, Item, compare


@pytest.mark.parametrize(
    ("printed", "ours", "options", "mark"),
    [
        (0.784, 0.78402, {}, "equal"),
        (0.784, 0.7847, {}, "unexplained"),
        (0.78, 0.7847, {"digits": 2}, "equal"),
        (0.786, 0.5, {"exact": 0.784, "printed_error": 0.0006}, "within noise"),  # exact counts, not ours
        (0.786, 0.784, {"printed_error": 0.0004}, "unexplained"),
        (0.786, 0.784, {"error": 0.0006}, "within noise"),
        (0.786, 0.7, {"exact": 0.784, "error": 0.1}, "unexplained"),  # our noise is none of the printed number's
        (0.9, 0.784, {"errata": (33,)}, "explained"),
        (0.9, 0.784, {"why": "another start"}, "explained"),
        (None, 0.784, {}, "ours only"),
        (True, True, {}, "equal"),
        (True, False, {}, "unexplained"),
        (True, False, {"errata": (8,)}, "explained"),
        ("undecided", "proved", {}, "unexplained"),
    ],
)
def test_marks(printed, ours, options, mark):
    assert compare("key", printed, ours, **options).mark == mark


def test_a_cell_that_agrees_needs_no_erratum():
    assert compare("key", 0.5, 0.5, errata=(1,)).errata == ()
    assert compare("key", 0.5, 0.6, errata=(1, 4)).says == "explained by errata 1, 4"
    assert compare("key", 0.5, 0.6, errata=(33,)).says == "explained by erratum 33"


def test_random_streams_are_reproducible_and_differ_by_key():
    first, again, other = (Context(seed=3).rng(*key).random() for key in (("a", 1), ("a", 1), ("a", 2)))
    assert first == again != other


def test_names_are_file_names():
    with pytest.raises(ValueError, match="letters"):
        Item("../x", "", lambda context: None)
