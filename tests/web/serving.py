"""A server of the page for tests, in a separate process."""

import contextlib
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """The address of `majorant serve`, which is interrupted at the end and must then end well."""
    command = [sys.executable, "-m", "majorant", "serve", "--no-browser", *arguments]
    with (  # labels that were given are written to the current folder at the end
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder) as server,
    ):
        try:
            address = server.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", address), (address, server.stderr.read())
            yield address
            server.send_signal(signal.SIGINT)
            out, err = server.communicate(timeout=60)
            assert server.returncode == 0, (out, err)
            assert "Stopped; all uploads and results were deleted.\n" in err
        finally:
            server.kill()
