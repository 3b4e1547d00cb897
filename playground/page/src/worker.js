// The engines, in a worker: what takes too long is ended with it.
import { initSync, answer } from "#engine";

let started = false;

self.onmessage = ({ data }) => {
  if (data.module) {
    initSync({ module: data.module });
    started = true;
    return;
  }
  if (!started) return;
  try {
    self.postMessage({ id: data.id, answer: JSON.parse(answer(JSON.stringify(data.question))) });
  } catch (error) {
    // The engine is in no state to go on after it.
    self.postMessage({ id: data.id, failure: String(error) });
  }
};
