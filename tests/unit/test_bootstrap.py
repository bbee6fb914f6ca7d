"""./bootstrap against stubs: what it installs, says and leaves alone. Nothing real is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REAL_TOOLS = ("cat", "cksum", "cp", "dirname", "env", "mkdir", "mktemp", "mv", "rm", "sed", "sh")

# A Python that makes environments with itself in them and whose pip does as STUB_PIP says.
PYTHON = """
case "$*" in
*_base_executable*) echo "$STUBS/python3" ;;
*"-m venv"*) echo "venv" >>"$STUBS/log"; mkdir -p "$3/bin"; cp "$STUBS/python3" "$3/bin/python" ;;
*"-m pip"*) echo "pip" >>"$STUBS/log"; exit "${STUB_PIP:-0}" ;;
*sys.version_info*) exit "${STUB_VERSION_IS_WRONG:-0}" ;;
*ensurepip*) exit "${STUB_HAS_NO_VENV:-0}" ;;
-V) echo "Python 3.9.2" ;;
esac
"""
APT = """
echo "apt-get $*" >>"$STUBS/log"
[ "$1" = update ] && exit 1
for package; do
    case $package in gcc-arm-none-eabi) cp "$STUBS/spare-gcc" "$STUBS/arm-none-eabi-gcc" ;; esac
done
exit "${STUB_APT:-0}"
"""


class Machine:
    """A checkout of a few files, and a PATH that holds only what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.stubs = folder / "stubs"
        self.stubs.mkdir()
        self.checkout = folder / "a check\N{LATIN SMALL LETTER O WITH DIAERESIS}ut"
        self.checkout.mkdir()
        for name in ("bootstrap", "pyproject.toml", "constraints.txt"):
            shutil.copy(ROOT / name, self.checkout)
        for tool in REAL_TOOLS:
            real = shutil.which(tool)
            assert real is not None
            (self.stubs / tool).symlink_to(real)
        self.add("python3", PYTHON)
        self.add("gcc")
        self.add("qemu-system-arm")
        self.add("arm-none-eabi-gcc", "echo /usr/lib/nano.specs")
        self.add("spare-gcc", "echo /usr/lib/nano.specs")
        self.add("id", "echo 1000")
        self.add("show", 'echo "$PWD|$*|${PATH%%:*}"')

    def add(self, program: str, script: str = "") -> None:
        path = self.stubs / program
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def remove(self, *programs: str) -> None:
        for program in programs:
            (self.stubs / program).unlink()

    def bootstrap(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", str(self.checkout / "bootstrap"), *command],
            env={"PATH": str(self.stubs), "STUBS": str(self.stubs), **environment},
            cwd=self.stubs,
            capture_output=True,
            text=True,
            check=False,
        )

    def log(self) -> list[str]:
        """What the stubs were asked to do since the last call."""
        file = self.stubs / "log"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return lines


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def succeed(machine: Machine, **environment: str) -> list[str]:
    """Runs a command that must succeed quietly; gives what it installed."""
    result = machine.bootstrap("show", "two words", "", **environment)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{machine.stubs}|two words |{machine.checkout}/.venv/bin\n"
    return machine.log()


def refuse(machine: Machine, *expected: str, **environment: str) -> None:
    """Runs a command that must fail with these words, and start nothing."""
    result = machine.bootstrap("show", **environment)
    assert (result.returncode, result.stdout) == (1, "")
    for words in expected:
        assert words in result.stderr
    assert machine.log() == []


def test_no_command_is_explained(machine: Machine) -> None:
    result = machine.bootstrap()
    assert result.returncode == 2
    assert "usage: " in result.stderr
    assert machine.log() == []


def test_first_run_installs_and_the_second_does_not(machine: Machine) -> None:
    assert succeed(machine) == ["venv", "pip"]
    assert succeed(machine) == []


def test_status_of_the_command_is_passed_on(machine: Machine) -> None:
    machine.add("seven", "exit 7")
    assert machine.bootstrap("seven").returncode == 7


def test_changed_requirements_update_the_environment(machine: Machine) -> None:
    succeed(machine)
    with (machine.checkout / "constraints.txt").open("a") as file:
        file.write("more==1\n")
    assert succeed(machine) == ["pip"]
    assert succeed(machine) == []


def test_interrupted_install_starts_again(machine: Machine) -> None:
    result = machine.bootstrap("show", STUB_PIP="1")
    assert result.returncode == 1
    assert "pip could not install" in result.stderr
    assert machine.log() == ["venv", "pip"]
    assert succeed(machine) == ["venv", "pip"]


def test_moved_checkout_gets_a_new_environment(machine: Machine) -> None:
    succeed(machine)
    machine.checkout = machine.checkout.rename(machine.checkout.with_name("moved"))
    assert succeed(machine) == ["venv", "pip"]


def test_environment_without_its_python_is_made_anew(machine: Machine) -> None:
    succeed(machine)
    (machine.checkout / ".venv/bin/python").unlink()
    assert succeed(machine) == ["venv", "pip"]


def test_environment_of_somebody_else_is_left_alone(machine: Machine) -> None:
    theirs = machine.checkout / ".venv" / "theirs"
    theirs.parent.mkdir()
    theirs.touch()
    refuse(machine, ".venv was not made by this script")
    assert theirs.exists()


