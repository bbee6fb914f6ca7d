"""The tool inside the build files of other people: folders, environments, types of flags, ways to link."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.projects.scons_project import CHECKOUT, Project

Copy = Callable[..., Project]

CALL = "env.Program('firmware', ['main.c', *env.TVMModel('digits.toy')])"


RUNTIME = CHECKOUT / "tvm_tool/runtime"
KERNELS = ["tvm_one.c", "tvm_two.c"]
NEEDS = f"kernels {' '.join(KERNELS)}\n"


def own_runtime(firmware: Project) -> Project:
    """Give a firmware a runtime with two kernels of the test's own."""
    for file in RUNTIME.glob("*"):
        if file.suffix == ".h" or file.name in ("tvm_aot.c", "tvm_platform.c"):
            firmware.write(f"runtime/{file.name}", file.read_text(encoding="utf-8"))
    for name in ("one", "two"):
        function = f"int tvm_{name}(void)"
        firmware.write(f"runtime/tvm_{name}.c", f"{function};\n{function}\n{{\n    return 1;\n}}\n")
    firmware.replace("SConstruct", "CCCOMSTR", "TVM_RUNTIME='runtime',\n    CCCOMSTR")
    return firmware


def kernels_in(file: Path) -> list[str]:
    """The kernels that are in `file`, as often as they are there."""
    return [
        f"tvm_{name}.c" for name in re.findall(r"^int tvm_(\w+)\(void\)$", file.read_text(), re.MULTILINE)
    ]


@pytest.mark.parametrize(
    "path",
    [
        "[]",
        "['include']",
        "'include'",
        "'include:lib'",
        "('include',)",
        "Split('include lib')",
        "[Dir('include')]",
        "'$INC'",
    ],
)
def test_every_type_of_cpppath_keeps_its_type(project: Copy, path: str) -> None:
    firmware = project("plain")
    firmware.write("include/user.h", "")
    firmware.write("lib/user2.h", "")
    firmware.replace("SConstruct", "CCCOMSTR", f"INC=['include'], CPPPATH={path}, CCCOMSTR")
    firmware.replace(
        "SConstruct", CALL, f"before = type(env['CPPPATH'])\n{CALL}\nassert type(env['CPPPATH']) is before"
    )
    if path != "[]":
        firmware.replace("main.c", "#include", '#include "user.h"\n#include')
    if "lib" in path:
        firmware.replace("main.c", "#include", '#include "user2.h"\n#include')
    firmware.run()
    assert firmware.program() == "2 4 6 8\n"
    firmware.up_to_date()


def test_a_model_asked_for_twice_is_included_once(project: Copy) -> None:
    firmware = project("plain")
    firmware.replace(
        "SConstruct", CALL, f"env.TVMModel('digits.toy')\n{CALL}\nassert len(env['CPPPATH']) == 2"
    )
    firmware.run()
    firmware.up_to_date()


def test_nodes_are_a_plain_list(project: Copy) -> None:
    firmware = project("plain")
    firmware.replace("SConstruct", CALL, "m = env.TVMModel('digits.toy')\nassert type(m) is list\nprint(*m)")
    assert (
        "tvm/digits/digits.o tvm/digits/digits_weights.o tvm/tvm_aot.o tvm/tvm_platform.o tvm/tvm_kernels.o\n"
        in (firmware.run().output)
    )


@pytest.mark.parametrize("where", ["first", "second", "both"])
def test_two_models_share_one_runtime(project: Copy, where: str) -> None:
    firmware = own_runtime(project("two_models"))
    if where in ("first", "both"):
        firmware.write("a.toy", f"scale 2\n{NEEDS}")
    if where in ("second", "both"):
        firmware.write("b.toy", f"scale 3\n{NEEDS}")
    run = firmware.run("-j4")
    assert firmware.program() == "2 3 2 3\n"
    assert run.files("CC").count("tvm_kernels.o") == 1
    assert kernels_in(firmware.path / "tvm/tvm_kernels.c") == KERNELS
    firmware.up_to_date()


def test_kernels_of_the_runtime_fit_into_one_file(project: Copy) -> None:
    """They are compiled together, so what is static in one must not have a name of another."""
    firmware = project("plain")
    names = sorted({file.name for file in RUNTIME.glob("*.c")} - {"tvm_aot.c", "tvm_platform.c"})
    firmware.write("digits.toy", f"scale 2\nkernels {' '.join(names)}\n")
    firmware.run()
    text = (firmware.path / "tvm/tvm_kernels.c").read_text(encoding="utf-8")
    assert [text.count((RUNTIME / name).read_text(encoding="utf-8")) for name in names] == [1] * len(names)


