// Elements. Texts are set as texts, so that no program can write into the page.

/** An element by its id. */
export const at = (id) => document.getElementById(id);

/** A new element: its name, attributes and properties, and what is in it. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

/** Options of a `select`, of which one is chosen. */
export function options(select, all, chosen) {
  select.replaceChildren(...all.map(([value, text]) => new Option(text ?? value, value, false, value === chosen)));
}
