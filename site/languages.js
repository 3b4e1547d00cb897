// Colors of programs, models and libraries, for highlight.js, which mdBook has.
import { LIBRARY, LITMUS, MODEL } from "../playground/page/src/words.js";

function language(name, words, aliases) {
  hljs.registerLanguage(name, (hljs) => ({
    name,
    aliases,
    contains: [
      hljs.COMMENT(/\(\*/, /\*\)/, { contains: ["self"] }),
      hljs.COMMENT(/\/\/|#/, /$/),
      { className: "string", begin: /"/, end: /"|$/ },
      { className: "meta", begin: /-{3,}/ },
      { className: "number", begin: /\b(?:0x[0-9a-fA-F]+|\d+)\b/ },
      { className: "keyword", begin: words.keyword },
      { className: "built_in", begin: words.builtin },
      { className: "operator", begin: words.operator },
      // No word begins within another.
      { begin: /[A-Za-z_\u00c0-\u024f\u1e00-\u1eff][\w'\u00c0-\u024f\u1e00-\u1eff]*/ },
    ],
  }));
}

language("litmus", LITMUS, []);
language("cat", MODEL, []);
language("lib", LIBRARY, []);
