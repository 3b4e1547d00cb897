"""What `pip install ./python` installs, used as its users do."""
import doctest
import json
import pickle
import tempfile
import unittest
from pathlib import Path

import litmus

ROOT = Path(__file__).parents[2]
MP = """litmus MP
model rdma-tso-rmw verbs

            ||  x = 0, y = 0
  --------------------------
  x^2 := 1  ||  a := y
  y^2 := 1  ||  b := x

  (a, b) = (1, 0) ✗
"""

# Data and flag on queue pairs to different nodes: nothing orders them.
TWO_NODES = """litmus two-nodes
model rdma-tso-rmw

            ||  y = 0, b = 0  ||  x = 0
  -------------------------------------
  x^3 := 1  ||  a := y        ||
  y^2 := 1  ||  b := x^3      ||

  (a, b) = (1, 0) ✗
"""


class Asking(unittest.TestCase):
    def test_outcomes(self):
        found = litmus.allowed(MP)
        self.assertEqual(found.model, "rdma-tso-rmw")
        self.assertTrue(found.complete)
        pairs = {(one["a"], one["b"]) for one in found}
        self.assertEqual(pairs, {(0, 0), (0, 1), (1, 1)})
        self.assertEqual([one.holds for one in found.verdicts], [True])
        self.assertEqual(len(found.to_frame()), len(found))
        self.assertIn("<td>1</td>", found._repr_html_())

    def test_a_model_of_ones_own(self):
        own = {"mine.cat": 'include "verbs-relaxed.cat"\n'}
        found = litmus.allowed(MP, "mine", own=own)
        self.assertIn((1, 0), {(one["a"], one["b"]) for one in found})

    def test_what_is_wrong_says_where(self):
        with self.assertRaises(litmus.LitmusError) as raised:
            litmus.allowed(MP.replace("a := y", "a := := y"))
        self.assertEqual(raised.exception.diagnostics[0]["line"], 6)
        self.assertIn("expected", str(raised.exception))
        with self.assertRaisesRegex(litmus.LitmusError, "did you mean `rdma-tso`"):
            litmus.allowed(MP, "rdma-tsos")

    def test_errors_come_back_from_other_processes(self):
        with self.assertRaises(litmus.LitmusError) as raised:
            litmus.allowed("litmus")
        copy = pickle.loads(pickle.dumps(raised.exception))
        self.assertEqual(copy.diagnostics, raised.exception.diagnostics)
        self.assertEqual(str(copy), str(raised.exception))

    def test_what_is_no_text_is_refused(self):
        for wrong in (None, 5, MP.encode()):
            with self.assertRaises(TypeError):
                litmus.allowed(wrong)
        with self.assertRaises(UnicodeError):
            litmus.allowed(MP + "// \ud800")
        with self.assertRaisesRegex(ValueError, "ends in .cat or .lib, found 'mine'"):
            litmus.allowed(MP, "mine", own={"mine": "let x = po"})

    def test_explanations_have_pictures(self):
        why = litmus.explain(MP, "a = 1 ∧ b = 0")
        self.assertEqual(why.verdict, "forbidden")
        self.assertIn("<svg", why._repr_html_())

    def test_comparison(self):
        found = litmus.compare(MP, "verbs", "verbs-relaxed")
        self.assertEqual(found.only[0], [])
        self.assertIn((1, 0), {(one["a"], one["b"]) for one in found.only[1]})

    def test_repair(self):
        self.assertTrue(litmus.repair(MP).right)
        repairs = litmus.repair(TWO_NODES)
        self.assertFalse(repairs.right)
        self.assertTrue(repairs.repairs)
        never = litmus.repair(MP.replace("(a, b) = (1, 0) ✗", "b = 3 ✓"))
        self.assertEqual((never.hopeless, never.repairs), (["b = 3"], []))
        for one in repairs:
            self.assertTrue(all(verdict.holds for verdict in litmus.allowed(one.text).verdicts), one.text)

    def test_no_row_is_left_out(self):
        count = 10
        rows = "".join(f"  x{one} := 1 | a{one} := x{one}\n" for one in range(count))
        places = ", ".join(f"x{one} = 0" for one in range(count))
        claim = " ∧ ".join(f"a{one} = 0" for one in range(count))
        found = litmus.allowed(f"litmus many\nmodel tso\n\n  {places} |\n  ---\n{rows}\n  {claim} ✓\n")
        self.assertEqual(len(found), 2**count)

    def test_the_rest(self):
        self.assertIn("rdma-tso-rmw", litmus.models())
        self.assertEqual(litmus.fmt(MP), litmus.fmt(litmus.fmt(MP)))


class Records(unittest.TestCase):
    def test_what_is_empty_has_its_columns(self):
        with tempfile.TemporaryDirectory() as folder:
            empty = Path(folder, "empty.jsonl")
            empty.write_text("")
            self.assertEqual(litmus.record(empty).groupby("test")["count"].sum().to_dict(), {})
            empty.write_text('{"tests": []}')
            frame = litmus.report(empty)
            self.assertEqual(len(frame[frame.judgement == "violation"]), 0)

    def test_record(self):
        path = ROOT / "docs/example/record.jsonl"
        frame = litmus.record(path)
        tests = [json.loads(line) for line in path.read_text().splitlines()]
        tests = {line["test"] for line in tests if line.get("kind") == "test"}
        self.assertEqual(set(frame["test"]), tests)
        self.assertGreater(frame["count"].sum(), 0)

    def test_report(self):
        frame = litmus.report(ROOT / "docs/example/report.json")
        self.assertIn("conforms", set(frame["judgement"]))


def load_tests(loader, tests, ignore):
    tests.addTests(doctest.DocTestSuite(litmus))
    return tests


if __name__ == "__main__":
    unittest.main()
