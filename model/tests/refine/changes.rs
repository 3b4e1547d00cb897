//! What implementations lack, and what they do without.

use expect_test::expect_file;
use model::allowed::Options;
use model::library;
use model::refine::{Bounds, Changes, Changing, MOST, clients};

use super::{SMALL, file, load, shipped};

/// What the search for changes says of an implementation, for clients of up to these bounds.
fn changes(name: &str, other: Option<&str>, bounds: Bounds, weaken: bool) -> Changes {
    let own = other.filter(|_| name.is_empty()).map(file);
    let library = own.unwrap_or_else(|| shipped(name));
    let other = other.map(file);
    let base = load("rdma-wait-rmw").expect("it is shipped");
    let all = clients(&library, &[bounds], MOST).expect("there are few");
    let options = || Options { loop_bound: Some(2), ..Options::default() };
    let changing = Changing {
        libraries: library::shipped(),
        library: &library,
        implementation: other.as_ref().unwrap_or(&library),
        base: &base,
        load: &load,
        clients: &all,
        options: &options,
    };
    if weaken { changing.weaken() } else { changing.repair(1) }
}

/// All repairs by one addition of the broken implementations, within small bounds.
#[test]
fn broken_implementations_are_repaired() {
    let locks = Bounds { calls: 2, size: 8, ..SMALL };
    let barriers = Bounds { threads: 3, nodes: 3, size: 5, ..SMALL };
    let mut text = String::new();
    for (name, other, bounds) in [
        ("bal", "broken/bal-no-fence.lib", barriers),
        ("slock", "broken/slock-weak.lib", locks),
        ("nlock", "broken/nlock-no-rfence.lib", locks),
        ("sv", "broken/sv-gfence-no-wait.lib", SMALL),
        ("", "broken/flag-no-fence.lib", SMALL),
    ] {
        let found = changes(name, Some(other), bounds, false);
        assert!(!found.is_sound, "{other} is broken");
        text += &format!("{other}, {} additions\n", found.candidates);
        for set in &found.sets {
            text += &format!("  {}\n", set.changes.join("; "));
        }
        text.extend(found.open.iter().map(|why| format!("  not decided: {why}\n")));
    }
    expect_file!["repairs.txt"].assert_eq(&text);
}

/// What the shipped locks and barriers wait for, and the clients that show that they must.
#[test]
fn what_locks_wait_for_is_needed() {
    let mut text = String::new();
    for (name, bounds) in [
        ("nlock", Bounds { calls: 2, size: 8, ..SMALL }),
        ("slock", Bounds { calls: 2, size: 8, ..SMALL }),
        ("bal", Bounds { threads: 3, nodes: 3, size: 5, ..SMALL }),
    ] {
        let found = changes(name, None, bounds, true);
        assert!(found.is_sound, "{name} is sound");
        text += &format!("{name}, {} statements that wait or fence\n", found.candidates);
        for set in &found.sets {
            text += &format!("  may go: {}\n", set.changes.join("; "));
        }
        for needed in &found.needed {
            text += &format!("  needed: {}\n", needed.statements.join(", or "));
        }
        text.extend(found.open.iter().map(|why| format!("  not decided: {why}\n")));
    }
    expect_file!["needed.txt"].assert_eq(&text);
}
