"""What a verification found, as text and as an error."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import VerifyError
from .compare import Difference


@dataclass(frozen=True)
class Mismatch:
    """The difference of one output in one run; runs count from 0."""

    run: int
    output: str
    difference: Difference


@dataclass(frozen=True)
class Original:
    """A quantised model in an image beside the float model that it was made from.

    Attributes:
        largest: the largest difference of all runs and outputs, in real values.
        agreement: runs whose first output names the same class; None if it names none.
        accuracy: runs in which the float model names the labelled class; None without labels.
    """

    largest: float
    agreement: int | None
    accuracy: int | None


@dataclass(frozen=True)
class Kernels:
    """The kernels that a TFLite model was compared with.

    Attributes:
        name: whose they are, in words.
        rounding: the profile of the model in the image.
        round_alike: whether they round as that profile says.
    """

    name: str
    rounding: str
    round_alike: bool


@dataclass(frozen=True)
class VerifyResult:
    """What a verification found.

    Attributes:
        title: the image, the model and the board.
        origin: where the inputs come from.
        samples: number of runs.
        largest: the largest difference of all runs and outputs.
        agreement: runs whose first output names the same class as the reference; None if it names none.
        accuracy: runs whose first output names the labelled class; None without labels.
        stack_bytes: stack that the model used at most, below the caller's.
        stack_reserve: stack that the board reserves.
        instructions: the fewest and the most instructions of a run; None if not counted.
        original: how the float model compares, if the model was quantised when it was compiled.
        kernels: what a TFLite model was compared with; None for recorded answers.
    """

    title: str
    elf: Path
    origin: str
    samples: int
    largest: Mismatch
    agreement: int | None
    accuracy: int | None
    stack_bytes: int
    stack_reserve: int
    instructions: tuple[int, int] | None
    original: Original | None = None
    kernels: Kernels | None = None

    @property
    def largest_error(self) -> float:
        return self.largest.difference.error

    @property
    def passed(self) -> bool:
        return not self.largest.difference.wrong

    def report(self) -> str:
        """A few lines for people."""
        limit = self.largest.difference.limit
        allowed = f"at most {limit:g} is allowed" if limit else "none is allowed"
        rows = [
            ("inputs", f"{self.samples} ({self.origin})"),
            ("largest error", f"{self.largest_error:.3g} in '{self.largest.output}', {allowed}"),
        ]
        if self.agreement is not None:
            rows.append(("top-1 agreement", self._share(self.agreement)))
        if self.accuracy is not None:
            rows.append(("accuracy", self._share(self.accuracy)))
        if self.original is not None:
            rows.append(("float model", self._beside(self.original)))
        if self.kernels is not None:
            text = f"{self.kernels.name}, the model rounds as profile {self.kernels.rounding}"
            rows.append(("reference", text))
        if self.instructions is not None:
            low, high = self.instructions
            rows.append(("instructions", f"{low:,}" if low == high else f"{low:,} to {high:,}"))
        rows.append(("stack", f"{self.stack_bytes:,} bytes, {self.stack_reserve:,} are reserved"))
        rows.append(("result", "equal to the reference" if self.passed else self._failure()))
        return "\n".join([self.title, *(f"  {label:<16} {text}" for label, text in rows)])

    def check(self) -> None:
        """VerifyError if an output differs from the reference by more than is allowed."""
        if self.passed:
            return
        worst = self.largest.difference
        index = "".join(f"[{i}]" for i in worst.index)
        raise VerifyError(
            f"element {index} is {worst.got:.9g}, the reference says {worst.want:.9g}",
            file=self.elf,
            where=f"output '{self.largest.output}', input {self.largest.run}",
            expected=f"an error of at most {worst.limit:g}, not {worst.error:.3g}",
            remedy=self._remedy(),
        )

    def _failure(self) -> str:
        if self._may_be_rounding():
            return "DIFFERENT: these kernels round in another way, or the model is wrong"
        return "WRONG"

    def _remedy(self) -> str | None:
        if not self._may_be_rounding():
            return None
        return (
            "pip install tflite-micro, which rounds as profile tflm; or compile with rounding=litert, which "
            "must equal LiteRT's reference kernels; or record the answers of the runtime whose rounding is "
            "wanted with the inputs"
        )

    def _may_be_rounding(self) -> bool:
        """Whether integers may differ because the reference rounds otherwise than the model."""
        exact = not self.largest.difference.limit
        return exact and self.kernels is not None and not self.kernels.round_alike

    def _beside(self, original: Original) -> str:
        text = f"differs by at most {original.largest:.3g}"
        if original.agreement is not None:
            text += f", agrees in {self._share(original.agreement)}"
        if original.accuracy is not None:
            text += f", accuracy {self._share(original.accuracy)}"
        return text

    def _share(self, hits: int) -> str:
        return f"{hits} of {self.samples} ({100 * hits / self.samples:.1f} %)"
