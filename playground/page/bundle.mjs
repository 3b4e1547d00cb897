// Makes the page: one file of HTML that holds all it needs, so that it works from a folder.
//   node bundle.mjs ENGINE_FOLDER SUITE_FOLDER OUTPUT
import { build } from "esbuild";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";

const [engine, suite, output] = process.argv.slice(2);

/** The tests of the suite, by folder. */
function examples(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".litmus"));
  return files.sort().map((name) => {
    const text = readFileSync(join(folder, name), "utf8");
    const title = /^"(.*)"$/m.exec(text)?.[1] ?? "";
    return { path: relative("", name).replace(/\.litmus$/, ""), title, text };
  });
}

/** Packed data as a text of base64. */
function packed(data) {
  return JSON.stringify(gzipSync(data, { level: 9 }).toString("base64"));
}

async function script(entry, define) {
  const { outputFiles } = await build({
    entryPoints: [new URL(`src/${entry}`, import.meta.url).pathname],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2022",
    alias: { "#engine": join(process.cwd(), engine, "playground.js") },
    define,
    logOverride: { "empty-import-meta": "silent" },
  });
  return outputFiles[0].text;
}

const all = examples(suite);
if (all.length === 0) throw new Error(`no .litmus file below ${suite}`);
const worker = await script("worker.js", {});
const main = await script("main.js", {
  WORKER: JSON.stringify(worker),
  ENGINE: packed(readFileSync(join(engine, "playground_bg.wasm"))),
  EXAMPLES: packed(JSON.stringify(all)),
});
const page = readFileSync(new URL("index.html", import.meta.url), "utf8");
const style = readFileSync(new URL("style.css", import.meta.url), "utf8");
// What stands for itself in a replacement is not to be read as one of its signs: hence functions.
const whole = page
  .replace("/* style */", () => style)
  .replace("/* script */", () => main.replaceAll("</script", "<\\/script"));
writeFileSync(output, whole);
const size = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`;
console.log(`${output}: ${size(whole.length)}, ${size(gzipSync(whole, { level: 9 }).length)} compressed, ${all.length} examples`);
