// A button below each program of the site: it opens the playground there, with that program.
(() => {
  async function packed(text) {
    const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
    return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }

  const root = typeof path_to_root === "string" ? path_to_root : document.documentElement.dataset.pathToRoot ?? "";

  for (const code of document.querySelectorAll("code.language-litmus")) {
    const box = document.createElement("div");
    const button = document.createElement("button");
    box.className = "play";
    button.type = "button";
    button.textContent = "Open in the playground";
    button.addEventListener("click", async () => {
      const program = code.textContent;
      const frame = document.createElement("iframe");
      frame.title = "Playground";
      frame.src = `${root}playground/index.html#${await packed(JSON.stringify({ program, own: [], model: "" }))}`;
      button.replaceWith(frame);
    });
    box.append(button);
    code.closest("pre").after(box);
  }
})();
