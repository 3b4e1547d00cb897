//! What a statement means on the wire.

use lang::program::{
    Location, LocationId, MessageTarget, Origin, Peer, Program, PutSource, RmaKind, RmaStmt, Stmt,
    StmtKind, ThreadId, Towards, Words, WorkId, array_of, each,
};

/// The statements of a program at an offset, from the outermost to the innermost, each with its thread. Of
/// those that one piece of text stands for, the last is the one that it is most about.
pub fn statements_at(program: &Program, offset: usize) -> Vec<(ThreadId, &Stmt)> {
    let mut found = Vec::new();
    for (index, thread) in program.threads.iter().enumerate() {
        each(&thread.body, &mut |stmt| {
            if stmt.span.start <= offset && offset <= stmt.span.end {
                found.push((ThreadId(index), stmt));
            }
        });
    }
    // Of equals, the first in the text is last here.
    found.reverse();
    let length = |stmt: &Stmt| stmt.span.end - stmt.span.start;
    found.sort_by_key(|(_, stmt)| std::cmp::Reverse((length(stmt), implied(program, stmt))));
    found
}

/// How little a statement is what the text says: reads in expressions and choices of words only come with it.
fn implied(program: &Program, stmt: &Stmt) -> u8 {
    match &stmt.kind {
        StmtKind::If { .. } | StmtKind::Loop(_) | StmtKind::Break => 1,
        StmtKind::Read { register, .. } if program.registers[register.0].name.is_none() => 2,
        StmtKind::OutOfRange { .. } => 3,
        _ => 0,
    }
}

/// A location as people say it. Private ones have names that no text spells.
pub fn place(program: &Program, id: LocationId) -> String {
    let Location { name, node, origin, .. } = &program.locations[id.0];
    if *origin != Origin::Unnamed {
        return format!("`{name}` on node {}", node.0);
    }
    let is_entry = program.receives().values().flatten().any(|receive| receive.entry == id);
    let what = if is_entry { "the completion of a receive" } else { "a word that nobody reads" };
    format!("{what}, on node {}", node.0)
}

/// What goes over the wire for a statement. Of calls, libraries say it.
pub fn on_the_wire(program: &Program, stmt: &Stmt) -> Option<String> {
    let name = |id: &LocationId| place(program, *id);
    let not_sent = |what: &str| format!("nothing is sent: {what}");
    let text = match &stmt.kind {
        StmtKind::Assign { .. } => not_sent("a register takes a value"),
        StmtKind::Read { location, .. } => not_sent(&format!("the CPU reads {}", name(location))),
        StmtKind::Write { location, .. } => not_sent(&format!("the CPU writes {}", name(location))),
        StmtKind::Cas { location, .. }
        | StmtKind::Faa { location, .. }
        | StmtKind::Exchange { location, .. } => {
            not_sent(&format!("the CPU reads and writes {} at once", name(location)))
        }
        StmtKind::Fence => not_sent("the CPU's earlier writes reach memory first"),
        StmtKind::Put { target, source, inline, .. } => {
            let from = if *inline { copied() } else { taken(program, source) };
            format!("`RDMA WRITE`: {from}, and the other NIC writes {}", name(target))
        }
        StmtKind::Get { target, source, .. } => format!(
            "`RDMA READ`: the other NIC reads {}, and the NIC writes the answer to {}",
            name(source),
            name(target)
        ),
        StmtKind::Rcas { target, result, .. } => format!(
            "`ATOMIC_CMP_AND_SWP` of {}; the old value comes back to {}",
            name(target),
            name(result)
        ),
        StmtKind::Rfaa { target, result, .. } => format!(
            "`ATOMIC_FETCH_AND_ADD` of {}; the old value comes back to {}",
            name(target),
            name(result)
        ),
        StmtKind::Words(words) => several(program, words),
        StmtKind::Message { target, source, immediate, .. } => {
            message(program, target, source, immediate.is_some())
        }
        StmtKind::AtomicWrite { target, .. } => format!(
            "`ATOMIC_WRITE` of the value, which the CPU reads when it posts it, to {}, after the flushes before it",
            name(target)
        ),
        StmtKind::Flush { towards: to, is_persistent: true, .. } => format!(
            "`FLUSH` towards {}, for persistence: when it completes, what was written there before survives \
             a crash",
            towards(to)
        ),
        StmtKind::Flush { towards: to, .. } => format!(
            "`FLUSH` towards {}: when it completes, what was written there before can be seen",
            towards(to)
        ),
        StmtKind::Receive { from, receive } => not_sent(&format!(
            "a receive is posted for a message of {}; the data of a `Send` goes to {}",
            peer(from),
            name(&receive.buffer)
        )),
        StmtKind::PollReceive { from, .. } => not_sent(&format!(
            "the CPU polls for the oldest completion of its receives from {}",
            peer(from)
        )),
        StmtKind::Poll(pairs) => not_sent(&format!(
            "the CPU polls for the oldest completion of its operations towards {}",
            pairs.iter().map(towards).collect::<Vec<_>>().join(", or ")
        )),
        StmtKind::Wait(wanted) => not_sent(&format!(
            "the CPU polls until all earlier operations `{}` have completed",
            work_id(program, wanted)
        )),
        StmtKind::RemoteFence(to) => format!(
            "the next request towards {} has the flag `IBV_SEND_FENCE`: it waits for earlier reads and atomics",
            towards(to)
        ),
        StmtKind::GlobalFence(nodes) => {
            let nodes: Vec<String> = nodes.iter().map(|node| node.0.to_string()).collect();
            format!("an `RDMA READ` from each of the nodes {}, and a wait for it", nodes.join(", "))
        }
        StmtKind::Call(_) => return None,
        StmtKind::Rma(rma) => remote(program, rma),
        StmtKind::If { .. } => not_sent("the CPU decides which block is done"),
        StmtKind::Loop(_) => not_sent("the CPU does the block again and again, until a `break`"),
        StmtKind::Break => not_sent("the CPU leaves the loop"),
        StmtKind::Assume(_) => not_sent("executions count in which the condition holds"),
        StmtKind::OutOfRange { array, words } => {
            not_sent(&format!("executions count whose index is a word of `{array}`, below {words}"))
        }
    };
    Some(text + completion(stmt))
}

