//! Orders: chosen ones, derived ones, and consistency.

use std::collections::BTreeMap;

use lang::Test;
use lang::outcome::{Observed, Value};

use super::{Candidate, Event, Loc, Outcomes, Source};

/// A relation between up to 64 events.
#[derive(Clone)]
pub struct Matrix(Vec<u64>);

impl Matrix {
    fn new(size: usize) -> Self {
        assert!(size <= 64, "too many events");
        Self(vec![0; size])
    }

    fn add(&mut self, a: usize, b: usize) {
        self.0[a] |= 1 << b;
    }

    fn has(&self, a: usize, b: usize) -> bool {
        self.0[a] >> b & 1 == 1
    }

    fn close(&mut self) {
        for middle in 0..self.0.len() {
            for from in 0..self.0.len() {
                if self.has(from, middle) {
                    self.0[from] |= self.0[middle];
                }
            }
        }
    }

    fn is_cyclic(&self) -> bool {
        (0..self.0.len()).any(|event| self.has(event, event))
    }
}

const STAMPS: [&str; 12] =
    ["aCR", "aCW", "aCAS", "aMF", "aWT", "aNLR", "aNRW", "aNAR", "aNRR", "aNLW", "aRF", "aGF"];

/// Fig. 9 of the RMW paper: rows and columns in the order of STAMPS.
const STO: [&str; 12] = [
    "++++++++++++",
    ".+++.+++++++",
    "++++++++++++",
    "++++++++++++",
    "++++++++++++",
    ".....SSSSSSS",
    "......SSSS.S",
    "......SSSSSS",
    ".........SSS",
    ".........S.S",
    ".....SSSSSSS",
    "++++++++++++",
];

/// Whether the stamp order orders two subevents of one thread.
pub fn sto(a: &str, n: (u32, u32), b: &str, m: (u32, u32)) -> bool {
    let index = |stamp: &str| STAMPS.iter().position(|known| *known == stamp);
    let (Some(row), Some(column)) = (index(a), index(b)) else { return false };
    match STO[row].as_bytes()[column] {
        b'+' => true,
        b'S' => n == m,
        _ => false,
    }
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    let Some((first, rest)) = items.split_first() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for shorter in permutations(rest) {
        for at in 0..=shorter.len() {
            let mut longer = shorter.clone();
            longer.insert(at, *first);
            all.push(longer);
        }
    }
    all
}

/// Chosen orders, as sequences.
struct Chosen<'a> {
    mo: BTreeMap<&'a Loc, Vec<usize>>,
    sequences: Vec<Vec<usize>>,
    nfo: Vec<(usize, usize)>,
}

