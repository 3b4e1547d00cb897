//! Is there an order of calls, one after another, in which a sequential object returns what they returned?

use std::collections::HashSet;

use crate::sequential::object::{Call, Objects, State, Wrong};

/// Calls of a history.
pub struct History<'a> {
    pub objects: &'a Objects<'a>,
    pub calls: Vec<Happened>,
}

/// A call of a history.
#[derive(Clone, Debug)]
pub struct Happened {
    pub call: Call,
    /// What it has returned, if something.
    pub result: Option<u64>,
    /// The calls that returned before it began.
    pub after: Vec<usize>,
    /// How far it came.
    pub came: Progress,
}

/// How far a call came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It returned.
    Returned,
    /// It began, and may have taken place or not.
    Begun,
    /// It did not begin.
    NotBegun,
}

impl History<'_> {
    /// An order of all calls that returned, and of any of those that began; of at least one of these if
    /// `goes_on`.
    ///
    /// # Errors
    /// What is wrong with the sequential object.
    pub fn order(&self, goes_on: bool) -> Result<Option<Vec<usize>>, Wrong> {
        let mut search = Search { history: self, goes_on, seen: HashSet::new(), order: Vec::new() };
        let is_found = search.from(0, &self.objects.initial)?;
        Ok(is_found.then_some(search.order))
    }
}

struct Search<'a> {
    history: &'a History<'a>,
    goes_on: bool,
    /// What was tried in vain: the calls that have taken place, and the state after them.
    seen: HashSet<(u64, State)>,
    order: Vec<usize>,
}

impl Search<'_> {
    fn from(&mut self, taken: u64, state: &State) -> Result<bool, Wrong> {
        lang::limits::look();
        let has = |call: &usize| taken >> call & 1 == 1;
        let calls = &self.history.calls;
        let all = || calls.iter().enumerate();
        let all_back = all().all(|(number, one)| one.came != Progress::Returned || has(&number));
        let goes_on = || all().any(|(number, one)| one.came == Progress::Begun && has(&number));
        if all_back && (!self.goes_on || goes_on()) {
            return Ok(true);
        }
        if !self.seen.insert((taken, state.clone())) {
            return Ok(false);
        }
        for (number, happened) in calls.iter().enumerate() {
            let may = happened.came != Progress::NotBegun && happened.after.iter().all(has);
            if has(&number) || !may {
                continue;
            }
            let mut next = state.clone();
            let Some(result) = self.history.objects.take(&happened.call, &mut next)? else {
                continue;
            };
            let is_back = happened.came == Progress::Returned;
            if is_back && happened.result.is_some() && happened.result != result {
                continue;
            }
            self.order.push(number);
            if self.from(taken | 1 << number, &next)? {
                return Ok(true);
            }
            self.order.pop();
        }
        Ok(false)
    }
}