/// What is said of the completion of a request.
fn completion(stmt: &Stmt) -> &'static str {
    if stmt.unsignaled {
        "; it has no completion of its own"
    } else if stmt.kind.work_id().is_some() {
        "; a `Wait` for its id waits for its completion"
    } else {
        ""
    }
}

fn copied() -> String {
    "the CPU copies the value into the request".to_owned()
}

/// How the NIC gets what it sends.
fn taken(program: &Program, source: &PutSource) -> String {
    match source {
        PutSource::Location(source) => format!("the NIC reads {}", place(program, *source)),
        PutSource::Value(_) => "the NIC takes the value".to_owned(),
    }
}

fn towards(to: &Towards) -> String {
    match to.queue_pair {
        0 => format!("node {}", to.node.0),
        _ => format!("node {}, on queue pair {}", to.node.0, to.number()),
    }
}

fn peer(from: &Peer) -> String {
    match from.queue_pair {
        0 => format!("thread {}", from.thread.number()),
        number => format!("thread {}, on its queue pair {number}", from.thread.number()),
    }
}

fn work_id<'p>(program: &'p Program, id: &WorkId) -> &'p str {
    &program.work_ids[id.0]
}

/// A put or a get of several words.
fn several(program: &Program, words: &Words) -> String {
    let (count, local, remote) =
        (words.local.len(), range(program, &words.local), range(program, &words.remote));
    match words.is_put {
        true => format!(
            "one `RDMA WRITE` of {count} words: the NIC reads {local}, and the other NIC writes {remote}"
        ),
        false => format!(
            "one `RDMA READ` of {count} words: the other NIC reads {remote}, and the NIC writes the answer to {local}"
        ),
    }
}

/// Words that stand side by side.
fn range(program: &Program, words: &[LocationId]) -> String {
    let location = |id: &LocationId| &program.locations[id.0];
    let (Some(first), Some(last)) = (words.first().map(location), words.last().map(location))
    else {
        return "no word".to_owned();
    };
    match (array_of(&first.name), array_of(&last.name)) {
        (Some((array, from)), Some((_, to))) if from < to => {
            format!("the words {from} to {to} of `{array}` on node {}", first.node.0)
        }
        _ => format!("`{}` on node {}", first.name, first.node.0),
    }
}

