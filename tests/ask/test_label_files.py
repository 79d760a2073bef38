"""Files that people label: every ordinary edit is read right or refused with a row, and no label is ever lost."""

import codecs
import csv
import io
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import majorant as mj
from majorant.ask.design import Design, recognise
from majorant.ask.label_file import LabelFile
from majorant.ask.race import Race
from majorant.errors import MajorantError
from majorant.read.label_table import LabelTable
from majorant.read.rewritten import may_be

WORDS = {"ascii": ("no", "yes"), "cyrillic": ("плохо", "хорошо"), "greek": ("κακό", "καλό")}


def draw(folder, items=None, labels=("no", "yes"), name="to_label.csv", columns=None, n=None):
    """A file of items to label that all rules but one would label differently."""
    items = items or [f"q{n}" for n in range(12)]
    race = Race.of(("majority", "other"), np.array([[0] * len(items), [1] * len(items)]), n_items=100)
    design = Design(question=race, order=tuple(items), labels=labels, votes="", seed=0).more(n or len(items))
    design.write(folder / name, columns=columns)
    return folder / name


def cells(path, encoding="utf-8", sign=","):
    return list(csv.reader(io.StringIO(path.read_text(encoding), newline=""), delimiter=sign))


def save(path, rows, encoding="utf-8", sign=",", end="\r\n"):
    out = io.StringIO()
    csv.writer(out, delimiter=sign, lineterminator=end).writerows(rows)
    path.write_bytes(out.getvalue().encode(encoding))


def filled(path, labels, **how):
    """Fill in the column of labels from the top."""
    header, *rows = cells(path)
    place = header.index("label")
    for row, label in zip(rows, labels, strict=False):
        row[place] = label
    save(path, [header, *rows], **how)
    return rows


def given(path):
    """The labels as a command sees them, by item."""
    found = recognise(path)
    codes = found.design.codes(found.answers)
    return {str(found.design.order[d]): found.design.labels[code] for d, code in enumerate(codes) if code >= 0}


def press(monkeypatch, run, keys, path="to_label.csv"):
    monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
    return run("label", path, "--all")


# encodings


