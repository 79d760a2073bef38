"""`majorant serve`: a local web page to check a file of votes and label items. It deletes its files when it stops.

May import the pipeline and rendering; imported only by the command line.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import signal
import socket
import tempfile
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from majorant.errors import ConfigError

if TYPE_CHECKING:
    import uvicorn

HOST = "127.0.0.1"


def serve(
    files: Sequence[str], *, port: int, browser: bool, memory: int, limit: int, say: Callable[[str], None]
) -> list[Path]:
    """Serve until interrupted; `files` are listed on the page, and `say` prints the address.

    Returns the files of labels that were given on the page, which are written to the current folder at the end.
    """
    try:
        import python_multipart  # noqa: F401
        import uvicorn

        from majorant.web.app import application
    except ImportError:
        raise ConfigError(
            "The page needs three more packages: pip install starlette uvicorn python-multipart."
        ) from None
    from majorant.web.runs import Runs

    token = secrets.token_urlsafe(24)
    with (
        _private_files(),
        _listening(port) as listener,
        tempfile.TemporaryDirectory(prefix="majorant-serve-", ignore_cleanup_errors=True) as folder,
    ):
        runs = Runs(Path(folder), memory=memory)
        try:
            for file in files:
                runs.add_local(Path(file).expanduser())
            address = f"http://{HOST}:{listener.getsockname()[1]}/{token}/"
            app = application(runs, token=token, port=listener.getsockname()[1], limit=limit)
            config = uvicorn.Config(
                app, log_level="error", access_log=False, server_header=False, lifespan="off", ws="none",
                timeout_graceful_shutdown=2,
            )  # fmt: skip
            say(address)
            if browser:
                webbrowser.open(_redirect(Path(folder), address).as_uri())
            server = uvicorn.Server(config)
            with ended_by_signals(server), contextlib.suppress(KeyboardInterrupt):
                server.run(sockets=[listener])
            try:
                return runs.save_labels(Path.cwd())
            except ConfigError:  # such as in a folder that may not be written
                return runs.save_labels(Path(tempfile.mkdtemp(prefix="majorant-labels-")))
        finally:
            runs.close()


@contextlib.contextmanager
def _private_files() -> Iterator[None]:
    """Let nobody else read any file or folder that this process and its jobs create."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def _redirect(folder: Path, address: str) -> Path:
    """A private page that leads to the address: other users can see the command line of a browser, not this file."""
    page = folder / "open.html"
    page.write_text(
        f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}">'
        f'<title>majorant</title><p><a href="{address}">Open the page</a></p>\n',
        encoding="utf-8",
    )
    return page


@contextlib.contextmanager
def ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """End the server on SIGTERM and SIGHUP (a closed terminal) as on Ctrl-C; under nohup, ignore SIGHUP."""

    def end(*_: Any) -> None:
        server.should_exit = True  # an exception raised while a request is handled would be lost

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    """A socket that only this machine can reach; port 0 picks a free one."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            if error.errno == errno.EACCES:
                raise ConfigError(f"port {port} needs administrator rights: choose 1024 or higher.") from None
            raise ConfigError(
                f"port {port} is in use by another program. Choose another port, or omit it to use a free one."
            ) from None
        listener.listen(128)
        yield listener