def test_a_kernel_that_is_no_longer_needed_goes(project: Copy) -> None:
    firmware = own_runtime(project("plain"))
    firmware.write("digits.toy", f"scale 2\n{NEEDS}")
    firmware.run()
    assert kernels_in(firmware.path / "tvm/tvm_kernels.c") == KERNELS
    firmware.write("digits.toy", "scale 2\n")
    assert firmware.run().files("CC") == ["tvm_kernels.o"]
    assert kernels_in(firmware.path / "tvm/tvm_kernels.c") == []


def test_models_of_several_folders_in_one_program(project: Copy) -> None:
    firmware = own_runtime(project("folders"))
    firmware.write("audio/audio.toy", f"scale 3\n{NEEDS}")
    firmware.run("-j4")
    assert firmware.program("build/firmware") == "2 3\n"
    assert kernels_in(firmware.path / "build/vision/tvm/tvm_kernels.c") == KERNELS
    firmware.up_to_date()


@pytest.mark.parametrize("duplicate", [0, 1])
def test_variant_folder(project: Copy, duplicate: int) -> None:
    firmware = project("modules")
    firmware.replace("SConstruct", "duplicate=0", f"duplicate={duplicate}")
    before = firmware.files()
    firmware.run("-j4")
    assert (
        firmware.program("build/debug/firmware") == firmware.program("build/release/firmware") == "2 4 6 8\n"
    )
    assert (firmware.path / "build/debug/app/tvm/digits/digits.h").exists()
    assert not (firmware.path / "app/tvm").exists()
    firmware.up_to_date()
    (firmware.path / "build/debug/app/tvm/digits/digits.h").unlink()
    assert firmware.run().files("TVM") and not firmware.run().made
    firmware.run("-c")
    assert {name for name in firmware.files() if "tvm" in name} == {name for name in before if "tvm" in name}


@pytest.mark.parametrize("duplicate", [0, 1])
def test_variant_folder_of_the_sconstruct_itself(project: Copy, duplicate: int) -> None:
    firmware = project("plain")
    for name in ("main.c", "digits.toy"):
        (firmware.path / "src/models").mkdir(parents=True, exist_ok=True)
        (firmware.path / name).rename(firmware.path / "src/models" / name)
    firmware.replace(
        "SConstruct",
        CALL,
        f"VariantDir('build', 'src', duplicate={duplicate})\n"
        "env.Program('build/firmware', ['build/models/main.c', *env.TVMModel('build/models/digits.toy')])",
    )
    firmware.run()
    assert firmware.program("build/firmware") == "2 4 6 8\n"
    assert (firmware.path / "build/tvm/digits/digits.c").exists()
    firmware.up_to_date()


def test_output_folder_can_be_chosen(project: Copy) -> None:
    firmware = project("plain")
    firmware.replace("SConstruct", "CCCOMSTR", "TVM_DIR='#out/generated', CCCOMSTR")
    firmware.run()
    assert (firmware.path / "out/generated/digits/digits.c").exists() and not (firmware.path / "tvm").exists()
    firmware.up_to_date()


def test_two_environments_use_one_model(project: Copy) -> None:
    firmware = project("two_environments")
    run = firmware.run("-j4")
    assert firmware.program("boot") == "2\n" and firmware.program("application") == "4\n"
    assert run.files("TVM") == ["digits.toy"]
    firmware.up_to_date()


def test_static_and_shared_libraries(project: Copy) -> None:
    firmware = project("two_models")
    firmware.replace(
        "SConstruct",
        "env.Program('firmware', ['main.c', *a, *b])",
        "env.StaticLibrary('models', [*a, *b, *a])\n"
        "c = env.TVMModel('a.toy', sources=True)\n"
        "env.SharedLibrary('model', c + c)\n"
        "env.Program('firmware', ['main.c'], LIBS=['models'], LIBPATH=['.'])",
    )
    firmware.run()
    assert firmware.program() == "2 3 2 3\n"
    firmware.up_to_date()


def test_sources_are_compiled_like_any_other(project: Copy) -> None:
    firmware = project("plain")
    firmware.replace("SConstruct", "'digits.toy')", "'digits.toy', sources=True)")
    run = firmware.run("-j4")
    assert sorted(run.files("CC"))[:2] == ["digits.o", "digits_weights.o"]
    assert firmware.program() == "2 4 6 8\n"
    firmware.up_to_date()


def test_flags_in_strings_and_objects_in_groups(project: Copy) -> None:
    firmware = project("groups")
    firmware.run("-j4")
    assert firmware.program("firmware.elf") == "2 4 6 8\n"
    firmware.up_to_date()
    listed = firmware.run("--target-project", "-s").output
    assert "tvm/digits/digits.c\n" in listed and "tvm/tvm_aot.h\n" in listed


