/** What the scripts of all pages use: elements, what the server and the link told the page, requests to copy. */

/** Makes an element. Strings among the children become text nodes, so that no text is ever read as markup. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}

/** Makes an element of a drawing. */
export function svgElement<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string | number>> = {},
  ...children: readonly (Node | string)[]
): SVGElementTagNameMap[Tag] {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value))
  made.append(...children)
  return made
}

export function pageElement(id: string): HTMLElement
export function pageElement<Kind extends Element>(id: string, kind: new () => Kind): Kind
/** Returns the element of that id. Throws where the page has none of that kind: its markup and its script differ. */
export function pageElement(id: string, kind: new () => Element = HTMLElement): Element {
  const found = document.getElementById(id)
  if (found instanceof kind) return found
  throw new Error(`The page has no ${kind.name} with id ${id}.`)
}

/** Writes a text where it differs, so that a reader's selection and announcements are left alone. */
export function put(id: string, text: string): void {
  const place = pageElement(id)
  if (place.textContent !== text) place.textContent = text
}

/** What the server wrote into the page's head for its scripts; empty where it wrote nothing. */
export const pageFact = (name: string): string =>
  document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? ''

function takeFragment(): URLSearchParams {
  const carried = new URLSearchParams(location.hash.slice(1))
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search)
  return carried
}

/**
 * Calls back with what the page's link carried after `#`, as `#token=…&secret=…`: now, and when another link is pasted
 * into the same tab. It leaves the address bar and the history entry, and is held in memory only (C19).
 */
export function onFragment(use: (carried: URLSearchParams) => void): void {
  use(takeFragment())
  addEventListener('hashchange', () => {
    if (location.hash !== '') use(takeFragment())
  })
}

/** Puts a button on every request to copy, where the browser lets a page copy. */
export function offerCopies(): void {
  if (navigator.clipboard === undefined) return
  for (const code of document.querySelectorAll('pre')) {
    const button = element('button', { type: 'button', class: 'small copy' }, 'Copy')
    const say = (word: string) => (): void => {
      button.textContent = word
    }
    button.addEventListener('click', () => {
      navigator.clipboard.writeText(code.textContent).then(say('Copied'), say('Not allowed'))
    })
    const frame = element('div', { class: 'request' })
    code.replaceWith(frame)
    frame.append(code, button)
  }
}

/**
 * Size, root and signer of a signed checkpoint (a C2SP note); undefined for another text. Signatures are not verified
 * here: who trusts this page's service needs no proof, and who does not cannot trust its page.
 */
export function readCheckpoint(
  note: string,
): { readonly size: number; readonly root: string; readonly signer: string } | undefined {
  const [origin = '', size = '', root = '', blank, ...signatures] = note.split('\n')
  const signer = /^— (\S+) \S+$/.exec(signatures[0] ?? '')?.[1]
  if (origin === '' || !/^\d+$/.test(size) || root === '' || blank !== '' || signer === undefined)
    return undefined
  return { size: Number(size), root, signer }
}
