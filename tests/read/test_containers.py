"""Decompression bombs are rejected, and a parser that crashes does not take down the process."""

import gzip
import io
import json
import os
import struct
import subprocess
import sys
import time
import zipfile
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import majorant as mj
from majorant.errors import DataError
from majorant.limits import LIMITS
from majorant.read import files
from majorant.read.files import open_packed

TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml'
    '.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-'
    'officedocument.spreadsheetml.worksheet+xml"/></Types>'
)
REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def workbook(path, cells):
    """A workbook with one sheet: cells by their place, such as {"A1": "item", "B2": 3}."""
    rows = {}
    for place, value in cells.items():
        number = "".join(sign for sign in place if sign.isdigit())
        kind, content = ("", f"<v>{value}</v>") if isinstance(value, (int, float)) else (
            ' t="inlineStr"', f"<is><t>{value}</t></is>"
        )  # fmt: skip
        rows.setdefault(int(number), []).append(f'<c r="{place}"{kind}>{content}</c>')
    data = "".join(f'<row r="{number}">{"".join(row)}</row>' for number, row in sorted(rows.items()))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("[Content_Types].xml", TYPES)
        relation = '<Relationship Id="r1" Type="{}/{}" Target="{}"/>'
        start = relation.format(REL, "officeDocument", "xl/workbook.xml")
        book.writestr("_rels/.rels", f'<Relationships xmlns="{PACKAGE}">{start}</Relationships>')
        sheets = '<sheets><sheet name="votes" sheetId="1" r:id="r1"/></sheets>'
        book.writestr("xl/workbook.xml", f'<workbook xmlns="{MAIN}" xmlns:r="{REL}">{sheets}</workbook>')
        sheet = relation.format(REL, "worksheet", "worksheets/sheet1.xml")
        book.writestr("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{PACKAGE}">{sheet}</Relationships>')
        book.writestr(
            "xl/worksheets/sheet1.xml", f'<worksheet xmlns="{MAIN}"><sheetData>{data}</sheetData></worksheet>'
        )
    return path


VOTES = {
    **{f"{column}1": name for column, name in zip("ABC", ("item", "worker", "label"), strict=True)},
    **{f"{column}{2 + n}": cell for n, row in enumerate([("a", "w", "yes"), ("a", "x", "no"), ("b", "w", "no")])
       for column, cell in zip("ABC", row, strict=True)},
}  # fmt: skip


def test_a_sheet_is_read(tmp_path):
    assert mj.read(workbook(tmp_path / "votes.xlsx", VOTES)).shape == (2, 2, 2)


def test_sheet_with_a_distant_cell_is_rejected_safely(tmp_path):
    path = workbook(tmp_path / "far.xlsx", {**VOTES, "XFD1048576": "x"})
    assert path.stat().st_size < 2_000
    with pytest.raises(DataError, match=r"far\.xlsx is a damaged spreadsheet, or one too large"):
        mj.read(path)


def test_ids_that_a_spreadsheet_has_rounded_are_refused(tmp_path):
    path = workbook(tmp_path / "ids.xlsx", {**VOTES, "A2": 123456789012345678, "A3": 123456789012345679})
    with pytest.raises(DataError, match=r"column 'item': .* more than 15 digits"):
        mj.read(path)
    seconds = workbook(tmp_path / "other.xlsx", {**VOTES, "D1": "session", "D2": 123456789012345678})
    assert mj.read(seconds).shape == (2, 2, 2)


def log(samples):
    scorers = [{"name": "strict", "options": {}}]
    header = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m", "scorers": scorers}}
    return header, samples


def write_log(path, samples, **more):
    header, samples = log(samples)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample | more))
    return path


def sample(id, value="C", **more):
    return {"id": id, "epoch": 1, "input": "q", "target": "x", "scores": {"strict": {"value": value}}, **more}


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "bomb.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("header.json", json.dumps(log([])[0]))
        with archive.open("samples/1_epoch_1.json", "w", force_zip64=True) as member:
            for _ in range(20):
                member.write(b" " * (1 << 20))
    with pytest.raises(DataError, match="UNPACKED_RATIO"):
        mj.read(path)


def test_a_member_of_an_archive_has_a_limit(tmp_path, monkeypatch):
    path = write_log(tmp_path / "long.eval", [sample("a"), sample("b", "I")], messages=["x" * 5_000])
    assert mj.read(path).shape == (2, 1, 2)
    monkeypatch.setitem(LIMITS, "MEMBER_BYTES", 2000)
    with pytest.raises(DataError, match=r"samples/a_epoch_1\.json of .*long\.eval: the limit MEMBER_BYTES"):
        mj.read(path)


def test_an_archive_of_very_many_files_is_refused(tmp_path, monkeypatch):
    path = write_log(tmp_path / "many.eval", [sample(f"q{n}", "CI"[n % 2]) for n in range(20)])
    monkeypatch.setitem(LIMITS, "ARCHIVE_MEMBERS", 10)
    with pytest.raises(DataError, match="ARCHIVE_MEMBERS"):
        mj.read(path)


