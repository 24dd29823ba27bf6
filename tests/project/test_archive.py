"""The code archive: deterministic, and suspicious when it is unpacked."""

from __future__ import annotations

import io
import os
import random
import re
import stat
import threading
import zipfile
from pathlib import Path

import pytest

from pondage.errors import ProjectError
from pondage.project.archive import check_archive, pack_project, unpack
from tests.project.conftest import Write

CODE = {"ponds/a.py": "a = 1\n", "ponds/sql/b.sql": "SELECT 1", "jobs/c.yaml": "c: 1\n"}


def zip_of(
    *names: str, data: bytes = b"x", mode: int = stat.S_IFREG | 0o644, method: int = zipfile.ZIP_STORED
) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name in names:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = method
            file.writestr(info, data)
    return buffer.getvalue()


def test_code_is_packed_and_nothing_else(project_of: Write):
    project = project_of(
        {
            **CODE,
            ".pondage/ledger.py": "",
            ".git/x.py": "",
            "ponds/__pycache__/a.py": "",
            "tests/test_a.py": "",
            "data/rows.json": "",
            "notes.txt": "",
            ".env": "SECRET=1",
            "venv/lib/x.py": "",
        }
    )
    assert pack_project(project).names == ("pondage.toml", "ponds/a.py", "ponds/sql/b.sql")


def test_an_edited_tree_is_no_other_code(project_of: Write):
    before = pack_project(project_of({**CODE, "flows/a.json": "{}", "flows/b.py": "b = 1\n"}))
    after = pack_project(project_of({**CODE, "flows/a.json": '{"version": 1}', "flows/b.py": "b = 1\n"}))
    assert before.digest == after.digest
    assert "flows/b.py" in before.names


def test_a_warehouse_inside_the_project_is_left_out(project_of: Write):
    project = project_of({**CODE, "pondage.toml": 'warehouse = "lake"', "lake/tables/CURRENT.json": "{}"})
    assert "lake/tables/CURRENT.json" not in pack_project(project).names


def test_the_same_files_give_the_same_bytes(project_of: Write):
    project = project_of(CODE)
    first = pack_project(project)
    os.utime(project.root / "ponds" / "a.py", (1, 1))
    (project.root / "ponds" / "a.py").chmod(0o600)
    assert pack_project(project) == first
    (project.root / "ponds" / "a.py").write_text("a = 2\n", encoding="utf-8")
    assert pack_project(project).digest != first.digest


def test_what_was_packed_is_unpacked(project_of: Write, tmp_path: Path):
    archive = pack_project(project_of(CODE))
    into = unpack(archive.data, tmp_path / "code" / archive.digest, digest=archive.digest)
    assert (into / "ponds" / "a.py").read_text(encoding="utf-8") == "a = 1\n"
    assert sorted(each.name for each in into.parent.iterdir()) == [archive.digest]
    assert unpack(archive.data, into, digest=archive.digest) == into, "a second time it is just there"


def test_a_link_in_the_project_is_refused(project_of: Write):
    project = project_of(CODE)
    (project.root / "ponds" / "link.py").symlink_to("/etc/passwd")
    with pytest.raises(ProjectError) as caught:
        pack_project(project)
    assert caught.value.code == "BAD_ARCHIVE"


def test_a_project_that_is_too_large_is_refused(project_of: Write):
    with pytest.raises(ProjectError, match="more than"):
        pack_project(project_of(CODE), limit_bytes=10)


@pytest.mark.parametrize(
    "data",
    [
        b"not a zip",
        zip_of("../outside.py"),
        zip_of("/etc/outside.py"),
        zip_of("a/../../outside.py"),
        zip_of("a\\..\\outside.py"),
        zip_of("c:/outside.py"),
        zip_of("link.py", data=b"/etc/passwd", mode=stat.S_IFLNK | 0o777),
        zip_of("device", data=b"", mode=stat.S_IFCHR | 0o666),
        zip_of("directory/"),
        zip_of("large.py", data=b"0" * 2_000),
        zip_of("file", "file/inside.py"),
        zip_of("file/inside.py", "file"),
        zip_of("a//b.py", "a/b.py"),
        zip_of("x" * 256),
        zip_of("d/" * 1_000 + "deep.py"),
        zip_of("a.py", method=zipfile.ZIP_LZMA),
    ],
)
def test_a_hostile_archive_is_refused_and_leaves_nothing(tmp_path: Path, data: bytes):
    with pytest.raises(ProjectError) as caught:
        unpack(data, tmp_path / "code" / "x", limit_bytes=1_000)
    assert caught.value.code == "BAD_ARCHIVE"
    assert list((tmp_path / "code").iterdir()) == []


def test_an_archive_with_broken_bytes_is_refused_or_is_one(project_of: Write):
    packed = pack_project(project_of(CODE)).data
    chance = random.Random(7)
    parts = (b"\xff\xff\xff\xff", b"\0\0\0\0", b"PK\5\6", b"PK\1\2", b"\xff", b"\0")
    refused = 0
    for _ in range(3_000):
        broken = bytearray(packed)
        for _ in range(chance.choice((1, 2, 6))):
            at, part = chance.randrange(len(broken)), chance.choice(parts)
            broken[at : at + len(part)] = part
        try:
            check_archive(bytes(broken))
        except ProjectError:
            refused += 1
    assert refused > 1_000


