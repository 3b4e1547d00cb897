// Writes the programs of documents to files of their own, and prints their paths: what is in fences of `litmus`.
// Arguments: a folder, which is emptied, and the documents.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const [folder, ...documents] = process.argv.slice(2);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const document of documents) {
  const programs = [...readFileSync(document, "utf8").matchAll(/^```litmus\b[^\n]*\n(.*?)^```$/gms)];
  if (programs.length === 0) throw new Error(`${document} has no program`);
  for (const [index, [, text]] of programs.entries()) {
    const path = join(folder, `${basename(document, ".md")}-${index + 1}.litmus`);
    writeFileSync(path, text);
    console.log(path);
  }
}
