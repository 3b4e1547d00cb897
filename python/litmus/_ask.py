"""Questions about programs."""
from __future__ import annotations

import json
from typing import Any, Mapping

from ._answers import Comparison, Explanation, LitmusError, Outcomes, Repair, Repairs, Value, Verdict, value
from ._engine import answer

EVERY_ROW = 2**53
"""More rows than there are: the page's limit is not ours."""


def _ask(kind: str, text: str | None = None, model: str | None = None, own: Mapping[str, str] | None = None, **more: Any) -> Any:
    if kind != "shipped" and not isinstance(text, str):
        raise TypeError(f"expected a program's text, found {type(text).__name__}")
    for given in (text, model, *more.values()):
        if given is not None and not isinstance(given, str):
            raise TypeError(f"expected a text, found {type(given).__name__}")
    for name in own or {}:
        if not name.endswith((".cat", ".lib")):
            raise ValueError(f"expected the name of a file that ends in .cat or .lib, found {name!r}")
    question: dict[str, Any] = {"ask": kind, "rows": EVERY_ROW, **more}
    if text is not None:
        question["text"] = text
    if model is not None:
        question["model"] = model
    question["own"] = sorted((own or {}).items())
    # As they are, letters that no text can have raise Python's own error.
    found = json.loads(answer(json.dumps(question, ensure_ascii=False)))
    if "error" in found:
        raise RuntimeError(found["error"])
    wrong = [one for one in found.get("diagnostics", []) if one["severity"] == "error"]
    if wrong:
        raise LitmusError(wrong)
    return found


def _rows(table: Any) -> list[dict[str, Value]]:
    return [dict(zip(table["names"], map(value, row))) for row in table["rows"]]


def allowed(text: str, model: str | None = None, *, own: Mapping[str, str] | None = None) -> Outcomes:
    """All outcomes that a model allows the program.

    `model` is a shipped model's name, or the name of a file in `own` without `.cat`; by default the first that
    the program names. `own` has the texts of models and libraries of your own, by file name.

    Raises `LitmusError` if the program or a text is wrong.
    """
    found = _ask("judge", text, model, own)
    table = found["outcomes"]
    kept = ("condition", "expected", "found", "holds", "answer", "line")
    return Outcomes(
        name=found["name"],
        model=found["model"],
        names=table["names"],
        outcomes=_rows(table),
        complete=table["complete"],
        reason=table["reason"],
        verdicts=[Verdict(**{key: one[key] for key in kept}) for one in found["verdicts"]],
        warnings=found["diagnostics"],
    )


def explain(text: str, outcome: str, model: str | None = None, *, own: Mapping[str, str] | None = None) -> Explanation:
    """Why a model allows an outcome, such as `a = 1 ∧ b = 0`, or forbids it."""
    found = _ask("explain", text, model, own, outcome=outcome)
    return Explanation(**{key: found[key] for key in ("model", "outcome", "verdict", "text", "picture")})


def compare(text: str, model: str, other: str, *, own: Mapping[str, str] | None = None) -> Comparison:
    """The outcomes that only one of two models allows."""
    found = _ask("compare", text, model, own, **{"with": other})
    one, two = found["only"]
    return Comparison(tuple(found["models"]), (_rows(one), _rows(two)), found["complete"])


def repair(text: str, model: str | None = None, *, own: Mapping[str, str] | None = None) -> Repairs:
    """The least synchronization that makes the program's verdicts hold, cheapest first, two changes at most."""
    found = _ask("repair", text, model, own)
    kept = ("cost", "changes", "text", "diff")
    repairs = [Repair(**{key: one[key] for key in kept}) for one in found["repairs"]]
    return Repairs(found["right"], repairs, found["hopeless"], found["open"])


def fmt(text: str) -> str:
    """The program in its normal form."""
    return str(_ask("format", text)["text"])


def models() -> dict[str, str]:
    """The shipped models, and their titles."""
    return {one["name"]: one["title"] for one in _ask("shipped")["models"]}
