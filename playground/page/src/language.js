// Colors of programs, models and libraries, by their words. What they mean is the engine's matter.
import { StreamLanguage } from "@codemirror/language";

const LITMUS = {
  keyword: /^(?:litmus|model|source|tags|bound|loops|dialect|observe|thread|if|else|loop|while|break|skip|assume|exactly|for|forall|exists|allowed|forbidden|not|and|or|unsignaled|inline|true|false|imm)\b/,
  builtin: /^[A-Z][A-Za-z]*(?=\s*[({])|^Mfence\b/,
  operator: /^(?::=(?:\^\{?\w+\}?|[A-Z]+)?|\|\|?|‖|[✓✗?∧∨¬≠≤≥<>=+*%~^/-])/,
};
const MODEL = {
  keyword: /^(?:let|rec|and|table|on|where|end|exists|total|extends|acyclic|irreflexive|empty|as|include|replace|drop|calls|uncall|machine|hardware|library|class|method|implementation|over|memory|consistency|sequential|linearizable|returns?|requires|of|words|written|shows|if|else|loop|break|for|in|assume)\b/,
  builtin: /^(?:po|rf|mo|rb|pf|nfo|rao|ib|ob|hb|ppo|so|id|loc|int|ext)\b/,
  operator: /^(?:[|&;\\*+?!~=✓·^-]|:=)/,
};

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
  return highlighter(file.endsWith(".litmus") ? LITMUS : MODEL);
}
