//! The engines for Python: one function, which takes a question in JSON and gives an answer in JSON. What
//! users call is written in Python, in the folder `litmus`.

use pyo3::prelude::*;

/// The answer to a question, both in JSON; see `playground::Question`.
#[pyfunction]
fn answer(py: Python<'_>, question: &str) -> String {
    // Other threads of Python go on meanwhile.
    py.detach(|| playground::answer(question))
}

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(answer, module)?)
}