@pytest.mark.parametrize("language", ["cyrillic", "greek"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be-mark", "code page"])
@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_labels_in_any_language_survive_reading_and_writing(tmp_path, language, encoding, sign):
    words = WORDS[language]
    path = draw(tmp_path, labels=words)
    code = {"code page": {"cyrillic": "cp1251", "greek": "cp1253"}[language], "utf-16-be-mark": "utf-16-be"}.get(
        encoding, encoding
    )
    filled(path, [words[1]] * 5, encoding=code, sign=sign)
    if encoding == "utf-16-be-mark":
        path.write_bytes(codecs.BOM_UTF16_BE + path.read_bytes())
    before = path.read_bytes()
    if encoding == "code page":  # which no program can tell from another
        with pytest.raises(mj.DataError, match=r"row 2, column 3.*not UTF-8 text.*CSV UTF-8"):
            recognise(path)
        with pytest.raises(mj.DataError, match="row 2"):
            LabelFile.read(path, tmp_path / "to_label.design.json")
        assert path.read_bytes() == before
        return
    assert given(path) == {f"q{n}": words[1] for n in range(5)}
    items = LabelFile.read(path, tmp_path / "to_label.design.json").write(6, words[0])
    assert items.labelled == [1, 2, 3, 4, 5, 6]
    after = path.read_bytes()
    text, new = (content.decode("utf-16" if "16" in encoding else code) for content in (before, after))
    assert new.split("\r\n")[6] == sign.join(["6", "q5", words[0], items.design.id])
    assert [line for n, line in enumerate(new.split("\r\n")) if n != 6] == [
        line for n, line in enumerate(text.split("\r\n")) if n != 6
    ]
    assert after[:4] == before[:4]  # the byte-order mark


@pytest.mark.parametrize("head", ["sep=;\r\n", "\r\n\r\n", '"sep=;"\r\n'])
def test_the_first_lines_that_votes_may_have_are_read_and_kept(tmp_path, head):
    path = draw(tmp_path)
    filled(path, ["yes"] * 3, sign=";")
    path.write_bytes(head.encode() + path.read_bytes())
    assert len(given(path)) == 3
    LabelFile.read(path, tmp_path / "to_label.design.json").write(4, "no")
    assert path.read_bytes().startswith(head.encode())
    assert len(given(path)) == 4


def test_one_label_changes_one_line(tmp_path):
    """Quotes, line ends of several kinds, a line break in a cell and a missing one at the end stay as they are."""
    path = draw(tmp_path, columns={"text": ['a "b"', "two\nlines", *["c;d"] * 10]})
    text = path.read_text().replace("\n3,", "\r\n3,").rstrip("\n") + "\n\n"
    text = text.replace("5,q4,", '"5","q4",').rstrip("\n")
    path.write_bytes(text.encode())
    LabelFile.read(path, tmp_path / "to_label.design.json").write(1, "yes")
    mine = LabelTable.read(path).to_bytes().decode()
    assert mine == text.replace('1,q0,"a ""b""",,', '1,q0,"a ""b""",yes,')


# names


def test_names_are_kept_exactly(tmp_path):
    path = draw(tmp_path, items=["a", "a ", "b\u00a0", " c", "x,y", 'q"', "d\ne"], labels=("yes", "yes "))
    items = LabelFile.read(path, tmp_path / "to_label.design.json")
    for place, label in enumerate(("yes ", "yes", "yes ", "yes", "yes ", "yes", "yes "), start=1):
        items = items.write(place, label)
    assert given(path) == {"a": "yes ", "a ": "yes", "b\u00a0": "yes ", " c": "yes", "x,y": "yes ", 'q"': "yes",
                           "d\ne": "yes "}  # fmt: skip


@pytest.mark.parametrize("values", [[7] * 12, ["one"] * 12])
def test_a_column_of_the_user_called_draw_is_only_shown(tmp_path, run, monkeypatch, values):
    draw(tmp_path, columns={"draw": values, "note": ["n"] * 12, "item": ["mine"] * 12, "label_old": ["x"] * 12})
    code, out, _ = press(monkeypatch, run, "12q")
    assert (code, given(tmp_path / "to_label.csv")) == (0, {"q0": "no", "q1": "yes"})
    assert f"draw: {values[0]}" in out
    assert "votes.item: mine" in out


def test_columns_that_begin_like_ours_are_refused(tmp_path):
    with pytest.raises(mj.ConfigError, match=r"majorant_draw.*Rename the column"):
        draw(tmp_path, columns={"majorant_draw": [1] * 12})
    assert list(tmp_path.iterdir()) == []


def test_files_of_the_previous_version_are_read(tmp_path, run, monkeypatch):
    path = draw(tmp_path)
    path.write_text("draw,item,label\n" + "".join(f"{n},q{n - 1},\n" for n in range(1, 13)))
    assert press(monkeypatch, run, "121q")[0] == 0
    assert given(path) == {"q0": "no", "q1": "yes", "q2": "no"}
    assert path.read_text().startswith("draw,item,label\n1,q0,no\n2,q1,yes\n3,q2,no\n4,q3,\n")
    path.write_text("draw,item,draw,note,label\n" + "".join(f"{n},q{n - 1},5,x,yes\n" for n in range(1, 13)))
    assert set(given(path).values()) == {"yes"}
    assert len(given(path)) == 12


# what people do in a spreadsheet


def edited(path, change):
    header, *rows = cells(path)
    save(path, change(header, rows))


def sort_by_item(header, rows):
    return [header, *sorted(rows, key=lambda row: row[1])]


def without(name):
    def change(header, rows):
        place = header.index(name)
        return [[cell for n, cell in enumerate(row) if n != place] for row in (header, *rows)]

    return change


def in_column(name, function):
    def change(header, rows):
        place = header.index(name)
        return [header, *([*row[:place], function(row[place]), *row[place + 1 :]] for row in rows)]

    return change


READ_RIGHT = {
    "rows sorted": sort_by_item,
    "rows reversed": lambda header, rows: [header, *rows[::-1]],
    "unlabelled rows deleted": lambda header, rows: [header, *rows[:8]],
    "column draw deleted": without("majorant_draw"),
    "column of the design deleted": without("majorant_design"),
    "both deleted": lambda header, rows: [row[1:3] for row in (header, *rows)],
    "column inserted": lambda header, rows: [["remark", *header], *(["ok", *row] for row in rows)],
    "columns moved": lambda header, rows: [row[::-1] for row in (header, *rows)],
    "draw as 1.0": in_column("majorant_draw", lambda cell: f"{cell}.0"),
    "draw as 1,0": in_column("majorant_draw", lambda cell: f"{cell},0"),
    "draw as 01": in_column("majorant_draw", lambda cell: cell.zfill(3)),
    "case of labels": in_column("label", str.upper),
    "spaces around labels": in_column("label", lambda cell: f" {cell} " if cell else cell),
    "case of the header": lambda header, rows: [[name.upper() for name in header], *rows],
    "empty rows and columns": lambda header, rows: [[*header, ""], *([*row, ""] for row in rows), [""] * 5, [""] * 5],
    "cells missing at the end": lambda header, rows: [header, *rows[:8], *(row[:2] for row in rows[8:])],
    "a total below": lambda header, rows: [header, *rows, ["", "", "", ""]],
}


@pytest.mark.parametrize("edit", READ_RIGHT)
def test_ordinary_edits_are_read_right(tmp_path, edit):
    path = draw(tmp_path)
    filled(path, ["yes", "no"] * 4)
    edited(path, READ_RIGHT[edit])
    assert given(path) == {f"q{n}": ("yes", "no")[n % 2] for n in range(8)}
    items = LabelFile.read(path, tmp_path / "to_label.design.json").write(9, "no")  # also if its row was deleted
    assert given(path) == {**{f"q{n}": ("yes", "no")[n % 2] for n in range(8)}, "q8": "no"}
    assert items.next == 10


REFUSED = {
    "column item sorted alone": (
        lambda header, rows: [header, *([a[0], b[1], *a[2:]] for a, b in zip(rows, rows[::-1], strict=True))],
        r"row 2: majorant_draw 1 is item 'q0', but the row says 'q11'. If a column was sorted alone",
    ),
    "an item retyped": (
        lambda header, rows: [header, *rows[:3], [rows[3][0], "q99", *rows[3][2:]], *rows[4:]],
        r"row 5: majorant_draw 4 is item 'q3', but the row says 'q99'.*restore it",
    ),
    "label renamed": (lambda header, rows: [["majorant_draw", "item", "verdict", header[3]], *rows], "no column label"),
    "item renamed": (lambda header, rows: [["majorant_draw", "thing", *header[2:]], *rows], "no column item"),
    "header deleted": (lambda header, rows: rows, "."),
    "all labels of another set": (
        in_column("label", lambda cell: {"yes": "gut", "no": "schlecht"}.get(cell, "")),
        r"row 2: 'gut' is not a class of these votes \(no, yes\), and neither is any other",
    ),
    "cells beyond the header": (
        lambda header, rows: [header, *rows[:2], [*rows[2], "", "why not"], *rows[3:]],
        "row 4: has 6 cells where 4 are expected",
    ),
}  # fmt: skip


def both_read(path):
    recognise(path)
    LabelFile.read(path, path.with_suffix(".design.json"))


@pytest.mark.parametrize("edit", REFUSED)
def test_edits_that_cannot_be_read_are_refused_with_the_row(tmp_path, run, edit):
    path = draw(tmp_path)
    filled(path, ["yes", "no"] * 4)
    change, message = REFUSED[edit]
    edited(path, change)
    before = path.read_bytes()
    with pytest.raises(MajorantError, match=message):
        both_read(path)
    code, _, err = run("label", "to_label.csv")
    assert (code, "Unexpected" in err) == (2, False)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("items", "rewrite"),
    [
        (["007", "7", "08", "9"], lambda name: str(int(name))),
        (["1-2", "3-4", "5-6", "11-12"], lambda name: "{:02}. {}".format(int(name.split("-")[1]), dict(zip(
            ("1", "3", "5", "11"), ("Jan", "Mrz", "Mai", "Nov"), strict=True))[name.split("-")[0]])),
        (["MAR1", "SEPT2", "DEC3"], lambda name: f"{name[-1]}-{name[:3].title()}"),
        (["true", "false"], str.upper),
        (["2026-01-02", "2026-01-03"], lambda name: "{2}.{1}.{0}".format(*name.split("-"))),
        (["1E5", "2E6", "33"], lambda name: {"1E5": "1.00E+05", "2E6": "2.00E+06"}.get(name, name)),
        (["123456789012345678", "223456789012345678"], lambda name: f"{name[0]}.23457E+17"),
    ],
    ids=["leading zeros", "dates", "genes", "booleans", "ISO dates", "exponents", "long numbers"],
)  # fmt: skip
def test_ids_that_a_spreadsheet_rewrote_are_found_by_their_number(tmp_path, items, rewrite):
    path = draw(tmp_path, items=items)
    filled(path, ["yes", "no"] * 2)
    edited(path, in_column("item", rewrite))
    assert given(path) == {item: ("yes", "no")[n % 2] for n, item in enumerate(items)}


def test_rewritten_ids_that_look_the_same_are_refused(tmp_path):
    path = draw(tmp_path, items=["1-2", "2-1"])
    filled(path, ["yes", "no"])
    edited(path, in_column("item", lambda name: "02. Jan" if name == "1-2" else "01. Feb"))
    with pytest.raises(mj.DataError, match=r"row 2: a spreadsheet made '02. Jan' of item '1-2'.*Format the column"):
        recognise(path)


@pytest.mark.parametrize(
    ("name", "written"), [("q1", "q2"), ("1-2", "1-3"), ("12", "21"), ("may", "may 1"), ("1-2-3", "1-2"), ("a1", "1")]
)
def test_other_names_stay_other_names(name, written):
    assert not may_be(name, written)


def test_a_gap_is_reported_and_shown_first(tmp_path, run, monkeypatch):
    """Rows sorted in a spreadsheet, and labelled from the top of that."""
    path = draw(tmp_path)
    edited(path, sort_by_item)
    filled(path, ["yes"] * 4)  # q0, q1, q10, q11
    outcome = recognise(path).outcome
    assert (outcome.labels, outcome.skipped, outcome.gaps) == (4, 8, 8)
    code, out, _ = press(monkeypatch, run, "1q")
    assert code == 0
    assert "3 of 12\n  item: q2" in out
    assert given(path)["q2"] == "no"


# several people and programs


def test_two_commands_on_one_file(tmp_path):
    """The second is told who has the file; every key that was acknowledged is in the file."""
    path = draw(tmp_path)
    command = [sys.executable, "-m", "majorant", "label", "to_label.csv", "--all"]
    how = {
        "cwd": tmp_path,
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }
    first = subprocess.Popen(command, **how)
    first.stdin.write("12")
    first.stdin.flush()
    while len(given(path)) < 2:
        time.sleep(0.05)
    second = subprocess.run(command, input="2222", capture_output=True, text=True, cwd=tmp_path, check=False)
    assert second.returncode == 2
    assert f"is open in majorant label (process {first.pid}, " in second.stderr
    first.communicate("1q", timeout=60)
    assert given(path) == {"q0": "no", "q1": "yes", "q2": "no"}
    third = subprocess.run(command, input="2q", capture_output=True, text=True, cwd=tmp_path, check=False)
    assert third.returncode == 0, third.stderr
    assert len(given(path)) == 4
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "to_label.csv", "to_label.csv.journal", "to_label.design.json",
    ]  # fmt: skip


