"""Optional requirements of some tests; `make test` lists at the end which ones were missing."""

import shutil
import subprocess

import pytest

NO_DATA = "the public data sets are not here: let MAJORANT_DATA name their folder, or run majorant data get NAME"


def small_disk(folder, size):
    """How to begin a command that sees a file system of this size, and nothing else, in the folder."""
    mount = f'mount -t tmpfs -o size={size} tmpfs {folder} && exec "$@"'
    within = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*within, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("this system lets nobody mount a file system of his own")
    return within
