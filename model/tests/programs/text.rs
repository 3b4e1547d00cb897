//! Programs as trees of text: enough structure to take statements out, and no more.

use std::fmt::{Display, Formatter, Result};

/// A program, ready to be printed as a litmus file.
#[derive(Clone, Debug)]
pub struct Program {
    pub name: String,
    /// The bound on loops.
    pub loops: u32,
    /// Whether all nodes crash at some moment.
    pub crash: bool,
    /// The declarations of each node.
    pub nodes: Vec<Vec<String>>,
    /// The node of each thread, from 1, and its statements.
    pub threads: Vec<(usize, Vec<Statement>)>,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Statement {
    Line(String),
    /// What stands before the brace, the block, and the block after `else`.
    Block(String, Vec<Statement>, Vec<Statement>),
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "litmus {}\nbound loops = {}", self.name, self.loops)?;
        writeln!(f, "{}", if self.crash { "crash\n" } else { "" })?;
        let columns: Vec<String> = self.nodes.iter().map(|names| names.join(", ")).collect();
        writeln!(f, "  {}\n  ----------", columns.join("  ||  "))?;
        for (index, (node, body)) in self.threads.iter().enumerate() {
            writeln!(f, "\nthread {} @ {node} {{", index + 1)?;
            body.iter().try_for_each(|statement| statement.print(1, f))?;
            writeln!(f, "}}")?;
        }
        Ok(())
    }
}

impl Statement {
    fn print(&self, depth: usize, f: &mut Formatter<'_>) -> Result {
        let margin = "  ".repeat(depth);
        match self {
            Self::Line(text) => writeln!(f, "{margin}{text}"),
            Self::Block(head, body, otherwise) => {
                writeln!(f, "{margin}{head} {{")?;
                body.iter().try_for_each(|statement| statement.print(depth + 1, f))?;
                if !otherwise.is_empty() {
                    writeln!(f, "{margin}}} else {{")?;
                    otherwise.iter().try_for_each(|statement| statement.print(depth + 1, f))?;
                }
                writeln!(f, "{margin}}}")
            }
        }
    }
}