impl Candidate {
    fn later(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.events[a], &self.events[b]);
        x.call != 0 && x.thread == y.thread && x.call < y.call
    }

    pub(super) fn orders(
        &self,
        test: &Test,
        rf: &BTreeMap<usize, usize>,
        all: &mut Outcomes,
        budget: &mut u64,
    ) -> Option<()> {
        for (a, b, equal) in &self.conditions {
            match (self.value(a, rf, 0), self.value(b, rf, 0)) {
                (Some(a), Some(b)) if (a == b) == *equal => {}
                _ => return Some(()),
            }
        }
        if rf.keys().any(|read| self.value(&Source::Read(*read), rf, 0).is_none())
            || !self.rings(rf)
        {
            return Some(());
        }
        let count = self.events.len();
        let mut writes: BTreeMap<&Loc, Vec<usize>> = BTreeMap::new();
        let mut groups: BTreeMap<(String, u32), Vec<usize>> = BTreeMap::new();
        let mut nfo = Vec::new();
        for (index, event) in self.events.iter().enumerate() {
            if let (Some(loc), true, true) =
                (&event.loc, event.writes.is_some(), event.library != "RBL")
            {
                writes.entry(loc).or_default().push(index);
            }
            if event.is_first {
                groups.entry((event.object.clone(), 0)).or_default().push(index);
            }
            if event.stamp == "aNAR" {
                groups.entry((String::new(), event.node)).or_default().push(index);
            }
            for other in 0..count {
                let y = &self.events[other];
                let kinds =
                    matches!((event.stamp, y.stamp), ("aNLR", "aNLW") | ("aNRR" | "aNAR", "aNRW"));
                let own = event.library == "base" && y.library == "base";
                // The events of one RMW are ordered by iso already, the only way that is consistent.
                if kinds
                    && own
                    && event.thread == y.thread
                    && event.on() == y.on()
                    && event.call > 0
                {
                    nfo.push((index, other));
                }
            }
        }
        let mo: Vec<(&Loc, Vec<Vec<usize>>)> = writes
            .into_iter()
            .map(|(loc, writes)| {
                let init = writes[0];
                let rest = permutations(&writes[1..]).into_iter();
                (loc, rest.map(|rest| [vec![init], rest].concat()).collect())
            })
            .collect();
        let groups: Vec<Vec<Vec<usize>>> =
            groups.values().map(|group| permutations(group)).collect();
        let mut radix: Vec<usize> = mo.iter().map(|(_, all)| all.len()).collect();
        radix.extend(groups.iter().map(Vec::len));
        radix.extend(nfo.iter().map(|_| 2));
        let mut digits = vec![0; radix.len()];
        loop {
            *budget = budget.checked_sub(1)?;
            let chosen = Chosen {
                mo: mo.iter().zip(&digits).map(|((loc, all), d)| (*loc, all[*d].clone())).collect(),
                sequences: groups
                    .iter()
                    .zip(&digits[mo.len()..])
                    .map(|(all, digit)| all[*digit].clone())
                    .collect(),
                nfo: nfo
                    .iter()
                    .zip(&digits[mo.len() + groups.len()..])
                    .map(|((a, b), digit)| if *digit == 0 { (*a, *b) } else { (*b, *a) })
                    .collect(),
            };
            self.judge(test, rf, &chosen, all);
            let Some(next) = (0..digits.len()).find(|i| digits[*i] + 1 < radix[*i]) else {
                return Some(());
            };
            digits[next] += 1;
            digits[..next].fill(0);
        }
    }

    /// Definition 5.1: each thread reads a message once, and jumps none.
    fn rings(&self, rf: &BTreeMap<usize, usize>) -> bool {
        let of_ring = |event: &usize| self.events[*event].library == "RBL";
        let reads: Vec<(usize, usize)> =
            rf.iter().filter(|(r, _)| of_ring(r)).map(|(r, w)| (*r, *w)).collect();
        reads.iter().all(|(s4, s2)| {
            let once = reads.iter().all(|(other, write)| {
                other == s4 || write != s2 || self.events[*other].thread != self.events[*s4].thread
            });
            let in_order = (0..self.events.len()).all(|s1| {
                let earlier = of_ring(&s1)
                    && self.events[s1].writes.is_some()
                    && self.events[s1].loc == self.events[*s2].loc
                    && self.later(s1, *s2);
                !earlier || reads.iter().any(|(s3, write)| *write == s1 && self.later(*s3, *s4))
            });
            once && in_order
        })
    }

    fn judge(
        &self,
        test: &Test,
        rf: &BTreeMap<usize, usize>,
        chosen: &Chosen<'_>,
        all: &mut Outcomes,
    ) {
        let count = self.events.len();
        let mut hb = Matrix::new(count);
        let mut ib = Matrix::new(count);
        let base = |event: usize| self.events[event].library == "base";
        for a in 0..count {
            for b in 0..count {
                let (x, y) = (&self.events[a], &self.events[b]);
                if self.later(a, b) && sto(x.stamp, x.on(), y.stamp, y.on()) {
                    hb.add(a, b);
                    if base(a) && base(b) {
                        ib.add(a, b);
                    }
                }
                if base(a) && base(b) && self.later(a, b) {
                    let more = match (x.stamp, y.stamp) {
                        ("aCW", "aCR" | "aWT") => true,
                        ("aNRW" | "aNLW", "aRF") => x.on() == y.on(),
                        _ => false,
                    };
                    let waits = y.stamp == "aWT" && x.id.is_some() && x.id == y.id;
                    let pfg = waits && x.stamp == "aNLW";
                    if more || pfg || waits && x.stamp == "aNRW" {
                        ib.add(a, b);
                    }
                    if pfg {
                        hb.add(a, b);
                    }
                }
                if x.call == y.call && x.call > 0 && self.is_iso(x, y) {
                    hb.add(a, b);
                    if base(a) {
                        ib.add(a, b);
                    }
                }
            }
        }
        let mut rb = Vec::new();
        for order in chosen.mo.values() {
            for (position, write) in order.iter().enumerate() {
                for later in &order[position + 1..] {
                    hb.add(*write, *later);
                    let readers = rf.iter().filter(|(read, from)| *from == write && *read != later);
                    rb.extend(readers.map(|(read, _)| (*read, *later)));
                }
            }
        }
        for (a, b) in rb {
            hb.add(a, b);
            let (x, y) = (&self.events[a], &self.events[b]);
            let internal = x.stamp == "aCR" && y.stamp == "aCW" && x.thread == y.thread;
            if internal && x.library == "SV" && self.later(b, a) {
                return;
            }
            if internal && base(a) && base(b) {
                ib.add(a, b);
            }
        }
        for (read, write) in rf {
            let (x, y) = (&self.events[*write], &self.events[*read]);
            let store_buffer = x.stamp == "aCW" && y.stamp == "aCR" && self.later(*write, *read);
            if base(*read) {
                ib.add(*write, *read);
            }
            // A store buffer is passed in RDMA^WAIT and SV; RBL and SC export all of rf.
            if !(store_buffer && matches!(x.library, "base" | "SV")) {
                hb.add(*write, *read);
            }
        }
        for (a, b) in &chosen.nfo {
            hb.add(*a, *b);
            ib.add(*a, *b);
        }
        self.sequences(chosen, &mut hb);
        self.libraries(rf, &mut hb);
        ib.close();
        if ib.is_cyclic() {
            return;
        }
        for a in (0..count).filter(|event| base(*event)) {
            let instant = !matches!(self.events[a].stamp, "aCW" | "aNLW" | "aNRW" | "init");
            for b in (0..count).filter(|b| instant && ib.has(a, *b)) {
                hb.add(a, b);
            }
        }
        hb.close();
        if !hb.is_cyclic() {
            all.insert(self.outcome(test, rf, chosen));
        }
    }

    fn is_iso(&self, x: &Event, y: &Event) -> bool {
        let pair = (x.stamp, y.stamp);
        match x.library {
            "base" => matches!(
                pair,
                ("aMF", "aCR")
                    | ("aNRR", "aNLW")
                    | ("aNLR", "aNRW")
                    | ("aNAR", "aNLW")
                    | ("aNAR", "aNRW")
            ),
            "SV" => pair == ("aNLR", "aNRW") && x.node == y.node,
            "NLOCK" => pair == ("aRF", "aNRW"),
            _ => false,
        }
    }

    /// lo and rao.
    fn sequences(&self, chosen: &Chosen<'_>, hb: &mut Matrix) {
        for order in &chosen.sequences {
            for (position, first) in order.iter().enumerate() {
                for later in &order[position + 1..] {
                    let event = &self.events[*first];
                    if event.stamp == "aNAR" {
                        hb.add(*first, *later);
                        let writes = (0..self.events.len()).filter(|write| {
                            let write = &self.events[*write];
                            write.call == event.call && write.stamp == "aNRW"
                        });
                        writes.for_each(|write| hb.add(write, *later));
                        continue;
                    }
                    // The release of the acquisition: the next call of the thread on the lock.
                    let calls = self.events.iter().filter(|release| {
                        release.thread == event.thread
                            && release.object == event.object
                            && release.call > event.call
                    });
                    let Some(release) = calls.map(|release| release.call).min() else { continue };
                    for index in 0..self.events.len() {
                        let part = &self.events[index];
                        let exported = match part.library {
                            "WLOCK" => "aCW",
                            "SLOCK" => "aGF",
                            _ => "aNRW",
                        };
                        if part.call == release && part.stamp == exported {
                            hb.add(index, *later);
                        }
                    }
                }
            }
        }
    }

    /// What SV, BAL, RBL and SC export besides rf, rb and mo.
    fn libraries(&self, rf: &BTreeMap<usize, usize>, hb: &mut Matrix) {
        for a in 0..self.events.len() {
            for b in 0..self.events.len() {
                let (x, y) = (&self.events[a], &self.events[b]);
                if x.call == 0 || y.call == 0 || x.library != y.library {
                    continue;
                }
                let exported = match x.library {
                    "SV" => {
                        x.stamp == "aNLR"
                            && y.stamp == "aWT"
                            && x.id.is_some()
                            && x.id == y.id
                            && self.later(a, b)
                    }
                    "BAL" => {
                        x.object == y.object
                            && x.rank == y.rank
                            && x.stamp == "aGF"
                            && y.stamp == "aCR"
                    }
                    "RBL" => {
                        let failed = x.stamp == "aWT" && x.loc.is_some() && x.loc == y.loc;
                        let received =
                            rf.iter().any(|(read, write)| *write == b && self.later(*read, a));
                        failed && y.writes.is_some() && !received
                    }
                    "SC" => self.later(a, b),
                    _ => false,
                };
                if exported {
                    hb.add(a, b);
                }
            }
        }
    }

    fn outcome(&self, test: &Test, rf: &BTreeMap<usize, usize>, chosen: &Chosen<'_>) -> Vec<Value> {
        let last = |loc: &Loc| {
            let write = chosen.mo.get(loc).and_then(|order| order.last());
            let source = write.and_then(|write| self.events[*write].writes.as_ref());
            source.and_then(|source| self.value(source, rf, 0)).unwrap_or(0)
        };
        let values = test.observables.iter().map(|observable| match observable.what {
            Observed::Register(register) => {
                let source = self.registers.get(&register.0);
                source.and_then(|source| self.value(source, rf, 0)).unwrap_or(0)
            }
            Observed::Location(location) => last(&Loc::Plain(location.0)),
            Observed::Copy(object, node) => {
                let object = &test.program.objects[object];
                let node = if object.class == "SC" { 0 } else { node.0 };
                last(&Loc::Object(object.name.clone(), node))
            }
        });
        values.map(Value::of_word).collect()
    }
}
