// The words of programs, and of models and libraries, by what they look like; for the editors here and the site.

export const LITMUS = {
  keyword: /(?:litmus|model|source|tags|bound|loops|dialect|observe|thread|if|else|loop|while|break|skip|assume|exactly|for|forall|exists|allowed|forbidden|not|and|or|unsignaled|inline|true|false|imm)\b/,
  builtin: /[A-Z][A-Za-z]*(?=\s*[({])|Mfence\b/,
  operator: /(?::=(?:\^\{?\w+\}?|[A-Z]+)?|\|\|?|‖|[✓✗?∧∨¬≠≤≥<>=+*%~^/-])/,
};
export const MODEL = {
  keyword: /(?:let|rec|and|table|on|where|end|exists|total|extends|acyclic|irreflexive|empty|as|include|replace|drop|calls|uncall|machine|hardware|library|class|method|implementation|over|memory|consistency|sequential|linearizable|returns?|requires|of|words|written|shows|if|else|loop|break|for|in|assume)\b/,
  builtin: /(?:po|rf|mo|rb|pf|nfo|rao|ib|ob|hb|ppo|so|id|loc|int|ext)\b/,
  operator: /(?:[|&;\\*+?!~=✓·^-]|:=)/,
};
