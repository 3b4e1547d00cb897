//! The codes of all diagnostics, of every crate. docs/diagnostics.md explains each and has an example.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

macro_rules! codes {
    ($($code:ident $name:literal,)*) => {
        /// What kind of problem a diagnostic tells. `litmus explain-code` explains each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "docs/diagnostics.md explains each")]
        pub enum Code {
            $($code,)*
        }

        impl Code {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$code,)*];

            /// The stable name that users see, such as `wrong-home-node`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$code => $name,)*
                }
            }
        }
    };
}

// In the order of their names: diagnostics of one place are sorted by it.
codes! {
    AlreadyHeld "already-held",
    BackendFailed "backend-failed",
    BadCharacter "bad-character",
    BadLoopBound "bad-loop-bound",
    BadModelFile "bad-model-file",
    BadSize "bad-size",
    BreakOutsideLoop "break-outside-loop",
    CannotInline "cannot-inline",
    CannotReplace "cannot-replace",
    CannotSplit "cannot-split",
    ChangedPart "changed-part",
    ChoiceInTotalOn "choice-in-total-on",
    ConflictingParts "conflicting-parts",
    CyclicReplacement "cyclic-replacement",
    DeclaredTwice "declared-twice",
    DifferentParameters "different-parameters",
    DuplicateAxiom "duplicate-axiom",
    DuplicateDefinition "duplicate-definition",
    DuplicateHardware "duplicate-hardware",
    DuplicateHead "duplicate-head",
    DuplicateLetter "duplicate-letter",
    DuplicateMachine "duplicate-machine",
    DuplicateParameter "duplicate-parameter",
    EmptyFile "empty-file",
    EndlessLoop "endless-loop",
    EngineUnsound "engine-unsound",
    EnginesDisagree "engines-disagree",
    FenceOfOneQueuePair "fence-of-one-queue-pair",
    FileTooLarge "file-too-large",
    GetTargetRemote "get-target-remote",
    HerdFile "herd-file",
    HerdSyntax "herd-syntax",
    HerdUnsupported "herd-unsupported",
    IdleWrites "idle-writes",
    IncludeCycle "include-cycle",
    IndexOutOfRange "index-out-of-range",
    InlineNotPut "inline-not-put",
    InternalError "internal-error",
    InvisibleCharacter "invisible-character",
    LibraryNotUsable "library-not-usable",
    LimitReached "limit-reached",
    MalformedProgram "malformed-program",
    MayNotEnd "may-not-end",
    MeaninglessOption "meaningless-option",
    MissingArguments "missing-arguments",
    MissingBody "missing-body",
    MissingName "missing-name",
    MissingNode "missing-node",
    MissingNodeMark "missing-node-mark",
    MissingParts "missing-parts",
    MissingReturn "missing-return",
    MissingRule "missing-rule",
    MissingSo "missing-so",
    MissingVerdict "missing-verdict",
    ModelNotUsable "model-not-usable",
    NameDiffersFromFile "name-differs-from-file",
    NameInTwoThreads "name-in-two-threads",
    NestingTooDeep "nesting-too-deep",
    NeverReleased "never-released",
    NoAxioms "no-axioms",
    NoBackend "no-backend",
    NoCalls "no-calls",
    NoDevice "no-device",
    NoEvent "no-event",
    NoFiles "no-files",
    NoMo "no-mo",
    NoModificationOrder "no-modification-order",
    NoOutcome "no-outcome",
    NoSuchNode "no-such-node",
    NoSuchQueuePair "no-such-queue-pair",
    NoSuchThread "no-such-thread",
    NoTestMatches "no-test-matches",
    NotAFunction "not-a-function",
    NotALocation "not-a-location",
    NotAPart "not-a-part",
    NotAParticipant "not-a-participant",
    NotForHerd "not-for-herd",
    NotHeld "not-held",
    NotInThisLanguage "not-in-this-language",
    NotMonotone "not-monotone",
    NotObservable "not-observable",
    NotSequential "not-sequential",
    NotUtf8 "not-utf8",
    NotWithCrash "not-with-crash",
    ObjectInExpression "object-in-expression",
    OtherPart "other-part",
    OtherWhole "other-whole",
    PollWithoutOperation "poll-without-operation",
    PutSourceRemote "put-source-remote",
    ReceiveInBlock "receive-in-block",
    ReceiveInTwoThreads "receive-in-two-threads",
    ReceiveIntoRemote "receive-into-remote",
    RecordDiffers "record-differs",
    RecordExists "record-exists",
    RecursiveImplementation "recursive-implementation",
    RegisterOfAnotherThread "register-of-another-thread",
    RemoteCpuAccess "remote-cpu-access",
    RemoteInExpression "remote-in-expression",
    RemoteToRemote "remote-to-remote",
    RepeatedHeader "repeated-header",
    ResultRemote "result-remote",
    ReturnNotLast "return-not-last",
    SecondRule "second-rule",
    SendWithoutReceive "send-without-receive",
    SetWithoutEffect "set-without-effect",
    SeveralRepairs "several-repairs",
    Syntax "syntax",
    TableShape "table-shape",
    ThreadNumber "thread-number",
    TooDeep "too-deep",
    TooLarge "too-large",
    TooManyThreads "too-many-threads",
    TooMuchMemory "too-much-memory",
    TupleLength "tuple-length",
    TupleOrder "tuple-order",
    TwoSpecifications "two-specifications",
    TwoWorkIds "two-work-ids",
    UnbalancedBraces "unbalanced-braces",
    UnclosedComment "unclosed-comment",
    UnclosedString "unclosed-string",
    UndeclaredName "undeclared-name",
    UndefinedCall "undefined-call",
    UndefinedQueuePair "undefined-queue-pair",
    UnequalCalls "unequal-calls",
    UnexpectedCall "unexpected-call",
    UnexpectedQueuePair "unexpected-queue-pair",
    UnexpectedTuple "unexpected-tuple",
    UnknownArchitecture "unknown-architecture",
    UnknownAxiom "unknown-axiom",
    UnknownCall "unknown-call",
    UnknownCell "unknown-cell",
    UnknownClass "unknown-class",
    UnknownDevice "unknown-device",
    UnknownDialect "unknown-dialect",
    UnknownHeaderKeyword "unknown-header-keyword",
    UnknownLetter "unknown-letter",
    UnknownLibrary "unknown-library",
    UnknownMemory "unknown-memory",
    UnknownMethod "unknown-method",
    UnknownModel "unknown-model",
    UnknownName "unknown-name",
    UnknownRegister "unknown-register",
    UnknownStamp "unknown-stamp",
    UnknownStatement "unknown-statement",
    UnknownTable "unknown-table",
    UnlistedModel "unlisted-model",
    Unreachable "unreachable",
    UnreadableFile "unreadable-file",
    UnreadableInclude "unreadable-include",
    UnsignaledNotRequest "unsignaled-not-request",
    UnsignaledWithId "unsignaled-with-id",
    UnsignedComparison "unsigned-comparison",
    UnsupportedStatement "unsupported-statement",
    UnterminatedComment "unterminated-comment",
    UnusableModelFile "unusable-model-file",
    UnusablePart "unusable-part",
    UnusableRecord "unusable-record",
    UnusedDefinition "unused-definition",
    UnusedLocation "unused-location",
    UnwritableFile "unwritable-file",
    UsedBeforeDefinition "used-before-definition",
    ValueTooLarge "value-too-large",
    WaitWithoutOperation "wait-without-operation",
    WordTooLarge "word-too-large",
    WorkIdOnLocal "work-id-on-local",
    WrongArgumentCount "wrong-argument-count",
    WrongArguments "wrong-arguments",
    WrongBody "wrong-body",
    WrongColumns "wrong-columns",
    WrongHomeNode "wrong-home-node",
    WrongInitialValues "wrong-initial-values",
    WrongObjectClass "wrong-object-class",
    WrongStamp "wrong-stamp",
    WrongThread "wrong-thread",
    WrongType "wrong-type",
    WrongWords "wrong-words",
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Code {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.iter().find(|code| code.name() == name).copied().ok_or(())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn names_are_in_order_and_read_again() {
        assert!(Code::ALL.is_sorted_by(|one, next| one.name() < next.name()));
        for code in Code::ALL {
            assert_eq!(code.name().parse(), Ok(*code));
        }
        assert_eq!("no-code".parse::<Code>(), Err(()));
    }
}
