// Uses the page as a person does, in headless Chromium: node test.mjs PAGE CHROMIUM [FOLDER_FOR_PICTURES]
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { deflateRawSync } from "node:zlib";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [page, executablePath, pictures] = process.argv.slice(2);
const address = pathToFileURL(page).href;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const QUIET = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--allow-file-access-from-files",
];
const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };

let passed = 0;
const failed = [];

function check(what, is) {
  if (is) passed += 1;
  else failed.push(what);
  console.log(`${is ? "ok" : "FAILED"}: ${what}`);
}

const browser = await chromium.launch({ executablePath, args: QUIET });

/** A page that is open and idle, and what went wrong in it so far. */
async function opened(viewport, colorScheme, link = "") {
  const context = await browser.newContext({ viewport, colorScheme });
  const tab = await context.newPage();
  const wrong = [];
  tab.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  tab.on("pageerror", (error) => wrong.push(String(error)));
  tab.on("request", (request) => /^(?:file|data|blob):/.test(request.url()) || wrong.push(`asks ${request.url()}`));
  await tab.addInitScript(() => {
    const seen = () => {
      if (document.querySelector("#verdicts table, #diagnostics li")) window.first ??= performance.now();
    };
    new MutationObserver(seen).observe(document, { childList: true, subtree: true });
  });
  await tab.goto(address + link);
  await tab.waitForSelector("#verdicts table, #diagnostics li", { timeout: 60_000 });
  return { tab, wrong, close: () => context.close() };
}

const status = (tab) => tab.textContent("#status");
const idle = (tab) => tab.waitForFunction(() => document.getElementById("results").ariaBusy === "false", undefined, { timeout: 60_000 });

/** Writes a program in the place of what is there, as a person would paste it. */
async function write(tab, text) {
  await tab.click("#program .cm-content");
  await tab.keyboard.press("Control+a");
  await tab.keyboard.insertText(text);
  await tab.waitForTimeout(60);
  await idle(tab);
}

async function accessible(tab, name) {
  await tab.evaluate(axe);
  const { violations } = await tab.evaluate(() => window.axe.run());
  for (const one of violations) console.log(`  ${one.id}: ${one.help} (${one.nodes.map((node) => node.target).join("; ")})`);
  check(`${name}: nothing that axe finds`, violations.length === 0);
}

async function looks(viewport, scheme) {
  const name = `${viewport.width} px, ${scheme}`;
  const { tab, wrong, close } = await opened(viewport, scheme);
  const width = await tab.evaluate(() => document.documentElement.scrollWidth);
  check(`${name}: nothing is wider than the screen (${width} px)`, width <= viewport.width);
  const isWhole = await tab.evaluate(() => {
    const { scrollWidth, clientWidth } = document.querySelector("#verdicts .scroll");
    return scrollWidth <= clientWidth;
  });
  check(`${name}: the table of verdicts is seen whole`, isWhole);
  await tab.click("#outcomes button");
  await tab.waitForSelector("#answer svg");
  await accessible(tab, name);
  if (pictures) await tab.screenshot({ path: `${pictures}/playground-${viewport.width}-${scheme}.png`, fullPage: true });
  check(`${name}: no error in the console`, wrong.length === 0 || console.log(wrong));
  await close();
}

for (const viewport of [WIDE, NARROW]) for (const scheme of ["light", "dark"]) await looks(viewport, scheme);

