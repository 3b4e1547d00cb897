//! The codes of the model language's diagnostics; docs/model-language.md explains each.

use crate::front::{BAD_CHARACTER, UNCLOSED_COMMENT, UNCLOSED_STRING};

macro_rules! codes {
    ($($name:ident $text:literal,)*) => {
        $(pub(super) const $name: &str = $text;)*
        /// All of them, in the order of the reference. Those of tokens come first.
        pub const CODES: &[&str] = &[BAD_CHARACTER, UNCLOSED_COMMENT, UNCLOSED_STRING, $($text),*];
    };
}
codes! {
    SYNTAX "syntax",
    NOT_IN_THIS_LANGUAGE "not-in-this-language",
    TOO_DEEP "too-deep",
    TOO_LARGE "too-large",
    UNREADABLE_INCLUDE "unreadable-include",
    INCLUDE_CYCLE "include-cycle",
    UNKNOWN_NAME "unknown-name",
    USED_BEFORE_DEFINITION "used-before-definition",
    DUPLICATE_DEFINITION "duplicate-definition",
    DUPLICATE_PARAMETER "duplicate-parameter",
    DUPLICATE_AXIOM "duplicate-axiom",
    DUPLICATE_MACHINE "duplicate-machine",
    DUPLICATE_HARDWARE "duplicate-hardware",
    WRONG_TYPE "wrong-type",
    NOT_A_FUNCTION "not-a-function",
    MISSING_ARGUMENTS "missing-arguments",
    WRONG_ARGUMENT_COUNT "wrong-argument-count",
    NOT_MONOTONE "not-monotone",
    CHOICE_IN_TOTAL_ON "choice-in-total-on",
    TABLE_SHAPE "table-shape",
    DUPLICATE_HEAD "duplicate-head",
    DUPLICATE_LETTER "duplicate-letter",
    UNKNOWN_LETTER "unknown-letter",
    UNKNOWN_CALL "unknown-call",
    UNKNOWN_AXIOM "unknown-axiom",
    UNKNOWN_TABLE "unknown-table",
    UNKNOWN_CELL "unknown-cell",
    CANNOT_REPLACE "cannot-replace",
    CYCLIC_REPLACEMENT "cyclic-replacement",
    SET_WITHOUT_EFFECT "set-without-effect",
    UNUSED_DEFINITION "unused-definition",
    NO_CALLS "no-calls",
    NO_AXIOMS "no-axioms",
    NO_MO "no-mo",
}
