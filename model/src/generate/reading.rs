//! Reads the shape of a hand-written program, if it has one.

use lang::program::{Expr, Program, PutSource, Stmt, StmtKind, Towards};

use super::shape::{Location, Shape, Thread};
use super::step::{Post, Step};

impl Shape {
    /// The canonical shape of a program. `None` if it has branches or loops, if a location does not begin
    /// with 0, if writes to a location do not write different constants, or if a wait is for several
    /// operations.
    pub fn of(program: &Program) -> Option<Self> {
        if program.locations.iter().any(|location| location.initial != 0) {
            return None;
        }
        let node = |node: lang::program::NodeId| u8::try_from(node.0.checked_sub(1)?).ok();
        let homes: Option<Vec<u8>> =
            program.locations.iter().map(|location| node(location.node)).collect();
        let crash = program.crash.is_some();
        let mut shape = Self { threads: Vec::new(), homes: homes?, crash };
        u8::try_from(shape.homes.len()).ok()?;
        let mut written: Vec<(Location, u64)> = Vec::new();
        let is_nameless = |read: &&Stmt| {
            let register = read.kind.parts().assigned;
            register.is_some_and(|register| program.registers[register.0].name.is_none())
        };
        for thread in &program.threads {
            let own = Thread::new(node(thread.node)?);
            shape.threads.push(own);
            let mut ids = Vec::new();
            let mut before = None;
            for stmt in &thread.body {
                shape.read(stmt, before.filter(is_nameless), &mut ids, &mut written)?;
                before = Some(stmt);
            }
        }
        Some(shape.canonical())
    }

    /// Adds a statement to the last thread. `before` is the statement before it if it assigns a register that
    /// has no name. `ids` has the work ids of that thread's steps.
    fn read(
        &mut self,
        stmt: &Stmt,
        before: Option<&Stmt>,
        ids: &mut Vec<Option<usize>>,
        written: &mut Vec<(Location, u64)>,
    ) -> Option<()> {
        let place = |location: &lang::program::LocationId| u8::try_from(location.0).ok();
        let constant = |expr: &Expr| match expr {
            Expr::Constant(value) => Some(*value),
            _ => None,
        };
        let mut writes = |at: Location, value: u64| {
            let is_new = value != 0 && !written.contains(&(at, value));
            written.push((at, value));
            is_new.then_some(())
        };
        let id = stmt.kind.work_id().map(|work| work.0);
        let towards = |towards: &Towards| {
            let node = u8::try_from(towards.node.0.checked_sub(1)?).ok()?;
            Some((node, u8::try_from(towards.queue_pair).ok()?))
        };
        let mut post = Post { unsignaled: stmt.unsignaled, ..Post::default() };
        if let Some((_, queue_pair)) = stmt.kind.parts().remote {
            post.queue_pair = u8::try_from(queue_pair).ok()?;
        }
        let step = match &stmt.kind {
            StmtKind::Write { location, value } => {
                writes(place(location)?, constant(value)?)?;
                Step::Write { at: place(location)? }
            }
            StmtKind::Read { location, .. } => Step::Read { at: place(location)? },
            StmtKind::Cas { location, expected, desired, .. } => {
                let (at, hits) = (place(location)?, constant(expected)? == 0);
                if hits {
                    writes(at, constant(desired)?)?;
                }
                Step::Cas { at, hits }
            }
            StmtKind::Faa { location, addend, .. } => {
                writes(place(location)?, constant(addend)?)?;
                Step::Faa { at: place(location)? }
            }
            StmtKind::Fence => Step::Fence,
            StmtKind::Put { target, source, inline: true, .. } => {
                post.inline = true;
                // The CPU's read of the source is the statement before it.
                let PutSource::Value(Expr::Register(value)) = source else { return None };
                let StmtKind::Read { register, location } = &before?.kind else { return None };
                self.threads.last_mut()?.body.pop();
                ids.pop();
                let put = Step::Put { to: place(target)?, from: place(location)? };
                (value == register).then_some(put)?
            }
            StmtKind::Put { target, source: PutSource::Value(value), .. } => {
                writes(place(target)?, constant(value)?)?;
                Step::PutValue { to: place(target)? }
            }
            StmtKind::Put { target, source: PutSource::Location(from), .. } => {
                Step::Put { to: place(target)?, from: place(from)? }
            }
            StmtKind::Get { target, source, .. } => {
                Step::Get { from: place(source)?, into: place(target)? }
            }
            StmtKind::Rcas { result, target, expected, desired, .. } => {
                let (at, hits) = (place(target)?, constant(expected)? == 0);
                if hits {
                    writes(at, constant(desired)?)?;
                }
                Step::Rcas { at, into: place(result)?, hits }
            }
            StmtKind::Rfaa { result, target, addend, .. } => {
                writes(place(target)?, constant(addend)?)?;
                Step::Rfaa { at: place(target)?, into: place(result)? }
            }
            StmtKind::RemoteFence(fenced) => {
                let (node, queue_pair) = towards(fenced)?;
                post.queue_pair = queue_pair;
                Step::RemoteFence { node }
            }
            StmtKind::Poll(polled) => {
                let [polled] = polled.as_slice() else { return None };
                return self.poll(towards(polled)?, ids);
            }
            StmtKind::Wait(work) => {
                let mut named = (0..ids.len()).filter(|at| ids[*at] == Some(work.0));
                let (step, None) = (named.next()?, named.next()) else { return None };
                Step::Await { step: step as u8 }
            }
            _ => return None,
        };
        self.add(step, post);
        ids.push(id);
        Some(())
    }

    /// Adds a step to the last thread.
    fn add(&mut self, step: Step, post: Post) {
        let Some(thread) = self.threads.last_mut() else { return };
        if post != Post::default() {
            thread.posts.resize(thread.body.len(), Post::default());
            thread.posts.push(post);
        }
        thread.body.push(step);
    }

    /// Adds a poll. Adjacent polls are one wait, for the operation that the last of them answers for.
    fn poll(&mut self, pair: (u8, u8), ids: &mut Vec<Option<usize>>) -> Option<()> {
        let thread = self.threads.last()?;
        let polls = self.polls(thread);
        let towards =
            |at: usize| thread.completes(at) && self.queue_pair_of(thread, at) == Some(pair);
        let is_wait = |at: usize| matches!(thread.body[at], Step::Await { step } if towards(usize::from(step)));
        let polled: usize =
            (0..thread.body.len()).filter(|at| is_wait(*at)).map(|at| polls[at]).sum();
        let mut operations = (0..thread.body.len()).filter(|at| towards(*at));
        let step = Step::Await { step: operations.nth(polled)? as u8 };
        let joins = thread.body.len().checked_sub(1).is_some_and(is_wait);
        let body = &mut self.threads.last_mut()?.body;
        match body.last_mut() {
            Some(last) if joins => *last = step,
            _ => {
                body.push(step);
                ids.push(None);
            }
        }
        Some(())
    }
}
