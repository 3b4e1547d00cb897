//! Clients that are the same but for where threads are: nothing tells them apart, and none is lost.

use lang::library::Library;
use lang::source::Source;
use model::allowed::Options;
use model::library;
use model::refine::{Answer, Bounds, Client, MOST, Op, Refinement, Symmetry, Wrong, clients};

use super::{SMALL, file, load, shipped};

const PLACES: Bounds = Bounds { symmetry: Symmetry::Places, ..SMALL };

fn refinement(name: &str) -> Refinement {
    of_library(&if name.contains('/') { file(name) } else { shipped(name) })
}

fn of_library(library: &Library) -> Refinement {
    let base = load("rdma-wait-rmw").expect("it is shipped");
    Refinement::new(library::shipped(), library, None, &base, load).expect("it can be checked")
}

/// What an answer says, but for names.
fn said(refinement: &Refinement, client: &Client) -> (&'static str, usize, Option<Wrong>) {
    let options = Options { loop_bound: Some(2), ..Options::default() };
    match refinement.check(client, &options).expect("the library is right") {
        Answer::Holds { outcomes, .. } => ("holds", outcomes, None),
        Answer::Nothing => ("nothing", 0, None),
        Answer::IllFormed => ("ill-formed", 0, None),
        Answer::Unknown(_) => ("unknown", 0, None),
        Answer::Refuted(found) => ("refuted", 0, Some(found.wrong)),
    }
}

/// The node of a location that the NIC reaches, or else of the threads whose CPUs do; `None` if these are on
/// several.
fn home(client: &Client, nodes: &[u32], location: usize) -> Option<u32> {
    let mut home = None;
    for ((_, ops), node) in client.threads.iter().zip(nodes) {
        for op in ops {
            let here = match op {
                Op::Put(of, _) | Op::Get(of) if *of == location => client.homes[location],
                Op::Write(of, _) | Op::Read(of) if *of == location => *node,
                _ => continue,
            };
            if *home.get_or_insert(here) != here {
                return None;
            }
        }
    }
    home.or(Some(client.homes[location]))
}

/// The client with its threads elsewhere, in every way that its statements allow.
fn elsewhere(client: &Client) -> Vec<Client> {
    let mut all = Vec::new();
    for one in 1..=client.nodes {
        for other in 1..=client.nodes {
            let nodes = [one, other];
            let homes = 0..client.homes.len();
            let Some(homes) = homes.map(|location| home(client, &nodes, location)).collect() else {
                continue;
            };
            let mut moved = Client { homes, ..client.clone() };
            let threads = moved.threads.iter_mut().zip(nodes);
            threads.for_each(|(thread, node)| thread.0 = node);
            all.push(moved);
        }
    }
    all
}

#[test]
fn where_threads_are_shows_in_nothing() {
    let mut compared = 0;
    for name in ["sc", "nlock", "broken/nlock-no-rfence.lib", "broken/nlock-no-lock.lib"] {
        let refinement = refinement(name);
        assert_eq!(refinement.symmetry(), Symmetry::Places, "{name}");
        let calls = if refinement.library().name == "nlock" { 2 } else { 1 };
        let bounds = Bounds { calls, size: 2 + calls, ..PLACES };
        for client in clients(refinement.library(), &[bounds], MOST).expect("there are few") {
            let expected = said(&refinement, &client);
            for moved in elsewhere(&client) {
                assert_eq!(said(&refinement, &moved), expected, "{name}: {client:?}, {moved:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}

/// What goes to nodes of threads, or to all nodes, shows where threads are.
#[test]
fn libraries_that_name_nodes_are_told_apart() {
    let places = ["sc", "nlock"];
    for (name, _) in
        library::SHIPPED.iter().filter(|(name, _)| shipped(name).implementation.is_some())
    {
        let is_free = refinement(name).symmetry() == Symmetry::Places;
        assert_eq!(is_free, places.contains(name), "{name}");
    }
}

/// A library that passes, with places for what does not.
const CELL: &str = "\
library cell
class Cell
memory Cell.word at home = x.initial
call Set(Cell x, value v) CALLERS { aMF writes v to x.word }
call Get(Cell x) returns r { EVENT }
consistency {
  exists mo total on W * W & loc extends IW * (W \\ IW) & loc
  let so = 0
}
implementation over rdma-wait-rmw {
  memory Cell.word at home = x.initial
  memory Cell.source per thread
  memory Cell.result per thread
  MEMORY
  call Set(Cell x, value v) {
    SET
    x.source[me] := v
    ~x.word :=^d x.source[me]
    Wait(d)
  }
  call Get(Cell x) {
    x.result[me] :=^d ~x.word
    Wait(d)
    r := x.result[me]
    GET
    return r
  }
}
";

fn cell(place: &str, text: &str) -> Library {
    let mut library = CELL.replace(place, text);
    for (place, nothing) in [
        ("CALLERS", ""),
        ("EVENT", "aMF reads r from x.word"),
        ("MEMORY", ""),
        ("SET", ""),
        ("GET", ""),
    ] {
        library = library.replace(place, nothing);
    }
    let source = Source::new("cell.lib", library.as_str());
    library::load(&source).unwrap_or_else(|errors| {
        panic!("{}", errors.iter().map(|(s, e)| e.render(s, false)).collect::<String>())
    })
}

#[test]
fn each_rule_tells_places_apart() {
    let independent = [
        ("GET", "if r = 77 { r := 1 }"),
        ("GET", "Rfence(x.home)"),
        ("MEMORY", "local sent per id"),
        ("MEMORY", "object Cell.lock : NLock at home"),
        ("CALLERS", "by x.writer"),
    ];
    let dependent = [
        ("EVENT", "aMF reads r from x.word; aGF(1)"),
        ("CALLERS", "by x.threads"),
        ("MEMORY", "memory Cell.all on each node"),
        ("MEMORY", "memory Cell.place at home = x.home"),
        ("MEMORY", "memory once"),
        ("MEMORY", "local sent per node"),
        ("MEMORY", "object Cell.lock : NLock per thread"),
        ("MEMORY", "object Cell.lock : SLock at home"),
        ("MEMORY", "service Cell s on each node { skip }"),
        ("SET", "x.source[me] := x.home"),
        ("SET", "v := v + me"),
        ("SET", "Rfence(2)"),
        ("SET", "Flush(2)"),
        ("SET", "x.source[me] := x.word"),
        ("SET", "GFence(all)"),
        ("GET", "if x.home = 2 { r := 77 }"),
        ("GET", "if x.writer = 2 { r := 77 }"),
        ("GET", "if me = 2 { r := 77 }"),
        ("GET", "r := r + x.home"),
        ("GET", "for t in threads { r := 77 }"),
        ("GET", "for n in nodes(threads) { r := 77 }"),
        ("GET", "for i in 0 .. x.home { r := 77 }"),
        ("GET", "for i in 0 .. count(threads) { r := 77 }"),
        ("GET", "r := pack(x.home)"),
        ("GET", "x.result[me] :=^e ~x.source[x.writer]"),
        ("GET", "r := x.source[x.writer]"),
    ];
    let of = |(place, text): &(&str, &str)| of_library(&cell(place, text)).symmetry();
    for case in &independent {
        assert_eq!(of(case), Symmetry::Places, "{case:?}");
    }
    for case in &dependent {
        assert_eq!(of(case), Symmetry::Names, "{case:?}");
    }
}
