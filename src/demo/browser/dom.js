/** Elements found and made. Texts go in as text: nothing in this page is parsed as HTML. */

/**
 * Throws an Error when there is none, or one of another kind.
 * @template {Element} T
 * @param {ParentNode} parent
 * @param {string} selector
 * @param {new () => T} kind
 */
export function find(parent, selector, kind) {
  const found = parent.querySelector(selector);
  if (!(found instanceof kind)) throw new Error(`The page has no ${kind.name} ${selector}`);
  return found;
}

/** @param {string} id */
export const byId = (id) => find(document, `#${id}`, HTMLElement);

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Partial<HTMLElementTagNameMap[Name]>} [properties]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/**
 * Custom properties for the style sheet. The policy forbids style attributes in markup, not this.
 * @param {HTMLElement} target
 * @param {Readonly<Record<string, number>>} values
 */
export function place(target, values) {
  for (const [name, value] of Object.entries(values)) target.style.setProperty(`--${name}`, String(value));
}

/**
 * Shows a text, or hides its element when there is none.
 * @param {HTMLElement} target
 * @param {string | undefined} text
 */
export function tell(target, text) {
  target.textContent = text ?? '';
  target.hidden = text === undefined;
}
