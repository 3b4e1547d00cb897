// Questions to the engines, one at a time. A newer question of a kind takes the place of an older one.
import { unpacked } from "./packed.js";

/** How long a question may take, in milliseconds. */
const LONGEST = 20_000;

export class Engine {
  #module;
  #worker;
  #waiting = [];
  #asked;
  #timer;

  constructor() {
    this.#module = unpacked(ENGINE).then((bytes) => WebAssembly.compile(bytes));
    this.#restart();
  }

  /** Starts a worker in the place of the old one, if there is one. */
  #restart() {
    this.#worker?.terminate();
    const url = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
    const worker = new Worker(url);
    URL.revokeObjectURL(url);
    worker.onmessage = ({ data }) => this.#answered(data);
    worker.onerror = (event) => this.#answered({ id: this.#asked?.id, failure: event.message });
    this.#worker = worker;
    this.#module.then((module) => {
      if (this.#worker === worker) worker.postMessage({ module });
    });
  }

  /**
   * The answer to a question; `{ replaced: true }` if a newer question of the kind came first,
   * `{ stopped: why }` if it was stopped.
   */
  ask(kind, question) {
    return new Promise((resolve) => {
      const older = this.#waiting.findIndex((one) => one.kind === kind);
      if (older >= 0) this.#waiting.splice(older, 1)[0].resolve({ replaced: true });
      this.#waiting.push({ id: crypto.randomUUID?.() ?? String(Math.random()), kind, question, resolve });
      if (this.#asked?.kind === kind) this.#end({ replaced: true });
      else this.#next();
    });
  }

  /** Stops what is asked now. */
  stop(why = "stopped") {
    for (const one of this.#waiting.splice(0)) one.resolve({ stopped: why });
    if (this.#asked) this.#end({ stopped: why });
  }

  /** Whether a question waits for its answer. */
  get isBusy() {
    return this.#asked !== undefined;
  }

  #end(answer) {
    const { resolve } = this.#asked;
    this.#asked = undefined;
    clearTimeout(this.#timer);
    this.#restart();
    resolve(answer);
    this.#next();
  }

  async #next() {
    if (this.#asked || this.#waiting.length === 0) return;
    const asked = this.#waiting.shift();
    this.#asked = asked;
    await this.#module;
    if (this.#asked !== asked) return;
    this.#worker.postMessage({ id: asked.id, question: asked.question });
    this.#timer = setTimeout(() => {
      if (this.#asked === asked) this.#end({ stopped: `not decided within ${LONGEST / 1000} s` });
    }, LONGEST);
  }

  #answered({ id, answer, failure }) {
    if (id !== this.#asked?.id) return;
    if (failure !== undefined) {
      this.#end({ stopped: `this is a bug of litmus, please report it: ${failure}` });
      return;
    }
    const { resolve } = this.#asked;
    this.#asked = undefined;
    clearTimeout(this.#timer);
    resolve(answer);
    this.#next();
  }
}