def test_compiler_that_is_set_late(project: Copy) -> None:
    firmware = project("late")
    firmware.run()
    assert firmware.program() == "2 4 6 8\n"
    firmware.up_to_date()


def test_emitter_of_the_user_is_kept(project: Copy) -> None:
    for form in ("mine", "[mine]"):
        firmware = project("plain", to=f"emitter {form}")
        firmware.replace(
            "SConstruct",
            "env = Env",
            "def mine(target, source, env):\n"
            "    print('emitter:', *target)\n"
            "    return target, source\n"
            "env = Env",
        )
        firmware.replace(
            "SConstruct", "tools=['default', tvm_tool.generate]", f"tools=['default'], PROGEMITTER={form}"
        )
        firmware.replace("SConstruct", CALL, f"tvm_tool.generate(env)\n{CALL}")
        assert "emitter: firmware\n" in firmware.run().output
        firmware.up_to_date()


def test_user_variables_are_kept(project: Copy) -> None:
    firmware = project("plain")
    firmware.replace(
        "SConstruct",
        CALL,
        "env.Append(LINKFLAGS=['-s'])\n"
        "before = {k: env[k] for k in env.Dictionary()}\n"
        "tvm_tool.generate(env)\n"
        "assert all(env[k] == v for k, v in before.items() if k != 'BUILDERS')\n" + CALL,
    )
    firmware.run()


def test_spaces_and_letters_beyond_ascii(project: Copy) -> None:
    firmware = project("plain", to="mein Gerät № 1 $HOME 'x'; y")
    (firmware.path / "digits.toy").rename(firmware.path / "Ziffern für 'Ωmega'; $x.toy")
    firmware.write(
        "SConstruct",
        (firmware.path / "SConstruct")
        .read_text()
        .replace("'digits.toy'", "File('#').Dir('.').File(\"Ziffern für 'Ωmega'; $x.toy\"), name='digits'")
        .replace("File('#').Dir('.')", "Dir('#')"),
    )
    firmware.run()
    assert firmware.program() == "2 4 6 8\n"
    firmware.up_to_date()


def test_file_name_that_is_no_identifier(project: Copy) -> None:
    firmware = project("plain")
    (firmware.path / "digits.toy").rename(firmware.path / "2 Wörter.toy")
    firmware.replace("SConstruct", "'digits.toy'", "'2 Wörter.toy'")
    firmware.replace("main.c", '"digits.h"', '"model_2_W_rter.h"')
    text = (firmware.path / "main.c").read_text()
    firmware.write(
        "main.c",
        text.replace("tvmgen_digits", "tvmgen_model_2_W_rter").replace(
            "TVMGEN_DIGITS", "TVMGEN_MODEL_2_W_RTER"
        ),
    )
    firmware.run()
    assert firmware.program() == "2 4 6 8\n"


@pytest.mark.parametrize(
    "tools",
    [
        "tools=['default', tvm_tool.generate]",
        f"tools=['default', 'tvm_tool'], toolpath=[{str(CHECKOUT)!r}]",
        f"tools=[Tool('tvm_tool', toolpath=[{str(CHECKOUT)!r}]), 'default']",
    ],
)
def test_ways_to_load_the_tool(project: Copy, tools: str) -> None:
    firmware = project("plain")
    firmware.replace("SConstruct", "tools=['default', tvm_tool.generate]", tools)
    if "generate" not in tools:
        firmware.replace("SConstruct", "import tvm_tool\n", "")
    firmware.run()
    assert firmware.program() == "2 4 6 8\n"


def test_site_scons_of_the_checkout(project: Copy) -> None:
    """What makes the tool loadable in the checkout leaves both packages as they are."""
    firmware = project("plain")
    firmware.write(
        "SConstruct",
        "import sys\n"
        "env = Environment(tools=['default', 'tvm_tool'])\n"
        "import tvm_tool\n"
        f"assert tvm_tool.__file__ == {str(CHECKOUT / 'tvm_tool/__init__.py')!r}\n"
        "assert tvm_tool.__path__ and tvm_tool.__version__\n"
        "assert 'tvm' not in sys.modules\n"
        "env.TVMModel\n",
    )
    firmware.run("-Q", f"--site-dir={CHECKOUT / 'site_scons'}")


def test_tvm_is_never_imported(project: Copy) -> None:
    firmware = project("plain")
    sconstruct = (firmware.path / "SConstruct").read_text()
    firmware.write(
        "SConstruct",
        sconstruct + "import atexit, sys\n"
        "heavy = ('tvm', 'onnx', 'numpy')\n"
        "atexit.register(lambda: print('IMPORTED', [m for m in heavy if m in sys.modules]))\n",
    )
    assert firmware.run().files("IMPORTED") == ["[]"]
