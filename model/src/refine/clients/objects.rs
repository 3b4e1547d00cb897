//! The objects that clients have.

use lang::library::Library;

use super::super::bounds::{Bounds, has_sizes, has_words};
use super::ObjectText;

/// The sets of objects: a number of each class, each with every node, writer and size that the library's text
/// mentions.
pub fn object_sets(library: &Library, bounds: &Bounds, nodes: &[u32]) -> Vec<Vec<ObjectText>> {
    let attributes = library.attributes();
    let homes: Vec<Option<u32>> = match attributes.contains("home") {
        true => (1..=bounds.nodes).map(Some).collect(),
        false => vec![None],
    };
    let writers: Vec<Option<usize>> = match attributes.contains("writer") {
        true => (0..nodes.len()).map(Some).collect(),
        false => vec![None],
    };
    let sizes: Vec<Option<u64>> = match () {
        () if has_words(library) => vec![Some(2)],
        () if has_sizes(library) => (1..=bounds.sizes).map(Some).collect(),
        () => vec![None],
    };
    let mut all: Vec<Vec<ObjectText>> = vec![Vec::new()];
    for class in library.classes.iter().flat_map(|class| vec![class; bounds.objects_of(library)]) {
        let mut extended = Vec::new();
        for known in &all {
            let initial = if bounds.initial { FIRST_INITIAL + known.len() as u64 } else { 0 };
            for (home, writer, size) in triples(&homes, &writers, &sizes) {
                let object = ObjectText { class: class.clone(), home, writer, size, initial };
                extended.push([known.as_slice(), &[object]].concat());
            }
        }
        all = extended;
    }
    all
}

/// No statement of a client writes it.
const FIRST_INITIAL: u64 = 90;

type Triple = (Option<u32>, Option<usize>, Option<u64>);

fn triples(a: &[Option<u32>], b: &[Option<usize>], c: &[Option<u64>]) -> Vec<Triple> {
    let mut all = Vec::new();
    for first in a {
        for second in b {
            all.extend(c.iter().map(|third| (*first, *second, *third)));
        }
    }
    all
}
