/// <reference types="tree-sitter-cli/dsl" />
// Programs of litmus, for editors. A row is what its cells are, one after the other: a block goes on in the
// same column of the next row, so braces are not nested here. `litmus lsp` knows what everything means.

const NAME = /[A-Za-zāēīōūȳḡ_][A-Za-z0-9āēīōūȳḡ_'′₀₁₂₃₄₅₆₇₈₉]*[\u0304\u0305¯‾]?/;
const PLACE = /\^\{?[nNpPtT]?_?[0-9]+\}?/;

module.exports = grammar({
  name: "litmus",

  extras: ($) => [/[ \t\r]/, $.comment],
  word: ($) => $.name,

  rules: {
    source_file: ($) => seq(repeat(seq(optional($._line), "\n")), optional($._line)),

    _line: ($) => choice($.title, $.header, $.rule, $.row),

    title: ($) => seq("litmus", field("name", $.test_name)),
    test_name: () => /[^\s"]+/,

    header: ($) =>
      choice(
        seq("model", repeat1(choice($.label, $.string, ","))),
        seq("tags", repeat1(choice($.label, ","))),
        seq("source", $.string),
        seq("dialect", $.label),
        seq("bound", "loops", "=", $.number),
        "crash",
        $.string,
      ),
    label: () => /[A-Za-z0-9_][A-Za-z0-9_.\/+-]*/,
    string: () => /"([^"\\\n]|\\.)*"/,

    rule: () => token(prec(1, /[-─—–━]{3}[-─—–━ |‖+]*/)),

    row: ($) => prec.right(repeat1($._item)),

    _item: ($) =>
      choice(
        $.column,
        $.keyword,
        $.call,
        $.assignment,
        $.group,
        $.name,
        $.node,
        $.number,
        $.constant,
        $.allowed,
        $.forbidden,
        $.question,
        $.operator,
        $._punctuation,
      ),

    column: () => choice("||", "|", "‖"),

    keyword: () =>
      choice(
        "if", "else", "while", "loop", "break", "skip", "assume", "inline", "unsignaled", "thread",
        "not", "and", "or", "exists", "forall", "exactly", "for", "observe", "in", "size",
      ),

    call: ($) => prec(1, seq(field("function", $.name), field("arguments", $.group))),

    // Outcomes may go over several lines.
    group: ($) => seq("(", repeat(choice($._item, "\n")), ")"),

    // `:=`, `:=^d`, `:=SV`
    assignment: ($) =>
      prec.right(seq(choice(":=", "≔"), optional(choice($.work_id, $.library)))),
    work_id: () => token.immediate(/\^(\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*)|[ᵃᵇᶜᵈᵉᶠᵍ]/),
    library: () => token.immediate(/_?\{?[A-Z][A-Za-z]*\}?/),

    node: () => choice(token(PLACE), token(/[⁰¹²³⁴⁵⁶⁷⁸⁹]+/), token(/@[ \t]*[nNpPtT]?_?[0-9]+/)),
    name: () => NAME,
    number: () => /0x[0-9A-Fa-f]+|[0-9]+/,
    constant: () => choice("true", "false", "undefined", "⊥", "⊤", "\\bot", "\\top"),

    allowed: () => choice("✓", "✔", "√", "☑", "✅", "\\checkmark", "\\cmark", "allowed"),
    forbidden: () => choice("✗", "✘", "×", "✕", "✖", "❌", "☒", "\\times", "\\xmark", "forbidden"),
    question: () => "?",

    operator: () =>
      choice(
        "=", "==", "≠", "!=", "<>", "<", ">", "<=", ">=", "≤", "≥", "+", "-", "*", "%", "~", "¬", "!",
        "∧", "∨", "/\\", "\\/", "&&", "∈", "->", "→", "/", "\\land", "\\lor", "\\neg", "\\in",
        "\\neq", "\\ne", "\\leq", "\\le", "\\geq", "\\ge",
      ),

    _punctuation: () => choice("{", "}", "[", "]", ",", ";", ":", "."),

    comment: () =>
      token(
        choice(
          seq("//", /[^\n]*/),
          seq("#", /[^\n]*/),
          seq("(*", /[^*]*\*+([^)*][^*]*\*+)*/, ")"),
          seq("/*", /[^*]*\*+([^/*][^*]*\*+)*/, "/"),
        ),
      ),
  },
});
