"""State files: a flipped bit anywhere is refused."""

import hashlib

import pytest

from majorant.errors import DataError
from majorant.methods.online import State
from majorant.methods.state_file import parse_state, state_bytes

STATE = State(method="la-one-pass", workers=("w",), labels=("n", "y"), arrays={"right": [1.0], "given": [2.0]})


def test_every_flipped_bit_is_refused():
    content = state_bytes(STATE)
    assert parse_state(content, "here").arrays["given"].tolist() == [2.0]
    for at in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[at] ^= 1 << bit
            with pytest.raises(DataError, match=r"^here: "):
                parse_state(bytes(damaged), "here")


def test_a_cut_or_longer_file_is_refused():
    content = state_bytes(STATE)
    for other in (content[:-1], content[:200], content + b"\0", content[:40]):
        with pytest.raises(DataError, match="is truncated or was modified"):
            parse_state(other, "here")


def test_a_forged_file_that_is_no_state_is_refused():
    """A forged file can have a valid checksum, so its content is checked, too."""
    for body in (b"", b"PK", b"junk", state_bytes(STATE).partition(b"\n")[2][:50]):
        head = b"majorant-state 1 " + hashlib.sha256(body).hexdigest().encode()
        with pytest.raises(DataError, match="is truncated or was modified"):
            parse_state(head + b"\n" + body, "here")
