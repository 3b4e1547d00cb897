"""What the engines answer."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterator, Union

if TYPE_CHECKING:
    import pandas

Value = Union[int, str]
"""A value: a number, or a word of the language, such as that for any value."""


def value(text: str) -> Value:
    try:
        return int(text)
    except ValueError:
        return text


class LitmusError(ValueError):
    """The program, a model or a library is wrong; `diagnostics` says where, one dict each."""

    def __init__(self, diagnostics: list[dict[str, Any]]):
        # What is given here is what a copy is made of, in another process too; the text is made of it.
        super().__init__(diagnostics)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        lines = []
        for one in self.diagnostics:
            lines.append(f"{one['file']}:{one['line']}: {one['severity']}: {one['message']}")
            if one.get("help"):
                lines.append(f"  help: {one['help']}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Verdict:
    """What a verdict of the program comes to."""

    condition: str
    expected: str
    found: str
    holds: bool | None
    """`None` if a limit left it open."""
    answer: str | None
    """What was found, in words, where `found` does not say it."""
    line: int


@dataclass(frozen=True)
class Outcomes:
    """All outcomes that a model allows a program."""

    name: str
    model: str
    names: list[str]
    outcomes: list[dict[str, Value]]
    complete: bool
    """Whether these are all; otherwise `reason` says which limit was hit."""
    reason: str | None
    verdicts: list[Verdict] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)

    def __iter__(self) -> Iterator[dict[str, Value]]:
        return iter(self.outcomes)

    def __len__(self) -> int:
        return len(self.outcomes)

    def to_frame(self) -> pandas.DataFrame:
        """A row for each outcome."""
        import pandas

        return pandas.DataFrame(self.outcomes, columns=self.names)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(str(row[name]))}</td>" for name in self.names) + "</tr>" for row in self.outcomes
        )
        more = "" if self.complete else f"<p>or more: {escape(self.reason or '')}</p>"
        return f"<table><caption>{escape(self.name)}: {escape(self.model)}</caption><tr>{head}</tr>{rows}</table>{more}"


@dataclass(frozen=True)
class Explanation:
    """Why a model allows an outcome, or forbids it. In a notebook it shows its picture."""

    model: str
    outcome: str
    verdict: str
    """`allowed`, `forbidden` or `unknown`."""
    text: str
    picture: str | None
    """SVG."""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"{self.picture or ''}<pre>{escape(self.text)}</pre>"


@dataclass(frozen=True)
class Comparison:
    """The outcomes that only one of two models allows."""

    models: tuple[str, str]
    only: tuple[list[dict[str, Value]], list[dict[str, Value]]]
    complete: bool


@dataclass(frozen=True)
class Repair:
    """Changes that make the verdicts hold, and the program with them."""

    cost: int
    changes: list[str]
    text: str
    diff: str


@dataclass(frozen=True)
class Repairs:
    """The least synchronization that makes a program right."""

    right: bool
    """Nothing needs a repair."""
    repairs: list[Repair]
    hopeless: list[str]
    """Conditions that no synchronization makes possible."""
    open: list[str]
    """What was not decided."""

    def __iter__(self) -> Iterator[Repair]:
        return iter(self.repairs)

    def __len__(self) -> int:
        return len(self.repairs)


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
