"""State files: a flipped bit anywhere is refused."""

import pytest

from majorant.errors import DataError
from majorant.methods.online import State, state_bytes, state_of

STATE = State(method="la-one-pass", workers=("w",), labels=("n", "y"), arrays={"right": [1.0], "given": [2.0]})


def test_every_flipped_bit_is_refused():
    content = state_bytes(STATE)
    assert state_of(content, "here").arrays["given"].tolist() == [2.0]
    for at in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[at] ^= 1 << bit
            with pytest.raises(DataError, match=r"^here: "):
                state_of(bytes(damaged), "here")


def test_a_cut_or_longer_file_is_refused():
    content = state_bytes(STATE)
    for other in (content[:-1], content[:200], content + b"\0", b"PK"):
        with pytest.raises(DataError, match="cut off or was altered"):
            state_of(other, "here")