def test_another_digest_is_refused(project_of: Write, tmp_path: Path):
    archive = pack_project(project_of(CODE))
    with pytest.raises(ProjectError, match="digest"):
        unpack(archive.data, tmp_path / "x", digest="0" * 64)
    assert not (tmp_path / "x").exists()


def test_many_may_unpack_at_once(project_of: Write, tmp_path: Path):
    archive = pack_project(project_of(CODE))
    into = tmp_path / "code" / archive.digest
    found: list[bool] = []

    def work() -> None:
        found.append((unpack(archive.data, into, digest=archive.digest) / "ponds" / "a.py").is_file())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8
    assert [each.name for each in into.parent.iterdir()] == [archive.digest]


def test_external_programs_are_packed_whatever_they_are_called_and_can_be_started(project_of: Write, tmp_path: Path):
    project = project_of({**CODE, "programs/run": "#!/bin/sh\n", "programs/deep/a.pl": "1;", "other/b.pl": "1;"})
    archive = pack_project(project)
    assert {"programs/run", "programs/deep/a.pl"} <= set(archive.names)
    assert "other/b.pl" not in archive.names
    place = unpack(archive.data, tmp_path / "code")
    assert os.access(place / "programs" / "run", os.X_OK)
    assert not os.access(place / "ponds" / "a.py", os.X_OK)


def test_what_a_job_writes_into_the_project_is_no_other_code(project_of: Write):
    before = pack_project(project_of({**CODE, "notes.toml": ""}))
    output = {"out/by_region/part-0.json": "{}" * 40_000_000, "out/x.yaml": "", "jobs/c.yaml": "c: 2\n"}
    after = pack_project(project_of({**CODE, **output}))
    assert (after.digest, after.names) == (before.digest, before.names)


def test_files_that_a_module_names_are_code(project_of: Write):
    code = """
        HERE = Path(__file__).parent
        LIMITS = json.loads((HERE / "limits.json").read_text())
        ZONES = yaml.safe_load(open(f"{ROOT}/conf/zones.yaml"))
    """
    files = {"ponds/b.py": "\n".join(line.strip() for line in code.splitlines())}
    data = {"ponds/limits.json": "{}", "conf/zones.yaml": "", "other/limits.json": "{}", "conf/others.yaml": ""}
    names = pack_project(project_of({**CODE, **files, **data})).names
    assert {"ponds/limits.json", "conf/zones.yaml"} <= set(names)
    assert {"other/limits.json", "conf/others.yaml"}.isdisjoint(names)


def test_more_can_be_named_in_the_project_file(project_of: Write):
    project = project_of({**CODE, "pondage.toml": 'code = ["lists/*.csv"]', "lists/a.csv": "", "lists/b.txt": ""})
    assert "lists/a.csv" in pack_project(project).names
    assert "lists/b.txt" not in pack_project(project).names
    with pytest.raises(ProjectError, match=r"'lists/\*.tsv' fits no file"):
        project_of({**CODE, "pondage.toml": 'code = ["lists/*.tsv"]'})
    with pytest.raises(ProjectError, match="outside the project"):
        project_of({**CODE, "pondage.toml": 'code = ["../*.csv"]'})


def test_a_file_that_is_too_large_is_named(project_of: Write):
    files = {**CODE, "programs/model.bin": "x" * 3_000, "programs/small.bin": "x"}
    with pytest.raises(ProjectError, match=r"largest: programs/model.bin \(3,000 bytes\)"):
        pack_project(project_of(files), limit_bytes=2_000)


@pytest.mark.parametrize("folder", ["out", "data", "warehouse"])
def test_what_is_written_there_is_no_code_whatever_it_is_and_whoever_names_it(project_of: Write, folder: str):
    names = {"ponds/writer.py": f'PLACE = ROOT / "{folder}/report.json"\nMODULE = "made.py"\n'}
    settings = {"pondage.toml": 'warehouse = "warehouse"\n'}
    before = pack_project(project_of({**CODE, **settings, **names}))
    made = {f"{folder}/report.json": "{}", f"{folder}/deep/made.py": "x = 1", f"{folder}/made.sql": "select 1"}
    after = pack_project(project_of({**CODE, **settings, **names, **made}))
    assert (after.digest, after.names) == (before.digest, before.names)


def test_the_jobs_of_the_examples_write_outside_of_the_code():
    examples = Path(__file__).parents[2] / "examples"
    texts = [file.read_text(encoding="utf-8") for file in examples.glob("*/jobs/**/*.yaml")]
    written = [path for text in texts for path in re.findall(r"type: write_\w+, params: \{path: ([^,}]+)", text)]
    assert len(written) == sum(text.count("type: write_") for text in texts) > 5
    assert all(path.startswith(("out/", "data/")) for path in written), written