def test_a_killed_command_leaves_no_lock(tmp_path):
    path = draw(tmp_path)
    command = [sys.executable, "-m", "majorant", "label", "to_label.csv", "--all"]
    first = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    first.stdin.write(b"1")
    first.stdin.flush()
    while not given(path):
        time.sleep(0.05)
    first.kill()
    first.wait()
    first.stdin.close()
    with LabelFile.lock(path, "a test"):
        pass
    assert not list(tmp_path.glob("*.majorant-lock"))


def test_threads_wait_for_no_lock_of_their_own(tmp_path):
    path, seen = draw(tmp_path), []

    def other():
        try:
            LabelFile.read(path, tmp_path / "to_label.design.json").write(1, "no")
        except mj.ConfigError as error:
            seen.append(str(error))

    with LabelFile.lock(path, "a test"), LabelFile.lock(path, "the same"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert "is open in a test (process" in seen[0]


# nothing typed is ever lost


def test_any_state_comes_back(tmp_path, run, monkeypatch):
    path = draw(tmp_path)
    states = [path.read_bytes()]
    for keys in ("1q", "2q", "u1q"):
        press(monkeypatch, run, keys)
        states.append(path.read_bytes())
    save(path, [["item", "label"]])  # another program saved something else over it
    states.append(path.read_bytes())
    path.unlink()
    code, out, _ = run("label", "to_label.csv", "--restore")
    assert code == 0
    assert [line.split("  ")[-1] for line in out.splitlines()[:5]] == [
        "the file when first opened", "q0: no", "q1: yes", "q1: label removed", "q1: no",
    ]  # fmt: skip
    for number, content in ((5, states[3]), (3, states[2]), (1, states[0])):
        assert run("label", "to_label.csv", "--restore", number)[0] == 0
        assert path.read_bytes() == content
    code, _, err = run("label", "to_label.csv", "--restore", 99)
    assert (code, "has no state 99" in err) == (2, True)


def test_what_another_program_changed_is_kept_in_the_journal(tmp_path, run, monkeypatch):
    path = draw(tmp_path)
    press(monkeypatch, run, "1q")
    filled(path, ["yes"] * 6)
    by_hand = path.read_bytes()
    press(monkeypatch, run, "1q")
    path.unlink()
    out = run("label", "to_label.csv", "--restore")[1]
    number = next(line.split()[0] for line in out.splitlines() if "as another program left it" in line)
    run("label", "to_label.csv", "--restore", number)
    assert path.read_bytes() == by_hand


def test_a_journal_that_was_cut_off_or_damaged_stops_nobody(tmp_path, run, monkeypatch):
    path = draw(tmp_path)
    press(monkeypatch, run, "12q")
    journal = Path(f"{path}.journal")
    content = journal.read_bytes()
    for broken in (content[:-20], content.replace(b'"start": 5', b'"start": 4'), b"\n".join(content.split(b"\n")[1:])):
        journal.write_bytes(broken)
        n = len(given(path))
        assert press(monkeypatch, run, "1q")[0] == 0
        assert len(given(path)) == n + 1
        states = run("label", "to_label.csv", "--restore")[1].splitlines()
        now = path.read_bytes()
        assert run("label", "to_label.csv", "--restore", states[-2].split()[0])[0] == 0
        assert path.read_bytes() == now


def test_a_restored_or_lost_file_needs_its_own_journal(tmp_path, run):
    draw(tmp_path)
    code, _, err = run("label", "to_label.csv", "--restore")
    assert (code, "records no save" in err) == (2, True)
    Path("to_label.csv.journal").write_text("my diary\n")
    items = LabelFile.read(tmp_path / "to_label.csv", tmp_path / "to_label.design.json")
    with pytest.raises(mj.ConfigError, match="is not a journal"):
        items.write(1, "no")
    assert Path("to_label.csv.journal").read_text() == "my diary\n"


def test_undo_takes_back_the_label_given_last(tmp_path):
    path = draw(tmp_path)
    filled(path, ["yes", "", "yes"])
    items = LabelFile.read(path, tmp_path / "to_label.design.json").write(2, "no").undo()
    assert items.labelled == [1, 3]
    assert items.undo().labelled == [1]


def test_the_journal_is_as_private_as_the_file(tmp_path):
    path = draw(tmp_path)
    path.chmod(0o600)
    LabelFile.read(path, tmp_path / "to_label.design.json").write(1, "no")
    assert Path(f"{path}.journal").stat().st_mode & 0o777 == 0o600


# labels that lost their design


def test_labels_without_their_design_are_gold(tmp_path, run):
    (tmp_path / "v.csv").write_text(
        "item,worker,label\n" + "".join(f"q{n},{w},{'yes' if n % 3 else 'no'}\n" for n in range(12) for w in "abc")
    )
    path = draw(tmp_path)
    filled(path, ["yes", "no", "?"] * 4)
    (tmp_path / "to_label.design.json").unlink()
    votes = mj.read(tmp_path / "v.csv", gold_file=path)
    assert (votes.gold_i >= 0).sum() == 8
    assert "gold-without-design" in [note.kind for note in votes.account.notes]
    code, out, err = run("check", "v.csv", "--gold-file", "to_label.csv")
    assert code == 0, err
    assert "count as plain gold labels" in out + err
    code, _, err = run("label", "to_label.csv")
    assert code == 2
    assert "--gold-file to_label.csv" in err


def test_a_table_whose_first_column_begins_with_draw_is_plain_gold(tmp_path):
    (tmp_path / "gold.csv").write_text("drawing_id,truth\nq1,yes\n")
    assert recognise(tmp_path / "gold.csv") is None


# workbooks


def workbook(path, sheets):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)


def test_a_workbook_with_a_second_sheet_is_read(tmp_path, run):
    path = draw(tmp_path)
    header, *rows = cells(path)
    table = [header, *([int(row[0]), row[1], ("yes", "no")[n % 2] if n < 8 else None, row[3]] for n, row in
                       enumerate(rows))]  # fmt: skip
    workbook(tmp_path / "to_label.xlsx", {"Notes": [["my notes"], ["more"]], "to_label": table})
    assert given(tmp_path / "to_label.xlsx") == {f"q{n}": ("yes", "no")[n % 2] for n in range(8)}
    code, _, err = run("label", "to_label.xlsx")
    assert (code, "Save it as CSV" in err) == (2, True)
