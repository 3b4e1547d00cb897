//! The two languages of `litmus`: programs ([`litmus`]) and models ([`cat`]).
//!
//! Text in, checked structure out, and back again. This crate does no input or output, knows no model,
//! and no text makes it panic.

// What pest makes of grammars names it.
extern crate alloc;

pub mod diagnostic;
mod front;
pub mod limits;
pub mod mutex;
pub mod outcome;
pub mod program;
pub mod source;

pub mod cat;
pub mod herd;
pub mod library;
pub mod litmus;

use program::Program;

/// A checked litmus test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The name in the header.
    pub name: String,
    /// The title in quotes.
    pub title: Option<String>,
    /// `source "…"`.
    pub source: Option<String>,
    /// The models for which the verdicts hold; if the header names none, the dialect's ([`Dialect::model`]).
    pub models: Vec<String>,
    /// `tags …`.
    pub tags: Vec<String>,
    /// `bound loops = N`: how often a loop is unrolled.
    pub loop_bound: Option<u32>,
    /// Which dialect the program is written in.
    pub dialect: Dialect,
    /// The program.
    pub program: Program,
    /// What engines compute: first the observables that are shown, then those that only verdicts mention.
    pub observables: Vec<outcome::Observable>,
    /// How many of the observables outcomes show.
    pub shown: usize,
    /// The verdict lines.
    pub expectations: Vec<outcome::Expectation>,
}

impl Test {
    /// Whether the header names a model, by its name or as a file `NAME.cat`.
    pub fn lists(&self, model: &str) -> bool {
        self.models.iter().any(|listed| {
            let file = listed.rsplit('/').next().unwrap_or(listed);
            listed == model || file.strip_suffix(".cat") == Some(model)
        })
    }
}

/// The dialect of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// RDMA over TSO, and libraries over it.
    #[default]
    Rdma,
    /// coreRMA.
    CoreRma,
}

impl Dialect {
    /// The model of a test whose header names none.
    pub fn model(self) -> &'static str {
        match self {
            Self::Rdma => "rdma-tso-rmw",
            Self::CoreRma => "corerma",
        }
    }
}