const { tab, wrong, close } = await opened(WIDE, "light");
check("the first example holds", /all verdicts hold/.test(await status(tab)));
const FLAG = `litmus flag
model rdma-tso-rmw

            ||  x, f = 0
  ----------------------
  x^2 := 1  ||  a := f
  f^2 := 1  ||  b := x

  (a, b) = (1, 0) ✗
`;
await write(tab, FLAG);
check("a program that was typed is judged", /all verdicts hold/.test(await status(tab)));
await write(tab, FLAG.replace("f^2 := 1", "f^2/1 := 1"));
check("a change changes the verdict", /1 verdict does not hold/.test(await status(tab)));
await tab.click("#verdicts button");
await tab.waitForSelector("#answer svg");
check("the outcome is explained", /allowed/.test(await tab.textContent("#answer h2")));
await tab.click("#repair");
await tab.waitForSelector("#answer .diff", { timeout: 60_000 });
check("a repair is found", (await tab.locator("#answer .diff").count()) > 0);
const proof = tab.locator("#answer pre:not(.diff)").first();
check("its proof keeps its lines", /\n/.test(await proof.textContent()) && (await proof.evaluate((one) => getComputedStyle(one).whiteSpace)) === "pre-wrap");
await tab.click("#answer >> text=Use this program");
await tab.waitForTimeout(100);
await idle(tab);
check("the repair holds", /all verdicts hold/.test(await status(tab)));
await write(tab, FLAG);
await tab.selectOption("#with", "verbs-ooo");
await tab.click("#compare");
await tab.waitForSelector("#answer table");
check("models are compared", /differ/.test(await tab.textContent("#answer h2")));
await tab.fill("#outcome", "a = ");
await tab.click("#explain");
await idle(tab);
check("an answer before a question without one says so", /earlier question/.test(await tab.textContent("#answer .outdated")));
await tab.fill("#outcome", " ");
await tab.click("#explain");
check("without an outcome, the page says what to write", /a = 1 and b = 0/.test(await status(tab)));
await tab.fill("#example", "no/such-test");
await tab.press("#example", "Enter");
check("an example that is not there is said to be none", /no\/such-test/.test(await status(tab)));
await tab.fill("#example", "");
await write(tab, FLAG.replace("f^2 := 1", "f^2/1 := 1"));

await tab.click("#share");
await tab.waitForFunction(() => location.hash.length > 10);
const again = await opened(WIDE, "light", await tab.evaluate(() => location.hash));
check("a link opens the same program", (await again.tab.textContent("#program .cm-content")).includes("f^2/1 := 1"));
check("and gives the same verdict", /1 verdict does not hold/.test(await status(again.tab)));
await again.close();
await tab.selectOption("#model", "sc");
await tab.waitForTimeout(60);
await idle(tab);
check("an answer about another model says so", (await tab.locator("#answer .outdated").count()) === 1);
const first = await tab.evaluate(() => location.hash);
await tab.click("#share");
await tab.waitForFunction((before) => location.hash !== before, first);
await tab.goBack();
await tab.waitForFunction(() => document.getElementById("model").value === "");
check("a link of the same program with another model is followed", true);
await idle(tab);

/** The part of an address that would hold a value. */
const packed = (value) => `#${deflateRawSync(JSON.stringify(value)).toString("base64url")}`;
const other = [null, {}, [], 5, { program: "x", own: {} }, { program: "x", own: [[]], model: "" }, { program: "x", own: [["a", ""]], model: "" }];
for (const link of ["#nonsense", ...other.map(packed)]) {
  const damaged = await opened(WIDE, "light", link);
  check(`a damaged link opens the page: ${link}`, damaged.wrong.length === 0);
  await damaged.close();
}

await write(tab, FLAG.replace("x^2", "x^7"));
check("a problem is shown", (await tab.locator("#diagnostics li").count()) === 1);
await tab.click("#diagnostics button");
check("and marked at its place", (await tab.locator(".cm-lintRange-error").count()) > 0);

await write(tab, `${FLAG}// `);
await tab.evaluate(() => {
  const data = new DataTransfer();
  data.setData("text/plain", String.fromCharCode(0xd83d));
  const paste = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
  document.querySelector("#program .cm-content").dispatchEvent(paste);
});
await tab.waitForTimeout(60);
await idle(tab);
check("half a character is read as one", /all verdicts hold/.test(await status(tab)));
await write(tab, FLAG);
await tab.selectOption("#shipped", "rdma-tso-rmw.cat");
await tab.click("#edit");
await tab.waitForSelector("#tabs >> text=my-rdma-tso-rmw.cat");
await tab.waitForTimeout(100);
await idle(tab);
check("a model of one's own judges", /under my-rdma-tso-rmw/.test(await status(tab)));
await tab.click("#beside .cm-content");
await tab.keyboard.press("Control+End");
await tab.keyboard.insertText("\nlet nothing = po\n");
await tab.waitForTimeout(60);
await idle(tab);
const warnings = () => tab.locator("#diagnostics .warning >> text=nothing").count();
check("a warning of it is shown", (await warnings()) === 1);
await tab.click("#diagnostics .warning >> text=nothing");
check("and marked at its place in the model", (await tab.locator("#beside .cm-lintRange-warning").count()) > 0);
await tab.click("#outcomes button");
await tab.waitForSelector("#answer svg");
await idle(tab);
check("and stays while an outcome is explained", (await warnings()) === 1);
await tab.click("#beside .cm-content");
await tab.keyboard.press("Tab");
const isInEditor = () => tab.evaluate(() => document.activeElement.closest(".cm-editor") !== null);
check("Tab stays in the editor", await isInEditor());
await tab.keyboard.press("Escape");
await tab.keyboard.press("Tab");
check("Escape, then Tab, leaves it", !(await isInEditor()));
const described = await tab.evaluate(() => [...document.querySelectorAll(".cm-content")].map((one) => document.getElementById(one.getAttribute("aria-describedby"))?.textContent));
check("and the page says so", described.length === 2 && described.every((text) => /Escape, then Tab/.test(text)));
await tab.click("#beside >> text=Remove my-rdma-tso-rmw.cat");

