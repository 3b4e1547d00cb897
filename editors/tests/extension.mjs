// The extension as it is packed: it has its parts, and its program runs as far as it can without VS Code.
// Arguments: the folder of the extension, and the names in its package.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { join } from "node:path";

const [folder, ...packed] = process.argv.slice(2);
const described = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const { grammars, languages } = described.contributes;
const parts = [described.main, ...grammars.map((one) => one.path), ...languages.map((one) => one.configuration)];
for (const part of parts) {
  assert.ok(packed.includes(part.replace("./", "")), `${part} is not among ${packed}`);
}
// What VS Code gives to extensions: here, names that mean nothing.
const load = Module._load;
const nothing = new Proxy(class {}, { get: (_, name) => (name === "version" ? "1.91.0" : class {}) });
Module._load = (name, ...rest) => (name === "vscode" ? nothing : load(name, ...rest));
const extension = createRequire(import.meta.url)(join(folder, described.main));
assert.equal(typeof extension.activate, "function");
assert.equal(await extension.deactivate(), undefined);
console.log(`the package of the extension has its ${packed.length} parts`);
