"""What quantising a model has cost, as data, as JSON and as a few lines."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Errors:
    """How far values are from those that were expected, over all samples.

    Attributes:
        maximum: the largest difference.
        mean: the mean of the differences' sizes.
        sqnr_db: power of what was expected over power of the differences, in decibels; None if there are
            no differences, or nothing but zeros was expected.
        agreement: samples whose largest value stands at the same place; None for a single value.
    """

    maximum: float
    mean: float
    sqnr_db: float | None
    agreement: int | None


@dataclass(frozen=True)
class OutputReport:
    """One output of the model.

    Attributes:
        error: of the quantised model, against the float model.
        float_error: of the float model, against recorded answers; None if there are none.
        int8_error: of the quantised model, against recorded answers; None if there are none.
    """

    name: str
    error: Errors
    float_error: Errors | None = None
    int8_error: Errors | None = None


@dataclass(frozen=True)
class LayerReport:
    """One layer of the float model.

    Attributes:
        sqnr_db: of its output in the quantised model; None if the two are equal.
        lost_db: how much lower that is than at its worst input; None if it cannot be said.
    """

    name: str
    operator: str
    sqnr_db: float | None
    lost_db: float | None


@dataclass(frozen=True)
class Report:
    """Before and after.

    Attributes:
        origin: where the calibration data come from.
        samples: how many they are.
        right: samples whose first output names the right class, in float and in int8; None if the right
            class is not known.
        layers: in order of execution, measured with the first samples.
    """

    origin: str
    samples: int
    right: tuple[int, int] | None
    outputs: tuple[OutputReport, ...]
    layers: tuple[LayerReport, ...]

    def lines(self) -> list[str]:
        """A few lines for people."""
        lines = [f"quantised with {self.samples} samples of {self.origin}"]
        if self.right:
            before, after = (f"{100 * count / self.samples:.1f} %" for count in self.right)
            lines.append(f"accuracy on them: {before} in float, {after} in int8")
        for output in self.outputs:
            error = output.error
            text = f"error of '{output.name}': {error.mean:.3g} in the mean, {error.maximum:.3g} at most"
            text += f", SQNR {error.sqnr_db:.1f} dB" if error.sqnr_db is not None else ""
            if error.agreement is not None:
                text += f"; {error.agreement} of {self.samples} name the same class"
            lines.append(text)
        losses = [layer for layer in self.layers if layer.lost_db is not None and layer.lost_db > 0]
        if losses:
            worst = max(losses, key=lambda layer: layer.lost_db or 0.0)
            lines.append(f"most is lost in '{worst.name}' ({worst.operator}): {worst.lost_db:.1f} dB")
        return lines

    def as_json(self) -> dict[str, Any]:
        """For ``NAME.json``; numbers with six digits."""
        shares = [count / self.samples for count in self.right or ()]
        data = {
            "calibration": self.origin,
            "samples": self.samples,
            "accuracy": dict(zip(("float", "int8"), shares, strict=True)) if shares else None,
            "outputs": [asdict(output) for output in self.outputs],
            "layers": [asdict(layer) for layer in self.layers],
        }
        rounded: dict[str, Any] = _rounded(data)
        return rounded


def decibels(signal: float, noise: float) -> float | None:
    """``10 log10(signal / noise)``; None if one of them is zero."""
    return 10.0 * math.log10(signal / noise) if signal > 0 and noise > 0 else None


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, (list, tuple)) else value