// Millions of outcomes.
const long = Array.from({ length: 9 }, (_, row) => `  x := ${row + 1} | a${row} := x | b${row} := x\n`).join("");
await tab.click("#program .cm-content");
await tab.keyboard.press("Control+a");
await tab.keyboard.insertText(`litmus long\nmodel tso\n\n  x = 0\n  -----\n${long}`);
await tab.waitForFunction(() => !document.getElementById("stop").disabled);
await tab.click("#stop");
await tab.waitForFunction(() => /Stopped/.test(document.getElementById("status").textContent));
check("what takes long can be stopped", true);
check("nothing is shown of the program before it", (await tab.locator("#verdicts table, #outcomes table").count()) === 0);
await write(tab, FLAG);
await tab.click("#program .cm-content");
await tab.keyboard.press("Control+a");
await tab.keyboard.insertText(`litmus long\nmodel tso\n\n  x = 0\n  -----\n${long}`);
await tab.waitForFunction(() => !document.getElementById("stop").disabled);
await tab.selectOption("#shipped", "sc.cat");
await tab.click("#edit");
await tab.waitForSelector("#tabs >> text=my-sc.cat", { timeout: 10_000 });
await tab.waitForTimeout(60);
await tab.click("#stop");
check("a copy made meanwhile has its text", /acyclic/.test(await tab.textContent("#beside .cm-content")));
await tab.click("#beside >> text=Remove my-sc.cat");
await write(tab, FLAG);
check("and the page goes on", /all verdicts hold/.test(await status(tab)));

// Random edits: letters of programs at random places.
let seed = 7;
const random = (below) => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return seed % below;
};
const pieces = ["x", "1", ":=", "^2", "|", "\n", "✗", "{", "}", "(", "Poll(2)", "⊥", "\u{1F600}", "/*", "\"", "-----", "a"];
const EDITS = 300;
for (let edit = 0; edit < EDITS; edit += 1) {
  const keys = random(3) ? ["Control+Home"] : ["Control+End"];
  for (const key of keys) await tab.keyboard.press(key);
  for (let step = random(8); step > 0; step -= 1) await tab.keyboard.press(random(2) ? "ArrowDown" : "ArrowRight");
  if (random(3) === 0) await tab.keyboard.press("Delete");
  else await tab.keyboard.insertText(pieces[random(pieces.length)]);
  if (edit % 20 === 19) await write(tab, FLAG);
}
await idle(tab);
check(`${EDITS} random edits: no error in the console`, wrong.length === 0 || console.log(wrong));
await close();

// How long one waits, by the page's own clock, which starts when the page is opened. Wanted are 1000 ms and 100 ms; machines that do other things take longer, and ten times that
// is a fault.
const median = (times) => Math.round(times.sort((a, b) => a - b)[times.length >> 1]);
const ROUNDS = 5;
const openings = [];
const changes = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const timed = await opened(WIDE, "light");
  openings.push(await timed.tab.evaluate(() => window.first));
  // From the letter that makes it a program to its verdict.
  await write(timed.tab, FLAG.trimEnd().slice(0, -1));
  await timed.tab.evaluate(() => {
    const status = document.getElementById("status");
    const seen = () => {
      if (/all verdicts hold/.test(status.textContent)) window.took ??= performance.now() - window.began;
    };
    new MutationObserver(seen).observe(status, { childList: true, characterData: true, subtree: true });
    window.began = performance.now();
  });
  await timed.tab.keyboard.insertText("✗");
  await timed.tab.waitForFunction(() => window.took !== undefined);
  changes.push(await timed.tab.evaluate(() => window.took));
  await timed.close();
}
const [opening, change] = [median(openings), median(changes)];
check(`first verdict ${opening} ms after opening, one after a change in ${change} ms (medians of ${ROUNDS})`, opening < 10_000 && change < 1000);
await browser.close();
console.log(`${passed} passed, ${failed.length} failed`);
process.exitCode = failed.length === 0 && passed > 0 ? 0 : 1;
