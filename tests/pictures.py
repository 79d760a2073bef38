"""Pages without their pictures: to draw them takes most of a page's time, and tests/report looks at them."""

import contextlib
from collections.abc import Iterator
from unittest import mock


@contextlib.contextmanager
def no_pictures() -> Iterator[None]:
    """Pages made within have empty figures."""
    with mock.patch("majorant.render.html.svg_of", return_value="<svg></svg>"):
        yield
