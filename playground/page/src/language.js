// Colors of programs, models and libraries, by their words. What they mean is the engine's matter.
import { StreamLanguage } from "@codemirror/language";
import { LIBRARY, LITMUS, MODEL } from "./words.js";

/** The same, each only where it is looked for. */
const here = (words) => Object.fromEntries(Object.entries(words).map(([look, word]) => [look, new RegExp(`^(?:${word.source})`)]));

function highlighter(words) {
  return StreamLanguage.define({
    startState: () => ({ depth: 0 }),
    token(stream, state) {
      if (state.depth > 0) {
        // `(* … *)` within each other.
        if (stream.match("*)")) state.depth -= 1;
        else if (stream.match("(*")) state.depth += 1;
        else stream.next();
        return "comment";
      }
      if (stream.eatSpace()) return null;
      if (stream.match("(*")) {
        state.depth = 1;
        return "comment";
      }
      if (stream.match("//") || stream.match("#")) {
        stream.skipToEnd();
        return "comment";
      }
      if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
      if (stream.match(/^-{3,}/)) return "meta";
      if (stream.match(/^(?:0x[0-9a-fA-F]+|\d+)\b/)) return "number";
      if (stream.match(words.keyword)) return "keyword";
      if (stream.match(words.builtin)) return "typeName";
      if (stream.match(words.operator)) return "operator";
      if (!stream.match(/^[\p{L}_][\p{L}\p{N}_']*/u)) stream.next();
      return null;
    },
    languageData: { commentTokens: { line: "//" } },
  });
}

/** The language of a file, by its ending. */
export function language(file) {
  const words = { litmus: LITMUS, cat: MODEL, lib: LIBRARY };
  return highlighter(here(words[file.split(".").pop()]));
}
