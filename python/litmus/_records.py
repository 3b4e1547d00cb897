"""Records of runs, and reports, as data frames. These need pandas."""
from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


def record(path: str | Path) -> pandas.DataFrame:
    """What was seen in a record of `litmus run --record`: a row for each test and outcome, with its count.

    A test in parts, of which a later line says more, has the counts of its last line.
    """
    import pandas

    lines = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
    tests: dict[tuple[str, str], dict[str, Any]] = {}
    for line in lines:
        if line.get("kind") == "test":
            tests[line["test"], line.get("machine", "")] = line
    rows = []
    for line in tests.values():
        for seen in line.get("outcomes", []):
            rows.append({"test": line["test"], "file": line.get("file"), "machine": line.get("machine"), **seen})
    return pandas.json_normalize(rows) if rows else pandas.DataFrame(columns=["test", "file", "machine", "count"])


def report(path: str | Path) -> pandas.DataFrame:
    """What a report of `litmus report --format json` says: a row for each test, model and outcome."""
    import pandas

    rows: list[dict[str, Any]] = []
    for test in json.loads(Path(path).read_text(encoding="utf-8"))["tests"]:
        for result in test["results"]:
            for row in result["rows"]:
                of_test = {key: test[key] for key in ("name", "machine", "status", "iterations")}
                kept = {key: row[key] for key in ("outcome", "state", "count", "kind", "judgement")}
                rows.append({**of_test, "models": " ".join(result["models"]), **kept})
    columns = ["name", "machine", "status", "iterations", "models", "outcome", "state", "count", "kind", "judgement"]
    return pandas.DataFrame(rows, columns=columns)