/// A message that consumes a receive.
fn message(
    program: &Program,
    target: &MessageTarget,
    source: &PutSource,
    has_immediate: bool,
) -> String {
    let from = taken(program, source);
    match target {
        MessageTarget::Location(target) => format!(
            "`RDMA WRITE WITH IMMEDIATE`: {from}, and the other NIC writes {}; it consumes the oldest receive there, whose completion has the immediate",
            place(program, *target)
        ),
        MessageTarget::Receive(node) => {
            let (name, more) = match has_immediate {
                true => ("SEND WITH IMMEDIATE", ", whose completion has the immediate"),
                false => ("SEND", ""),
            };
            format!(
                "`{name}`: {from}, and the NIC of node {} writes it to the buffer of the oldest receive there, which it consumes{more}",
                node.0
            )
        }
    }
}

/// A statement of the coreRMA dialect, as networks do it.
fn remote(program: &Program, rma: &RmaStmt) -> String {
    let name = |index: usize| {
        let access = rma.accesses.get(index);
        access.map_or_else(|| "a location".to_owned(), |(id, _)| place(program, *id))
    };
    let process = rma.process.map_or_else(|| "another one".to_owned(), |node| node.0.to_string());
    match rma.kind {
        RmaKind::LocalRead => format!("nothing is sent: the CPU reads {}", name(0)),
        RmaKind::LocalWrite => format!("nothing is sent: the CPU writes {}", name(0)),
        RmaKind::Get => {
            format!(
                "a remote read: {} is read, and what was read is written to {}",
                name(1),
                name(0)
            )
        }
        RmaKind::Put => {
            format!(
                "a remote write: {} is read, and what was read is written to {}",
                name(1),
                name(0)
            )
        }
        RmaKind::Rga => format!(
            "a remote get accumulate: {} is read and added to {}; the old value is written to {}",
            name(2),
            name(1),
            name(0)
        ),
        RmaKind::Cas => format!(
            "a remote compare-and-swap: if {} is what {} is, it becomes what {} is; the old value is written to {}",
            name(1),
            name(2),
            name(3),
            name(0)
        ),
        RmaKind::Flush => format!(
            "the CPU waits until all its earlier remote statements towards process {process} are done"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lang::source::Source;
    use model::library::shipped;

    /// What is said of each statement of a program, in the order of the text.
    fn said(text: &str) -> Vec<String> {
        let (test, wrong) =
            lang::litmus::load_with(&Source::new("t.litmus", text), shipped().words());
        let test = test.unwrap_or_else(|| panic!("{wrong:?}"));
        let mut all = Vec::new();
        for thread in &test.program.threads {
            each(&thread.body, &mut |stmt| all.extend(on_the_wire(&test.program, stmt)));
        }
        all
    }

    #[test]
    fn requests_of_several_words_and_messages_are_sent() {
        let text = "litmus t\nmodel rdma-tso-rmw\n\n  x[4] = 0; z = 0  ||  y[4] = 0; b = 0\n  ---\n  \
                    y[0..2]^2 := x[1..3]  ||  Recv(1, b)\n  PutImm(b^2, z, 7)  ||  a := PollRecv(1)\n  \
                    Send(2, z)  ||  Recv(1, b)\n  SendImm(2, z, 3)  || Recv(1, _)\n\n  a = 7 ✓\n";
        let all = said(text);
        let expected = [
            "one `RDMA WRITE` of 2 words: the NIC reads the words 1 to 2 of `x` on node 1",
            "`RDMA WRITE WITH IMMEDIATE`: the NIC reads `z` on node 1, and the other NIC writes `b`",
            "`SEND`: the NIC reads `z` on node 1, and the NIC of node 2",
            "`SEND WITH IMMEDIATE`: ",
            "nothing is sent: a receive is posted for a message of thread 1; the data",
            "nothing is sent: the CPU polls for the oldest completion of its receives from thread 1",
        ];
        for (said, expected) in all.iter().zip(expected) {
            assert!(said.starts_with(expected), "{said}\n{expected}");
        }
        assert!(all.len() >= expected.len());
        assert!(all.iter().all(|said| !said.contains("`_")), "{all:?}");
    }

    #[test]
    fn statements_of_core_rma_have_words() {
        let text = "litmus t\nmodel corerma\ndialect corerma\n\n  X = 0  ||  Y = 0\n  ---\n  \
                    put(Y^2, X)  ||  skip\n  X = get(Y^2)  ||  skip\n  flush(2)  ||  skip\n";
        let all = said(text);
        assert_eq!(
            all[0],
            "a remote write: `X` on node 1 is read, and what was read is written to `Y` on node 2"
        );
        assert!(all[1].starts_with("a remote read: `Y` on node 2"), "{}", all[1]);
        assert!(all[2].contains("towards process 2"), "{}", all[2]);
    }
}
