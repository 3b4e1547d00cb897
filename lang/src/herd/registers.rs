//! The registers of x86, by all the names of their parts.

/// Which of herd's two formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// `X86`: Intel's order of operands, the target first.
    X86,
    /// `X86_64`: the order of AT&T, the target last.
    X86_64,
}

/// How wide an access is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// One or two: other accesses of the location would be of mixed size.
    Narrow,
    /// Four.
    Long,
    /// Eight.
    Quad,
}

/// A register: its full name, and the names of its lower four, two and one bytes.
type Row = [&'static str; 4];

const LEGACY: [Row; 8] = [
    ["rax", "eax", "ax", "al"],
    ["rbx", "ebx", "bx", "bl"],
    ["rcx", "ecx", "cx", "cl"],
    ["rdx", "edx", "dx", "dl"],
    ["rsi", "esi", "si", "sil"],
    ["rdi", "edi", "di", "dil"],
    ["rsp", "esp", "sp", "spl"],
    ["rbp", "ebp", "bp", "bpl"],
];

const NUMBERED: [Row; 8] = [
    ["r8", "r8d", "r8w", "r8b"],
    ["r9", "r9d", "r9w", "r9b"],
    ["r10", "r10d", "r10w", "r10b"],
    ["r11", "r11d", "r11w", "r11b"],
    ["r12", "r12d", "r12w", "r12b"],
    ["r13", "r13d", "r13w", "r13b"],
    ["r14", "r14d", "r14w", "r14b"],
    ["r15", "r15d", "r15w", "r15b"],
];

/// The register that a word names, as herd prints it, and the part of it.
pub fn register(architecture: Architecture, word: &str) -> Option<(String, Width)> {
    let word = word.strip_prefix('%').unwrap_or(word).to_ascii_lowercase();
    let find = |rows: &[Row; 8]| {
        rows.iter().find_map(|row| row.iter().position(|name| *name == word).map(|at| (*row, at)))
    };
    let (row, at) = find(&LEGACY).or_else(|| {
        let numbered = find(&NUMBERED);
        numbered.filter(|_| architecture == Architecture::X86_64)
    })?;
    let width = [Width::Quad, Width::Long, Width::Narrow, Width::Narrow][at];
    match architecture {
        Architecture::X86 if width == Width::Quad => None,
        Architecture::X86 => Some((row[1].to_ascii_uppercase(), width)),
        Architecture::X86_64 => Some((row[0].to_owned(), width)),
    }
}

/// All names that can be meant, for hints.
pub fn names(architecture: Architecture) -> Vec<&'static str> {
    match architecture {
        Architecture::X86 => LEGACY.iter().map(|row| row[1]).collect(),
        Architecture::X86_64 => {
            LEGACY.iter().chain(&NUMBERED).flat_map(|row| [row[0], row[1]]).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_registers() {
        let named = |name: &str, width| Some((name.to_owned(), width));
        assert_eq!(register(Architecture::X86, "eax"), named("EAX", Width::Long));
        assert_eq!(register(Architecture::X86, "RAX"), None);
        assert_eq!(register(Architecture::X86, "R8D"), None);
        assert_eq!(register(Architecture::X86_64, "%EAX"), named("rax", Width::Long));
        assert_eq!(register(Architecture::X86_64, "%r10"), named("r10", Width::Quad));
        assert_eq!(register(Architecture::X86_64, "sil"), named("rsi", Width::Narrow));
        assert_eq!(register(Architecture::X86_64, "%eaz"), None);
    }
}
