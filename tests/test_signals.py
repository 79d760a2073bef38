"""SIGTERM and SIGHUP end a command cleanly and leave no temporary files; endless standard input is rejected."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
import uvicorn

import majorant as mj
from majorant.errors import DataError
from majorant.limits import LIMITS
from majorant.web import ended_by_signals

SIGNALS = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
VOTES = b"item,worker,label\n" + b"".join(b"i%d,w%d,%d\n" % (i, j, i % 2) for i in range(50) for j in range(3))


def heed():
    """Heed SIGHUP, also where the tests themselves run under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextlib.contextmanager
def start(tmp_path, *words, **how):
    if hasattr(signal, "SIGHUP"):
        how.setdefault("preexec_fn", heed)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "majorant", *words]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, **pipes, **how) as process:
        try:
            yield process
        finally:
            process.kill()  # or a failed test would wait for it forever


def wait_for(tmp_path):
    until = time.monotonic() + 60
    while not any(tmp_path.iterdir()):
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("number", SIGNALS)
def test_terminated_command_leaves_no_copy_of_its_input(tmp_path, number):
    with start(tmp_path, "aggregate", "-", "--out", "-") as process:
        process.stdin.write(VOTES)
        process.stdin.flush()
        wait_for(tmp_path)  # it copies what it is sent, and waits for more
        process.send_signal(number)
        assert process.wait(60) == 128 + number
        assert b"no partial files were left behind" in process.stderr.read()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", SIGNALS)
def test_stopped_server_leaves_no_uploads(tmp_path, number):
    with start(tmp_path, "serve", "--no-browser") as process:
        address = process.stdout.readline().decode().strip()
        body = (
            b'--zz\r\nContent-Disposition: form-data; name="file"; filename="v.csv"\r\n\r\n' + VOTES + b"\r\n--zz--\r\n"
        )
        request = urllib.request.Request(f"{address}files", body, {"content-type": "multipart/form-data; boundary=zz"})
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).close()
        assert list(tmp_path.rglob("votes.csv"))
        process.send_signal(number)
        assert process.wait(60) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", SIGNALS)
def test_server_stops_when_the_signal_arrives_during_a_request(number):
    async def app(scope, receive, send):
        signal.raise_signal(number)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    request = threading.Thread(
        target=lambda: urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address)
    )
    request.start()
    before = signal.signal(number, signal.SIG_DFL)  # the tests themselves may run under nohup
    try:
        with ended_by_signals(server):
            server.run(sockets=[listener])
    finally:
        signal.signal(number, before)
    request.join()


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no SIGHUP here")
def test_nohup_is_respected(tmp_path):
    ignore = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
    with start(tmp_path, "aggregate", "-", "--out", "-", **ignore) as process:
        process.stdin.write(VOTES[:100])
        process.stdin.flush()
        wait_for(tmp_path)
        process.send_signal(signal.SIGHUP)
        out, err = process.communicate(VOTES[100:], timeout=60)
        assert process.returncode == 0, err
        assert out.count(b"\n") == 51


def test_standard_input_without_an_end_is_refused(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    lowered = "from majorant import cli, limits; limits.LIMITS['STREAM_BYTES'] = 5_000_000; cli.main()"
    command = [sys.executable, "-c", lowered, "aggregate", "-", "--out", "-"]
    with Path("/dev/zero").open("rb") as endless:
        done = subprocess.run(command, stdin=endless, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "bytes of standard input: the limit STREAM_BYTES is 5,000,000. Write them to a file" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_endless_pipe_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setitem(LIMITS, "STREAM_BYTES", 1000)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'wb').write(b'x' * 9000)"]) as writer:
        with pytest.raises(DataError, match=r"bytes of .*pipe: the limit STREAM_BYTES is 1,000"):
            mj.read(pipe)
        writer.wait()
