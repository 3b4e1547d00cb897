//! What the page, and Python, may ask.

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::files;
use crate::{ask, changes};

/// A question of the page, told apart by its field `ask`.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum Question {
    /// The names and titles of the shipped models and libraries, and the style sheet of pictures.
    Shipped,
    /// The text of a shipped model or library.
    Text {
        /// Its file's name, such as `tso.cat`.
        file: String,
    },
    /// What is wrong with a model or library of one's own.
    Check {
        /// Its file's name, which says what it is.
        file: String,
        /// Its text.
        text: String,
    },
    /// The outcomes of a program, and what its verdicts come to.
    Judge(Program),
    /// Why outcomes are allowed or forbidden.
    Explain {
        /// The program.
        #[serde(flatten)]
        program: Program,
        /// The outcomes, in the language of verdicts.
        outcome: String,
    },
    /// The outcomes that only one of two models allows.
    Compare {
        /// The program, under the first model.
        #[serde(flatten)]
        program: Program,
        /// The second model.
        with: String,
    },
    /// The least synchronization that makes the verdicts hold.
    Repair(Program),
    /// The program in its normal form.
    Format(Program),
}

/// A program, and what it is asked under.
#[derive(Debug, Deserialize)]
pub struct Program {
    /// Its text.
    pub text: String,
    /// The model's name; by default the first that the program names.
    #[serde(default)]
    pub model: Option<String>,
    /// Models and libraries of one's own: names of files, and texts. They come before shipped ones.
    #[serde(default)]
    pub own: Vec<(String, String)>,
    /// The most rows of outcomes that an answer has.
    #[serde(default = "most_rows")]
    pub rows: usize,
}

/// As many rows as the page shows.
fn most_rows() -> usize {
    500
}

impl Question {
    /// The answer.
    pub fn answer(&self) -> Json {
        match self {
            Self::Shipped => files::shipped(),
            Self::Text { file } => json!({ "text": files::text(file) }),
            Self::Check { file, text } => json!({ "diagnostics": files::check(file, text) }),
            Self::Judge(program) => ask::judge(program),
            Self::Explain { program, outcome } => ask::explained(program, outcome),
            Self::Compare { program, with } => ask::compared(program, with),
            Self::Repair(program) => changes::repaired(program),
            Self::Format(program) => changes::formatted(program),
        }
    }
}
