//! The engines for a page in a browser: one function, which takes a question in JSON and gives an answer in
//! JSON.
//!
//! The page runs it in a worker. There are no limits of time here: the page ends the worker.

mod ask;
mod changes;
mod files;
mod question;
#[cfg(test)]
mod tests;

use wasm_bindgen::prelude::wasm_bindgen;

pub use question::Question;

/// The answer to a question, both in JSON; see [`Question`]. What is wrong with the question itself is the
/// field `error` of the answer.
#[wasm_bindgen]
pub fn answer(question: &str) -> String {
    match serde_json::from_str::<Question>(question) {
        Ok(question) => question.answer().to_string(),
        Err(error) => serde_json::json!({ "error": error.to_string() }).to_string(),
    }
}
