// The words of programs, models and libraries, by what they look like; for the editors here and the site.

export const LITMUS = {
  keyword: /(?:litmus|model|source|tags|bound|loops|dialect|observe|thread|if|else|loop|while|break|skip|assume|exactly|for|forall|exists|allowed|forbidden|not|and|or|unsignaled|inline|true|false|imm)\b/,
  builtin: /[A-Z][A-Za-z]*(?=\s*[({])|Mfence\b/,
  operator: /(?::=(?:\^\{?\w+\}?|[A-Z]+)?|\|\|?|‖|[✓✗?∧∨¬≠≤≥<>=+*%~^/-])/,
};
export const MODEL = {
  keyword: /(?:let|rec|and|table|on|where|end|exists|total|extends|acyclic|irreflexive|empty|as|include|replace|drop|calls|uncall|machine|hardware)\b/,
  builtin: /(?:po|rf|mo|rb|pf|nfo|rao|ib|ob|hb|ppo|so|id|loc|int|ext)\b/,
  operator: /(?:[|&;\\*+?!~=✓·^-]|:=)/,
};
export const LIBRARY = {
  keyword: /(?:library|source|class|call|requires|shares|shows|specification|marked|written|consistency|sequential|service|linearizable|implementation|memory|object|local|over|of|calls|words|locations|also|like|before|equal|by|per|on|each|node|thread|id|at|home|idle|from|to|for|in|if|else|loop|while|break|skip|returns?|reads|writes|when|let|rec|and|or|not|exists|acyclic|irreflexive|empty|as|include|table|where|end)\b/,
  builtin: /(?:a(?:CR|CW|CAS|MF|WT|NLR|NRW|NAR|NRR|NLW|RF|GF)|po|rf|mo|rb|so|hb)\b/,
  operator: /(?::=|\.\.|<=|>=|[|&;\\*+?!~@=<>✓·^≠-])/,
};
