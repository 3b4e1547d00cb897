; What the parts of programs look like.
(comment) @comment
(string) @string
(number) @number
(constant) @constant.builtin
(keyword) @keyword
["litmus" "model" "tags" "source" "dialect" "bound" "loops" "crash"] @keyword
(test_name) @title
(label) @tag
(rule) @punctuation.special
(column) @punctuation.special
(call function: (name) @function)
(name) @variable
((name) @function
  (#any-of? @function "Mfence" "Poll" "Wait" "Rfence" "GFence" "GF"))
(assignment) @operator
(work_id) @label
(library) @type
(node) @attribute
(operator) @operator
(allowed) @diff.plus
(forbidden) @diff.minus
(question) @diff.delta
["(" ")" "{" "}" "[" "]"] @punctuation.bracket
["," ";" ":" "."] @punctuation.delimiter
