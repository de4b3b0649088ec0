/** Elements: text becomes text nodes only, never markup. */

/**
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}

/**
 * An element of a drawing.
 *
 * @param {string} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {...(Node | string)} children
 */
export function svgElement(tag, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value))
  made.append(...children)
  return made
}

/**
 * Returns the element of that id. Throws where the page has none of that kind: its markup and its script differ.
 *
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function pageElement(id, kind) {
  const found = document.getElementById(id)
  if (found instanceof kind) return found
  throw new Error(`The page has no ${kind.name} with id ${id}.`)
}

/**
 * Writes a text where it differs, so that a reader's selection and announcements are left alone.
 *
 * @param {string} id
 * @param {string} text
 */
export function put(id, text) {
  const place = pageElement(id, HTMLElement)
  if (place.textContent !== text) place.textContent = text
}

/**
 * What the server wrote into the page's head for its scripts.
 *
 * @param {string} name
 */
export const pageFact = (name) =>
  document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? ''
