// A button below each program of the site: it opens the playground there, with that program. `path_to_root` is
// mdBook's.
import { toLink } from "../playground/page/src/packed.js";

for (const code of document.querySelectorAll("code.language-litmus")) {
  const box = document.createElement("div");
  const button = document.createElement("button");
  box.className = "play";
  button.type = "button";
  button.textContent = "Open in the playground";
  button.addEventListener("click", async () => {
    const state = { program: code.textContent, own: [], model: "" };
    const frame = document.createElement("iframe");
    frame.title = "Playground";
    frame.src = `${path_to_root}playground/index.html#${await toLink(JSON.stringify(state))}`;
    button.replaceWith(frame);
  });
  box.append(button);
  code.closest("pre").after(box);
}
