//! The names and values that a shape leaves open.

use lang::program::array_of;

use super::draft::Shown;
use super::shape::{Arrays, Location, Shape, Thread};
use super::step::Step;

/// The names and values that a shape leaves open.
#[derive(Clone, Debug)]
pub struct Naming {
    /// The name of each location, such as `x`, or `x[1]` for a word of an array.
    pub places: Vec<String>,
    /// For each location, whether it is only the target of one remote operation. Such locations are not
    /// declared.
    pub fresh: Vec<bool>,
    /// For each thread and step, the name of the register that it assigns, if any.
    pub registers: Vec<Vec<Option<String>>>,
    /// For each thread and step, the work id, if some wait uses it.
    pub ids: Vec<Vec<Option<String>>>,
    /// For each thread and step, the value that it writes or adds, or 0.
    pub values: Vec<Vec<u64>>,
    /// A value that no location ever holds, unless copies are added up.
    pub never: u64,
}

const PLACES: [&str; 12] = ["x", "y", "z", "w", "u", "v", "s", "t", "p", "q", "r", "o"];
pub(super) const RESULTS: [&str; 12] =
    ["a", "b", "c", "h", "i", "j", "k", "l", "m", "n", "aa", "bb"];
const IDS: [&str; 4] = ["d", "e", "f", "g"];

/// The name of a place, register or id. After the last name of the list, names get numbers: `x1`.
pub(super) fn pick(names: &[&str], index: usize) -> String {
    match names.get(index) {
        Some(name) => (*name).to_owned(),
        None => format!("{}{}", names[index % names.len()], index / names.len()),
    }
}

impl Naming {
    /// The names and values of a shape.
    pub fn new(shape: &Shape) -> Self {
        let count = shape.homes.len();
        let mut accesses = vec![0; count];
        let mut is_result = vec![false; count];
        // How many values were written to each location, to each array, or, if messages go to any, to all.
        let mut writes = vec![0_u32; count.max(1)];
        for (thread, step, access) in shape.accesses() {
            accesses[usize::from(access.place)] += 1;
            is_result[usize::from(access.place)] = matches!(
                shape.threads[thread].body[step],
                Step::Get { into, .. } | Step::Rcas { into, .. } | Step::Rfaa { into, .. }
                    if into == access.place
            );
        }
        let fresh: Vec<bool> = (0..count).map(|at| accesses[at] == 1 && is_result[at]).collect();
        let mut naming = Self {
            places: vec![String::new(); count],
            fresh,
            registers: Vec::new(),
            ids: Vec::new(),
            values: Vec::new(),
            never: 8,
        };
        let (arrays, has_messages) = (shape.arrays(), shape.has_messages());
        naming.declare(&arrays);
        let slot = |at: Location| match has_messages {
            true => 0,
            false => usize::from(arrays.of(at).map_or(at, |(first, _)| first)),
        };
        let (mut results, mut ids) = (0, 0);
        for thread in &shape.threads {
            let (registers, values) = naming.thread(thread, &mut results, &slot, &mut writes);
            let awaited = |at: usize| thread.body.contains(&Step::Await { step: at as u8 });
            let mut id = |at: usize| {
                ids += usize::from(awaited(at));
                awaited(at).then(|| pick(&IDS, ids - 1))
            };
            naming.ids.push((0..thread.body.len()).map(&mut id).collect());
            naming.registers.push(registers);
            naming.values.push(values);
        }
        let most = writes.into_iter().max().unwrap_or(0);
        naming.never = 8.max(1_u64.checked_shl(most).unwrap_or(u64::MAX - 1));
        naming
    }

    /// Names what is declared: locations, and the words of arrays.
    fn declare(&mut self, arrays: &Arrays) {
        let mut number = 0;
        for at in 0..self.places.len() {
            let place = at as Location;
            let array = arrays.of(place);
            self.fresh[at] &= array.is_none();
            if self.fresh[at] {
                continue;
            }
            let word = place - array.map_or(place, |(first, _)| first);
            number += usize::from(word == 0);
            let name = pick(&PLACES, number - 1);
            self.places[at] = if array.is_some() { format!("{name}[{word}]") } else { name };
        }
    }

    /// The name of the array that a location is a word of.
    pub(super) fn array(&self, word: Location) -> &str {
        array_of(&self.places[usize::from(word)]).map_or("", |(name, _)| name)
    }

    /// The name of what shows a value.
    pub fn name(&self, shown: Shown) -> Option<&str> {
        let name = match shown {
            Shown::Step(thread, step) => self.registers.get(thread)?.get(step)?.as_ref(),
            Shown::Location(place) => self.places.get(usize::from(place)),
        };
        name.map(String::as_str)
    }

    /// What shows its value under a name.
    pub fn shown(&self, name: &str) -> Option<Shown> {
        let is_it = |known: &Option<String>| known.as_deref() == Some(name);
        let mut threads = self.registers.iter().enumerate();
        let step = threads.find_map(|(thread, registers)| {
            Some(Shown::Step(thread, registers.iter().position(is_it)?))
        });
        let place = || self.places.iter().position(|known| known == name);
        step.or_else(|| Some(Shown::Location(place()? as u8)))
    }

    fn thread(
        &mut self,
        thread: &Thread,
        results: &mut usize,
        slot: &impl Fn(Location) -> usize,
        writes: &mut [u32],
    ) -> (Vec<Option<String>>, Vec<u64>) {
        let mut result = || {
            *results += 1;
            pick(&RESULTS, *results - 1)
        };
        let mut registers = Vec::new();
        let mut values = Vec::new();
        for step in &thread.body {
            registers.push(step.assigns().then(&mut result));
            for access in step.accesses() {
                let at = usize::from(access.place);
                if self.fresh[at] {
                    self.places[at] = result();
                }
            }
            let written = match *step {
                Step::Write { at }
                | Step::Cas { at, hits: true }
                | Step::Faa { at }
                | Step::PutValue { to: at }
                | Step::AtomicWrite { to: at }
                | Step::Rcas { at, hits: true, .. }
                | Step::Rfaa { at, .. }
                | Step::PutAt { to: at, .. } => Some(&mut writes[slot(at)]),
                Step::Send { .. } => Some(&mut writes[0]),
                Step::Put { to: at, .. } if thread.post(registers.len() - 1).immediate => {
                    Some(&mut writes[slot(at)])
                }
                _ => None,
            };
            // Values are powers of two, so that their sums differ too.
            values.push(written.map_or(0, |count| {
                *count += 1;
                1_u64.checked_shl(*count - 1).unwrap_or(u64::MAX)
            }));
        }
        (registers, values)
    }
}
