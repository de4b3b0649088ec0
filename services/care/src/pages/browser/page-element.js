/**
 * Makes an element. Strings among the children become text nodes, so that what a record holds is never read as markup.
 *
 * @param {string} tag
 * @param {Readonly<Record<string, string>>} [attributes]
 * @param {...(Node | string)} children
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
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

/** The service's name as the page gives it: it stands in headers and `_meta` keys. */
export function serviceName() {
  const given = document.querySelector('meta[name="service-name"]')?.getAttribute('content')
  return given ?? 'care'
}