def test_unneeded_parts_of_a_log_are_dropped(tmp_path):
    from majorant.read.formats.inspect_log import read_archive

    path = write_log(tmp_path / "long.eval", [sample("a"), sample("b", "I")], messages=["x"], events=[{"y": 1}])
    assert {key for one in read_archive(path, "long.eval")["samples"] for key in one} == {
        "id", "epoch", "target", "scores", "input", "metadata",
    }  # fmt: skip


def test_gzip_with_a_false_size_is_rejected_while_reading(tmp_path, monkeypatch):
    """The recorded size is that of the last member only: here a small one after a large one."""
    monkeypatch.setattr(files, "refuse_unpacked", _strict)
    path = tmp_path / "votes.csv.gz"
    large = gzip.compress(("item,worker,label\n" + "a,w,1\n" * 400_000).encode(), 9)
    path.write_bytes(large + gzip.compress(b"b,w,0\n"))
    with pytest.raises(DataError, match="UNPACKED_RATIO"):
        mj.read(path)


def _strict(name, size, unpacked, harmless=0):
    from majorant.limits import refuse_beyond

    if unpacked > 1_000_000:
        refuse_beyond("UNPACKED_RATIO", unpacked // max(size, 1), f"bytes of {name}", "Unpack it")


def test_decompressed_text_counts_towards_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "refuse_unpacked", _strict)
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(5_000_000)))
    with open_packed("a.gz", path, "gzip") as stream, pytest.raises(DataError, match="UNPACKED_RATIO"):
        stream.read()


def test_standard_input_has_a_limit(monkeypatch):
    monkeypatch.setitem(LIMITS, "STREAM_BYTES", 3000000)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,w,1\n" * 1_000_000)))
    with pytest.raises(DataError, match="STREAM_BYTES"):
        mj.read("-", columns="item,worker,label")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="limits of memory are Unix")
def test_damaged_parquet_never_aborts(tmp_path):
    """Flip bytes of a file with dictionaries, in a separate process because the parser could abort."""
    path = tmp_path / "votes.parquet"
    rows = [(f"q{i}", f"w{j}", "yn"[(i * j) % 2]) for i in range(40) for j in range(3)]
    columns = dict(zip(("item", "worker", "label"), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), path)
    code = f"""
import random, sys, warnings
warnings.simplefilter("ignore")
import majorant as mj
content = open({str(path)!r}, "rb").read()
rng = random.Random(0)
for n in range(150):
    broken = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(4, len(content) - 8) if n % 2 else rng.randrange(len(content) - 600, len(content) - 8)
        broken[at] = rng.randrange(256)
    open({str(path)!r} + ".broken.parquet", "wb").write(broken)
    try:
        mj.read({str(path)!r} + ".broken.parquet")
    except mj.DataError:
        pass
print("alive")
"""
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "alive\n", done.stderr[-2000:]
    assert time.monotonic() - started < 120


def test_an_inspect_log_packed_by_zstandard_is_read(tmp_path):
    scorers = [{"name": "a"}, {"name": "b"}]
    log = {"eval": {"task": "qa", "model": "m", "scorers": scorers}, "status": "success", "version": 2}
    scores = [{"a": {"value": "C"}, "b": {"value": "CI"[i % 2]}} for i in range(4)]
    members = {"header.json": log} | {
        f"samples/s{i}_epoch_1.json": {"id": f"s{i}", "epoch": 1, "input": "?", "target": "x", "scores": one}
        for i, one in enumerate(scores)
    }
    path = tmp_path / "log.eval"
    path.write_bytes(zip_by_zstandard({name: json.dumps(value).encode() for name, value in members.items()}))
    assert mj.read(path).shape == (4, 2, 2)
    path.write_bytes(path.read_bytes().replace(b"\x28\xb5\x2f\xfd", b"\x00\x00\x00\x00"))
    with pytest.raises(mj.DataError, match="damaged or cut off"):
        mj.read(path)


def zip_by_zstandard(members):
    """A ZIP archive by method 93, which Python's own zipfile writes from 3.14 on."""
    local, directory = b"", b""
    for name, content in members.items():
        packed = bytes(pa.compress(content, codec="zstd", asbytes=True))
        sizes = struct.pack("<III", zlib.crc32(content), len(packed), len(content))
        shared = struct.pack("<HHHHH", 63, 0, 93, 0, 33) + sizes + struct.pack("<HH", len(name), 0)
        rest = struct.pack("<HHHII", 0, 0, 0, 0, len(local)) + name.encode()
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + shared + rest
        local += b"PK\x03\x04" + shared + name.encode() + packed
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(local), 0)
    return local + directory + b"PK\x05\x06" + end


@pytest.mark.parametrize(("offset", "value"), [(8, 1), (8, 64), (10, 99)])
@pytest.mark.parametrize("kind", ["log", "cvat"])
def test_an_archive_that_python_cannot_unpack_is_refused_in_our_words(tmp_path, kind, offset, value):
    """Archives that need a password or use a compression method that zipfile does not support."""
    path = tmp_path / "a.zip"
    if kind == "log":
        path = write_log(tmp_path / "a.eval", [sample("a"), sample("b", "I")])
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(
                "annotations.xml", '<annotations><image id="0" name="a"><tag label="x"/></image></annotations>'
            )
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"PK\x01\x02")
    content[entry + offset] = value
    path.write_bytes(content)
    with pytest.raises(DataError, match="password" if offset == 8 else r"a\.(eval|zip)"):
        mj.read(path)
