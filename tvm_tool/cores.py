"""Processor cores as data: compiler flags, kernel set, toolchain, emulator.

A board names its core; nobody else writes ``-mcpu``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .errors import ToolchainError, did_you_mean


@dataclass(frozen=True)
class Core:
    """One core, with or without its FPU.

    Attributes:
        name: as boards spell it.
        cpu: value of ``-mcpu``; empty for RISC-V, which has none.
        arch: value of ``-march`` that means the same instruction set.
        fpu_name: value of ``-mfpu``, or None for a core without FPU.
        float_abi: ``soft``, ``softfp`` or ``hard``.
        abi: value of ``-mabi``, for RISC-V.
        isa: kernel set: ``scalar``, ``armv6m``, ``armv7m``, ``dsp``, ``mve`` or ``rv32``.
        toolchain: prefix of the compiler's programs.
        toolchain_packages: Debian's packages of the toolchain.
        libc: options of compiler and link that choose a small C library.
        linker_script: template in ``linker_scripts/``.
        startup: file in ``startup/``.
        qemu: emulator program.
        qemu_package: Debian's package of the emulator.
    """

    name: str
    cpu: str
    arch: str
    isa: str
    fpu_name: str | None = None
    float_abi: str = "soft"
    abi: str = ""
    toolchain: str = "arm-none-eabi-"
    toolchain_packages: str = "gcc-arm-none-eabi libnewlib-arm-none-eabi"
    libc: tuple[str, ...] = ("--specs=nano.specs", "--specs=nosys.specs")
    linker_script: str = "cortex_m.ld.in"
    startup: str = "cortex_m.c"
    qemu: str = "qemu-system-arm"
    qemu_package: str = "qemu-system-arm"

    @property
    def fpu(self) -> bool:
        """Whether the code uses floating-point instructions."""
        return self.float_abi != "soft"

    @property
    def riscv(self) -> bool:
        """Whether it is a RISC-V core; the others are Arm's."""
        return bool(self.abi)

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags for the compiler, the assembler and the link."""
        if self.riscv:
            return (f"-march={self.arch}", f"-mabi={self.abi}")
        fpu = (f"-mfpu={self.fpu_name}",) if self.fpu and self.fpu_name else ()
        return (f"-mcpu={self.cpu}", "-mthumb", *fpu, f"-mfloat-abi={self.float_abi}")

    def with_float_abi(self, float_abi: str) -> Core:
        """The same core, used with another float ABI; Helium has the FPU's registers."""
        helium = self.isa == "mve" and float_abi == "soft"
        return replace(self, float_abi=float_abi, isa="dsp" if helium else self.isa)


_CORES = (
    Core("cortex-m0", "cortex-m0", "armv6s-m", "armv6m"),
    Core("cortex-m0plus", "cortex-m0plus", "armv6s-m", "armv6m"),
    Core("cortex-m3", "cortex-m3", "armv7-m", "armv7m"),
    Core("cortex-m4", "cortex-m4", "armv7e-m", "dsp"),
    Core("cortex-m4f", "cortex-m4", "armv7e-m", "dsp", "fpv4-sp-d16", "hard"),
    # A single-precision image also runs on an M7 whose FPU has double precision.
    Core("cortex-m7", "cortex-m7", "armv7e-m", "dsp", "fpv5-sp-d16", "hard"),
    Core("cortex-m33", "cortex-m33", "armv8-m.main", "dsp", "fpv5-sp-d16", "hard"),
    Core("cortex-m55", "cortex-m55", "armv8.1-m.main", "mve", "auto", "hard"),
    Core(
        "rv32imc",
        "",
        "rv32imc",
        "rv32",
        abi="ilp32",
        toolchain="riscv64-unknown-elf-",
        toolchain_packages="gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
        libc=("--specs=picolibc.specs",),
        linker_script="riscv.ld.in",
        startup="riscv.c",
        qemu="qemu-system-riscv32",
        qemu_package="qemu-system-misc",
    ),
)

CORE_NAMES = tuple(core.name for core in _CORES)


def core_named(name: str) -> Core:
    """The core called `name`; ToolchainError if there is none."""
    for core in _CORES:
        if core.name == name:
            return core
    raise ToolchainError(f"there is no core '{name}'", remedy=did_you_mean(name, CORE_NAMES))


def _words(flags: str | Iterable[object]) -> list[str]:
    """Single flags: build tools hand over lists, one long string, or lists of long strings."""
    items = [flags] if isinstance(flags, str) else flags
    return [word for item in items for word in str(item).split()]


_ALIASES = {
    "-msoft-float": "-mfloat-abi=soft",
    "-mhard-float": "-mfloat-abi=hard",
    "-marm": "-mode=arm",
    "-mthumb": "-mode=thumb",
}
_NAMES = ("-mcpu", "-march", "-mfpu", "-mfloat-abi", "-mode")


def machine_flags(flags: str | Iterable[object]) -> dict[str, str]:
    """The flags that choose core and ABI, by name; the last of several counts, as in gcc."""
    found: dict[str, str] = {}
    for word in _words(flags):
        name, equals, value = _ALIASES.get(word, word).partition("=")
        if equals and (name in _NAMES or (name == "-mabi" and value.startswith(("ilp32", "lp64")))):
            found[name] = value.lower()
    return found


def _contradicts(core: Core, name: str, value: str) -> bool:
    if core.riscv:
        # Extensions of several letters, such as _zicsr, change neither registers nor calls.
        base = value.partition("_")[0]
        return {"-march": base != core.arch, "-mabi": value != core.abi}.get(name, True)
    base, *extensions = value.split("+")
    if name == "-mabi":
        return True
    if name in ("-mcpu", "-march"):
        expected = core.cpu if name == "-mcpu" else core.arch
        return base.replace("armv6-m", "armv6s-m") != expected or (core.fpu and "nofp" in extensions)
    if name == "-mfpu":
        # Without floating-point instructions the flag has no effect, and 'auto' follows -mcpu.
        return core.fpu and "auto" not in (value, core.fpu_name) and value != core.fpu_name
    if name == "-mfloat-abi":
        return value != core.float_abi
    return value != "thumb"


def check_flags(core: Core, flags: str | Iterable[object], *, where: str | None = None) -> None:
    """Refuse flags of the firmware that contradict its core; flags that it does not give are fine.

    Args:
        core: the board's core.
        flags: the firmware's flags: one string, or words of which any may hold several flags.
        where: what to call them in the message, for example ``CCFLAGS``.
    """
    ours = {"-march": core.arch, "-mfpu": core.fpu_name} | machine_flags(core.flags)
    wrong = {n: v for n, v in machine_flags(flags).items() if _contradicts(core, n, v)}
    if wrong:
        words = {"-mode=arm": "-marm", "-mode=thumb": "-mthumb"}
        none = " ".join(core.flags)
        pairs = [(f"{n}={v}", f"{n}={ours[n]}" if ours.get(n) else none) for n, v in wrong.items()]
        said = [f"{words.get(a, a)} contradicts {words.get(b, b)}" for a, b in pairs]
        raise ToolchainError(
            f"{' and '.join(said)} of core {core.name}",
            where=where,
            expected=" ".join(core.flags),
            remedy="drop these flags, or name the right core or float_abi in the board's file",
        )
