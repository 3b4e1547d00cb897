//! Names and texts that herd takes.

use std::collections::BTreeSet;

use super::super::lower;
use super::super::registers::{self, Architecture};
use crate::program::Program;

/// Words of herd's instructions for X86_64, without endings for sizes (`lib/X86_64Lexer.mll`).
const INSTRUCTIONS: [&str; 37] = [
    "add",
    "and",
    "clflush",
    "clflushopt",
    "cmovc",
    "cmp",
    "cmpxchg",
    "dec",
    "endbr64",
    "inc",
    "je",
    "jge",
    "jgt",
    "jle",
    "jlt",
    "jmp",
    "jne",
    "jns",
    "js",
    "lfence",
    "lock",
    "mfence",
    "mov",
    "movd",
    "movntdqa",
    "movnti",
    "nop",
    "nopa",
    "or",
    "ret",
    "setnb",
    "sfence",
    "shl",
    "uxch",
    "xadd",
    "xchg",
    "xor",
];

/// Words of herd's initial states and conditions (`lib/stateLexer.mll`, `lib/splitter.mll`), and registers
/// that no program of ours uses.
const OTHERS: [&str; 44] = [
    "active",
    "affinity",
    "ah",
    "attrs",
    "bh",
    "cases",
    "cf",
    "ch",
    "cs",
    "dh",
    "enabled",
    "exists",
    "false",
    "fault",
    "filter",
    "final",
    "forall",
    "gicarg",
    "handling_mode",
    "intid",
    "locations",
    "not",
    "oa",
    "observed",
    "pa",
    "pac",
    "pacda",
    "pacdb",
    "pacia",
    "pacib",
    "parel1_t",
    "pending",
    "priority",
    "pte",
    "rip",
    "routing_mode",
    "sf",
    "ss",
    "sscap",
    "tag",
    "true",
    "ttd",
    "valid",
    "with",
];

/// The test's name, of the letters that herd's names have. Different names stay so: another letter becomes
/// `.uHEX.`, and so does a dot before a `u`.
pub fn test_name(name: &str) -> String {
    let mut out = String::new();
    for (at, letter) in name.char_indices() {
        let is_escape = name[at..].starts_with(".u");
        if !is_escape && (letter.is_ascii_alphanumeric() || "_/.-+[]".contains(letter)) {
            out.push(letter);
        } else {
            out += &format!(".u{:x}.", u32::from(letter));
        }
    }
    out
}

/// Names of locations, in order.
pub fn locations(program: &Program) -> Vec<String> {
    let kept = |name: &&String| is_free(name);
    let mut taken: BTreeSet<String> =
        program.locations.iter().map(|location| &location.name).filter(kept).cloned().collect();
    let rename = |name: &String| {
        if is_free(name) {
            return name.clone();
        }
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let numbers = (1usize..).map(|number| format!("v{number}_{plain}"));
        let mut candidates = std::iter::once(format!("v_{plain}")).chain(numbers);
        let free = candidates.find(|name| is_free(name) && !taken.contains(name));
        let name = free.unwrap_or_else(|| name.clone());
        taken.insert(name.clone());
        name
    };
    program.locations.iter().map(|location| &location.name).map(rename).collect()
}

/// Whether herd takes a word for the name of a location, and so does our reader.
fn is_free(name: &str) -> bool {
    let word = name.to_ascii_lowercase();
    let stem = word.strip_suffix(['b', 'w', 'l', 'q']).unwrap_or(&word);
    let is_thread =
        word.strip_prefix('p').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    let is_vector = word.strip_prefix("xmm").is_some_and(|rest| rest.parse::<u8>().is_ok());
    let is_word = |known: &[&str], word: &str| known.contains(&word);
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && lower::is_location_name(name)
        && registers::register(Architecture::X86_64, name).is_none()
        && !is_thread
        && !is_vector
        && ![word.as_str(), stem].iter().any(|word| is_word(&INSTRUCTIONS, word))
        && !is_word(&OTHERS, &word)
}

/// A text that ends neither a comment nor a quotation.
pub fn comment_text(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|letter| match letter {
            '"' => '\'',
            letter if letter.is_control() => ' ',
            letter => letter,
        })
        .collect();
    text.replace("(*", "( *").replace("*)", "* )")
}

/// The same above the initial state, which begins with the first brace.
pub fn header_text(text: &str) -> String {
    comment_text(text).replace('{', "(").replace('}', ")").replace("(*", "( *").replace("*)", "* )")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tests_stay_different() {
        assert_eq!(test_name("SB+w-r.x_2[1]"), "SB+w-r.x_2[1]");
        assert_eq!(test_name("a=b"), "a.u3d.b");
        assert_eq!(test_name("a.u3d.b"), "a.u2e.u3d.b");
        assert_eq!(test_name("α"), ".u3b1.");
    }

    #[test]
    fn words_of_herd_are_not_locations() {
        for name in ["x", "l", "m", "flag", "Px", "add_", "wall", "x_1"] {
            assert!(is_free(name), "{name}");
        }
        for name in [
            "eax", "R8", "cl", "ah", "mov", "MOVL", "lock", "exists", "x'", "ā", "P1", "xmm0",
            "P0_rax", "t0_1",
        ] {
            assert!(!is_free(name), "{name}");
        }
    }

    #[test]
    fn texts_end_no_comments() {
        assert_eq!(comment_text("a (* b *) \"c\" (*)"), "a ( * b * ) 'c' ( * )");
        assert_eq!(header_text("{*a*}"), "( *a* )");
    }
}
