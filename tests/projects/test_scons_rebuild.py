"""What is built when, and what is not."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.projects.scons_project import Project, environment

Copy = Callable[..., Project]

GENERATED = {"digits.c", "digits_weights.c", "digits.h", "digits.json"}


def test_first_build_runs_and_second_does_nothing(project: Copy) -> None:
    firmware = project("plain")
    run = firmware.run()
    assert firmware.program() == "2 4 6 8\n"
    assert run.files("TVM") == ["digits.toy"]
    assert sorted(run.files("CC")) == [
        "digits.o",
        "digits_weights.o",
        "main.o",
        "tvm_aot.o",
        "tvm_kernels.o",
        "tvm_platform.o",
    ]
    firmware.up_to_date()


def test_parallel_build_waits_for_the_header(project: Copy) -> None:
    firmware = project("plain")
    firmware.write("config.h", '#include "digits.h"\n')
    firmware.replace("main.c", '"digits.h"', '"config.h"')
    firmware.run("-j4")
    assert firmware.program() == "2 4 6 8\n"
    firmware.up_to_date("-j4")
    firmware.up_to_date()


def test_an_object_that_includes_the_header_can_be_built_alone(project: Copy) -> None:
    firmware = project("plain")
    assert firmware.run("main.o").files("CC") == ["main.o"]
    firmware.up_to_date("main.o")


def test_touched_model_builds_nothing(project: Copy) -> None:
    firmware = project("plain")
    firmware.run()
    os.utime(firmware.path / "digits.toy", (1, 1))
    firmware.up_to_date()


def test_change_of_the_model_without_effect_compiles_only_the_model(project: Copy) -> None:
    firmware = project("plain")
    firmware.run()
    firmware.write("digits.toy", "scale 2\ncomment\n")
    run = firmware.not_up_to_date()
    assert run.files("TVM") == ["digits.toy"]
    assert not run.files("CC") and not run.files("LINK")
    firmware.up_to_date()


def test_changed_weights_compile_only_the_weights(project: Copy) -> None:
    firmware = project("plain")
    firmware.run()
    firmware.write("digits.toy", "scale 3\n")
    run = firmware.not_up_to_date()
    assert run.files("CC") == ["digits_weights.o"]
    assert firmware.program() == "3 6 9 12\n"
    firmware.up_to_date()


def test_changed_option_compiles_only_what_it_changes(project: Copy) -> None:
    firmware = project("plain")
    firmware.run()
    firmware.replace("SConstruct", "'digits.toy')", "'digits.toy', optimize='size')")
    run = firmware.not_up_to_date()
    assert run.files("TVM") == ["digits.toy"] and run.files("CC") == ["digits.o"]
    firmware.up_to_date()


def test_option_written_in_another_way_builds_nothing(project: Copy) -> None:
    firmware = project("plain")
    firmware.replace(
        "SConstruct", "'digits.toy')", "'digits.toy', shapes={'in put': (1, 2)}, workspace_io=True)"
    )
    firmware.run()
    firmware.replace(
        "SConstruct",
        "shapes={'in put': (1, 2)}, workspace_io=True",
        "workspace_io='yes', shapes='in put=1,2'",
    )
    firmware.up_to_date()


def test_changed_header_compiles_what_includes_it(project: Copy) -> None:
    firmware = project("plain")
    firmware.write("other.c", "int other(void);\nint other(void) { return 1; }\n")
    firmware.replace("SConstruct", "['main.c'", "['main.c', 'other.c'")
    firmware.run()
    firmware.replace("SConstruct", "'digits.toy'", "'digits.toy', name='digits2'")
    firmware.write(
        "main.c",
        (firmware.path / "main.c").read_text().replace("digits", "digits2").replace("DIGITS", "DIGITS2"),
    )
    run = firmware.not_up_to_date()
    assert {"main.o", "digits2.o", "digits2_weights.o"} == set(run.files("CC"))


def test_new_version_of_the_compiler_compiles_again(project: Copy) -> None:
    firmware = project("plain")
    text = Path(__file__).with_name("fake_compiler.py").read_text(encoding="utf-8")
    firmware.write("compiler.py", text)
    firmware.replace("SConstruct", "CCCOMSTR", "TVM_COMPILER='compiler.py', CCCOMSTR")
    firmware.run()
    firmware.up_to_date()
    firmware.write("compiler.py", text + "\n# version 2\n")
    run = firmware.not_up_to_date()
    assert run.files("TVM") and not run.files("CC")


def test_deleted_output_is_made_again(project: Copy) -> None:
    firmware = project("plain")
    firmware.run()
    for name in (*sorted(GENERATED), "../tvm_aot.h", "../tvm_kernels.c"):
        file = firmware.path / "tvm" / "digits" / name
        file.unlink()
        run = firmware.not_up_to_date()
        assert file.exists()
        assert not run.files("CC") and not run.files("LINK"), run.output
    firmware.up_to_date()


def test_dry_run_makes_nothing_and_shows_the_same(project: Copy) -> None:
    firmware = project("plain")
    before = firmware.files()
    shown = firmware.run("-n").made
    assert firmware.files() == before
    assert sorted(firmware.run().made) == sorted(shown)


def test_clean_leaves_only_the_sources(project: Copy) -> None:
    firmware = project("plain")
    before = firmware.files()
    firmware.run()
    assert before < firmware.files()
    firmware.run("-c", "-n")
    assert before < firmware.files()
    firmware.write("tvm/digits/.tvm-0/left behind", "")
    firmware.run("-c")
    assert firmware.files() == before
    firmware.run()
    assert firmware.program() == "2 4 6 8\n"


def test_clean_spares_a_file_of_the_user(project: Copy) -> None:
    firmware = project("plain")
    firmware.write("tvm/digits/notes.txt", "mine")
    firmware.run()
    firmware.run("-c")
    assert (firmware.path / "tvm/digits/notes.txt").read_text() == "mine"


def test_cache_serves_another_folder(project: Copy, tmp_path: Path) -> None:
    cache = f"CacheDir({str(tmp_path / 'cache')!r})\n"
    first, second = project("plain", to="first"), project("plain", to="second")
    for firmware in (first, second):
        firmware.write("SConstruct", cache + (firmware.path / "SConstruct").read_text())
    first.run()
    run = second.run()
    assert not run.files("TVM") and not run.files("CC"), run.output
    assert run.output.count("Retrieved `") >= 8
    assert second.program() == "2 4 6 8\n"
    second.up_to_date()


def test_cache_serves_an_interpreter_elsewhere(project: Copy, tmp_path: Path) -> None:
    """Where Python lies on a machine is no part of what is built."""
    other = tmp_path / "python of another machine"
    other.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    other.chmod(0o755)
    cache = f"CacheDir({str(tmp_path / 'cache')!r})\n"
    first, second = project("plain", to="first"), project("plain", to="second")
    for firmware in (first, second):
        firmware.write("SConstruct", cache + (firmware.path / "SConstruct").read_text())
    second.replace("SConstruct", "CCCOMSTR", f"TVM_PYTHON={str(other)!r}, CCCOMSTR")
    first.run()
    assert "Retrieved `tvm/digits/digits.c'" in second.run().output


def test_failed_compilation_says_why_and_leaves_nothing(project: Copy) -> None:
    firmware = project("plain")
    firmware.run()
    firmware.write("digits.toy", "error it is upside down\n")
    output = firmware.fails()
    assert "error: digits.toy: it is upside down" in output
    assert not GENERATED & {file.name for file in (firmware.path / "tvm/digits").iterdir()}
    firmware.write("digits.toy", "scale 2\n")
    firmware.run()
    firmware.up_to_date()


def test_killed_compilation_is_not_believed(project: Copy) -> None:
    """The model changes, its compilation is killed half-way, and the model changes back."""
    firmware = project("plain")
    firmware.run()
    for stop in (signal.SIGKILL, signal.SIGINT):
        firmware.write("digits.toy", "scale 5\nseconds 60\n")
        interrupt_compilation(firmware, stop)
        firmware.write("digits.toy", "scale 2\n")
        run = firmware.not_up_to_date()
        assert run.files("TVM") == ["digits.toy"]
        assert firmware.program() == "2 4 6 8\n"
        firmware.up_to_date()


def interrupt_compilation(firmware: Project, stop: signal.Signals) -> None:
    """Start a build and end it and its children when the first output of the compiler is there."""
    first = firmware.path / "tvm/digits/digits.c"
    build = subprocess.Popen(
        [sys.executable, "-m", "SCons"], cwd=firmware.path, env=environment(), start_new_session=True
    )
    try:
        deadline = time.monotonic() + 60
        while not (first.exists() and not (firmware.path / "tvm/digits/digits.h").exists()):
            assert build.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        os.killpg(build.pid, stop)
        build.wait(60)


def test_quiet_build_prints_nothing(project: Copy) -> None:
    firmware = project("plain")
    assert firmware.run("-s").output == ""


def test_without_own_messages_the_commands_are_shown(project: Copy) -> None:
    firmware = project("plain")
    text = (firmware.path / "SConstruct").read_text()
    firmware.write("SConstruct", re.sub(r".*COMSTR.*\n", "", text))
    output = firmware.run().output
    assert "fake_compiler.py compile digits.toy --output tvm/digits --no-runtime --name digits\n" in output
    assert "Copying TVM's C files to tvm\n" in output
