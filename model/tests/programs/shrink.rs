//! Smaller programs that still fail.

use super::{Program, Statement};

/// Takes out statements, unwraps blocks and empties threads as long as the program still fails.
pub fn shrink(mut program: Program, fails: impl Fn(&Program) -> bool) -> Program {
    while let Some(smaller) = smaller(&program).into_iter().find(|smaller| fails(smaller)) {
        program = smaller;
    }
    program
}

fn smaller(program: &Program) -> Vec<Program> {
    let mut found = Vec::new();
    for thread in 0..program.threads.len() {
        let mut bodies = variants(&program.threads[thread].1);
        bodies.insert(0, Vec::new());
        if program.threads[thread].1.is_empty() {
            bodies.clear();
            let mut without = program.clone();
            without.threads.remove(thread);
            found.push(without);
        }
        for body in bodies {
            let mut changed = program.clone();
            changed.threads[thread].1 = body;
            found.push(changed);
        }
    }
    for node in 0..program.nodes.len() {
        for name in 0..program.nodes[node].len() {
            let mut without = program.clone();
            without.nodes[node].remove(name);
            found.push(without);
        }
    }
    found
}

/// The block with one thing less.
fn variants(block: &[Statement]) -> Vec<Vec<Statement>> {
    let mut found = Vec::new();
    for (index, statement) in block.iter().enumerate() {
        let mut put = |statements: Vec<Statement>| {
            let mut changed = block.to_vec();
            changed.splice(index..=index, statements);
            found.push(changed);
        };
        put(Vec::new());
        let Statement::Block(head, body, otherwise) = statement else { continue };
        put(body.clone());
        put(otherwise.clone());
        let whole = |body, otherwise| vec![Statement::Block(head.clone(), body, otherwise)];
        variants(body).into_iter().for_each(|body| put(whole(body, otherwise.clone())));
        variants(otherwise).into_iter().for_each(|otherwise| put(whole(body.clone(), otherwise)));
    }
    // An empty thread is as large as one that has nothing to take out; never give back the same.
    found
}
