// How long the server takes to answer about a text, after an edit of it and without: prints the slowest of some
// rounds in milliseconds, and exits with 1 if one is above the limit.
//
// Arguments: the program litmus, a text, and the limit in milliseconds.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import protocol from "vscode-languageserver-protocol/node";

const [litmus, file, limit] = process.argv.slice(2);
const rounds = 20;
const server = spawn(litmus, ["lsp", "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => server.on("exit", resolve));
const connection = protocol.createProtocolConnection(
  new protocol.StreamMessageReader(server.stdout),
  new protocol.StreamMessageWriter(server.stdin),
);
let told = () => {};
connection.onNotification(protocol.PublishDiagnosticsNotification.type, () => told());
connection.listen();
await connection.sendRequest(protocol.InitializeRequest.type, {
  processId: process.pid,
  rootUri: null,
  capabilities: {},
});
await connection.sendNotification(protocol.InitializedNotification.type, {});

let text = readFileSync(file, "utf8");
const uri = `file:///measured/${basename(file)}`;
const lines = text.split("\n");
const line = lines.findIndex((one) => one.includes(":="));
const position = { line: Math.max(line, 0), character: 3 };
const textDocument = { uri };
const slowest = new Map();

async function measured(what, work) {
  const begin = performance.now();
  await work();
  slowest.set(what, Math.max(slowest.get(what) ?? 0, performance.now() - begin));
}

const published = (send) => new Promise((resolve) => {
  told = resolve;
  send();
});
// What is loaded once, at the first text, is not what one waits for at each letter.
await published(() => connection.sendNotification(protocol.DidOpenTextDocumentNotification.type, {
  textDocument: { uri, languageId: "litmus", version: 1, text },
}));
await connection.sendRequest(protocol.HoverRequest.type, { textDocument, position });
await connection.sendRequest(protocol.CompletionRequest.type, { textDocument, position });
for (let version = 2; version < rounds + 2; version += 1) {
  text += "\n";
  await measured("problems after an edit", () => published(() =>
    connection.sendNotification(protocol.DidChangeTextDocumentNotification.type, {
      textDocument: { uri, version },
      contentChanges: [{ text }],
    })));
  const range = { start: position, end: position };
  const context = { diagnostics: [], includeDeclaration: true, triggerKind: 1 };
  for (const [what, type] of [
    ["hover", protocol.HoverRequest.type],
    ["completion", protocol.CompletionRequest.type],
    ["definition", protocol.DefinitionRequest.type],
    ["references", protocol.ReferencesRequest.type],
    ["symbols", protocol.DocumentSymbolRequest.type],
    ["quick fixes", protocol.CodeActionRequest.type],
    ["formatting", protocol.DocumentFormattingRequest.type],
  ]) {
    const options = { tabSize: 2, insertSpaces: true };
    const asked = { textDocument, position, range, context, options };
    await measured(what, () => connection.sendRequest(type, asked));
  }
}
await connection.sendRequest(protocol.ShutdownRequest.type);
await connection.sendNotification(protocol.ExitNotification.type);
await ended;
for (const [what, time] of slowest) console.log(`${what}: ${time.toFixed(1)} ms`);
process.exitCode = [...slowest.values()].every((time) => time <= Number(limit)) ? 0 : 1;