DEBIAN = "gcc libc6-dev gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm python3-venv"
FEDORA = "gcc glibc-devel arm-none-eabi-gcc-cs arm-none-eabi-newlib qemu-system-arm python3"


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("apt-get", f"sudo apt-get install --no-install-recommends {DEBIAN}"),
        ("dnf", f"sudo dnf install {FEDORA}"),
        ("pacman", "sudo pacman -S gcc arm-none-eabi-gcc arm-none-eabi-newlib qemu-system-arm python"),
        ("brew", "brew install qemu python@3.13 && brew install --cask gcc-arm-embedded"),
        ("none", "a C compiler, the Arm GNU toolchain (arm-none-eabi) with newlib, qemu-system-arm,"),
    ],
)
def test_without_root_it_says_what_to_install(machine: Machine, manager: str, command: str) -> None:
    machine.remove("gcc", "arm-none-eabi-gcc", "qemu-system-arm", "python3")
    machine.add(manager, 'echo "$0 ran" >>"$STUBS/log"')
    refuse(machine, f"missing (names as in Debian): {DEBIAN}\n", f"    {command}")


@pytest.mark.parametrize(
    ("gone", "missing"),
    [
        (["gcc"], "gcc libc6-dev"),
        (["arm-none-eabi-gcc"], "gcc-arm-none-eabi libnewlib-arm-none-eabi"),
        (["qemu-system-arm"], "qemu-system-arm"),
        (["python3"], "python3-venv"),
    ],
)
def test_only_what_is_missing_is_named(machine: Machine, gone: Sequence[str], missing: str) -> None:
    machine.remove(*gone)
    refuse(machine, f"missing (names as in Debian): {missing}\n")


def test_compiler_without_newlib(machine: Machine) -> None:
    machine.add("arm-none-eabi-gcc", "echo nano.specs")
    refuse(machine, "missing (names as in Debian): libnewlib-arm-none-eabi\n")


def test_python_without_venv(machine: Machine) -> None:
    refuse(machine, "missing (names as in Debian): python3-venv\n", STUB_HAS_NO_VENV="1")


def test_python_of_a_wrong_version(machine: Machine) -> None:
    refuse(machine, "python3 is Python 3.9.2", "TVM_BOOTSTRAP_PYTHON", STUB_VERSION_IS_WRONG="1")


def test_chosen_python_must_be_usable(machine: Machine) -> None:
    refuse(machine, "TVM_BOOTSTRAP_PYTHON='no-such-python'", TVM_BOOTSTRAP_PYTHON="no-such-python")


@pytest.mark.parametrize("sudo", [False, True], ids=["root", "sudo"])
def test_debian_installs_what_is_missing(machine: Machine, sudo: bool) -> None:
    machine.remove("arm-none-eabi-gcc")
    machine.add("apt-get", APT)
    if sudo:
        machine.add("sudo", '[ "$1" = -n ] && shift\n[ "$1" = true ] || "$@"')
    else:
        machine.add("id", "echo 0")
    install = "apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120"
    packages = "gcc-arm-none-eabi libnewlib-arm-none-eabi"
    assert succeed(machine) == ["apt-get update", f"{install} {packages}", "venv", "pip"]
    assert succeed(machine) == []


def test_failed_install_shows_why(machine: Machine) -> None:
    machine.remove("arm-none-eabi-gcc")
    machine.add("id", "echo 0")
    machine.add("apt-get", "echo no such package; exit 100")
    result = machine.bootstrap("show")
    assert result.returncode == 1
    assert "no such package" in result.stderr
    assert "apt-get could not install gcc-arm-none-eabi" in result.stderr


def test_install_that_changes_nothing_is_noticed(machine: Machine) -> None:
    machine.remove("qemu-system-arm")
    machine.add("id", "echo 0")
    machine.add("apt-get")
    result = machine.bootstrap("show")
    assert result.returncode == 1
    assert "still missing: qemu-system-arm" in result.stderr


RISCV = "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf"


@pytest.mark.parametrize("status", ["0", "100"], ids=["installed", "not there"])
def test_pytest_gets_riscv_where_that_is_possible(machine: Machine, status: str) -> None:
    machine.add("pytest", "echo tested")
    machine.add("apt-get", APT)
    machine.add("id", "echo 0")
    result = machine.bootstrap("pytest", STUB_APT=status)
    assert (result.returncode, result.stdout) == (0, "tested\n")
    assert ("tests for RISC-V are skipped" in result.stderr) == (status != "0")
    installed = [line.partition("Timeout=120 ")[2] for line in machine.log() if "install" in line]
    assert installed == [f"{RISCV} qemu-system-misc"]


def test_riscv_is_not_installed_without_need(machine: Machine) -> None:
    machine.add("pytest", "echo tested")
    machine.add("apt-get", APT)
    machine.add("id", "echo 0")
    assert succeed(machine) == ["venv", "pip"]
    machine.add("riscv64-unknown-elf-gcc", 'echo "/usr/lib/picolibc.specs"')
    machine.add("qemu-system-riscv32")
    assert machine.bootstrap("pytest").stdout == "tested\n"
    assert machine.log() == []


def test_without_root_pytest_does_without_riscv(machine: Machine) -> None:
    machine.add("pytest", "echo tested")
    machine.add("apt-get", APT)
    result = machine.bootstrap("pytest")
    assert (result.returncode, result.stdout) == (0, "tested\n")
    assert machine.log() == ["venv", "pip"]


@pytest.mark.parametrize("script", ["bootstrap", ".ci/run"])
def test_scripts_pass_shellcheck(script: str) -> None:
    shellcheck = shutil.which("shellcheck")
    if shellcheck is None:
        pytest.skip("shellcheck is not installed")
    subprocess.run([shellcheck, str(ROOT / script)], check=True)
