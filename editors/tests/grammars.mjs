// The TextMate grammars of vscode/ over every file that is shipped: each character that is no blank belongs to
// something that has a name, and comments end where they should. Arguments: the folder of the project, and one
// with the programs of its documents.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import oniguruma from "vscode-oniguruma";
import textmate from "vscode-textmate";

const here = dirname(fileURLToPath(import.meta.url));
const [root, documented] = process.argv.slice(2);
const wasm = createRequire(import.meta.url).resolve("vscode-oniguruma/release/onig.wasm");
await oniguruma.loadWASM(readFileSync(wasm).buffer);
const { grammars } = JSON.parse(readFileSync(join(here, "../vscode/package.json"), "utf8")).contributes;
const registry = new textmate.Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async (scope) => {
    const path = join(here, "../vscode", grammars.find((one) => one.scopeName === scope).path);
    return textmate.parseRawGrammar(readFileSync(path, "utf8"), path);
  },
});

function* files(folder, ending) {
  for (const entry of readdirSync(folder, { recursive: true })) {
    if (entry.endsWith(ending)) yield join(folder, entry);
  }
}

/** The parts of a file that no rule names, and whether a comment is open at its end. */
function unnamed(grammar, text) {
  const found = [];
  let stack = textmate.INITIAL;
  for (const [index, line] of text.split("\n").entries()) {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, stack);
    stack = ruleStack;
    for (const { startIndex, endIndex, scopes } of tokens) {
      const part = line.slice(startIndex, endIndex);
      if (scopes.length === 1 && part.trim()) found.push(`${index + 1}: ${part}`);
    }
  }
  const last = grammar.tokenizeLine("", stack).tokens[0].scopes;
  if (last.length > 1) found.push(`open at the end: ${last.at(-1)}`);
  return found;
}

let count = 0;
for (const [scope, folder, ending] of [
  ["source.litmus", join(root, "litmus-suite"), ".litmus"],
  ["source.litmus", documented, ".litmus"],
  ["source.cat.litmus", join(root, "model/models"), ".cat"],
  ["source.lib.litmus", join(root, "model/libraries"), ".lib"],
]) {
  const grammar = await registry.loadGrammar(scope);
  for (const path of files(folder, ending)) {
    assert.deepEqual(unnamed(grammar, readFileSync(path, "utf8")), [], path);
    count += 1;
  }
}
assert.ok(count > 500, `${count} files`);
// The test can fail.
const grammar = await registry.loadGrammar("source.litmus");
assert.deepEqual(unnamed(grammar, "  x := $ 1"), ["1:  $ "]);
assert.deepEqual(unnamed(grammar, "(* open"), ["open at the end: comment.block.litmus"]);
console.log(`${count} files: the grammars name every part`);
