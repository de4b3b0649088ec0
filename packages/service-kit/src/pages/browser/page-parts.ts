/** Shared by the scripts of all pages: elements, facts from the server and the link, answers in time, requests to copy. */

/** An element may contain these; `undefined` and `false` add nothing, for optional parts. */
export type Child = Node | string | undefined | false

const isThere = (child: Child): child is Node | string => child !== undefined && child !== false

/** Makes an element. String children become text nodes, so no text is ever parsed as markup. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children.filter(isThere))
  return made
}

/** Makes a button with this text that calls `run` when used. */
export function actionButton(
  attributes: Readonly<Record<string, string>>,
  words: string,
  run: () => void,
): HTMLButtonElement {
  const made = element('button', { type: 'button', ...attributes }, words)
  made.addEventListener('click', run)
  return made
}

/** Makes an SVG element. */
export function svgElement<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string | number>> = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value))
  made.append(...children.filter(isThere))
  return made
}

export function pageElement(id: string): HTMLElement
export function pageElement<Kind extends Element>(id: string, kind: new () => Kind): Kind
/** Returns the element with that id. Throws if the page has none of that kind, which means that markup and script disagree. */
export function pageElement(id: string, kind: new () => Element = HTMLElement): Element {
  const found = document.getElementById(id)
  if (found instanceof kind) return found
  throw new Error(`The page has no ${kind.name} with id ${id}.`)
}

/** The parts of a URI, so that lines break after slashes and never inside a name. */
export const breakable = (uri: string): readonly (Node | string)[] =>
  (uri.match(/[^/]*\/*/g) ?? []).flatMap((part, at) => {
    // A name that is written from the right stays where it stands.
    const [name = '', slashes = ''] = part.split(/(?=\/)(.*)/)
    const parts = /^[ -~]*$/.test(name) ? [part] : [element('bdi', {}, name), slashes]
    return at === 0 ? parts : [element('wbr'), ...parts]
  })

/** The service cannot be reached, or did not answer in time; anything else that is thrown is a fault of the page. */
export class Unreachable extends Error {}

/** A page's request is answered in milliseconds; one that takes longer than this will not be. */
const ANSWER_LIMIT_MS = 10_000

/** Like `fetch`, with the whole answer in hand within a limit. Rejects with {@link Unreachable}. */
export async function fetchInTime(
  path: string,
  init: Omit<RequestInit, 'signal'> = {},
  limitMs = ANSWER_LIMIT_MS,
): Promise<Response> {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), limitMs)
  try {
    const answer = await fetch(path, { cache: 'no-store', ...init, signal: limit.signal })
    const body = await answer.arrayBuffer()
    return new Response(body.byteLength === 0 ? null : body, answer)
  } catch (cause) {
    throw new Unreachable('The service does not answer.', { cause })
  } finally {
    clearTimeout(timer)
  }
}

/** Sets a text only if it differs, which keeps the reader's selection and avoids repeated announcements. */
export function put(id: string, text: string): void {
  const place = pageElement(id)
  if (place.textContent !== text) place.textContent = text
}

/** A fact that the server wrote into the page's head for its scripts; empty if absent. */
export const pageFact = (name: string): string =>
  document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? ''

function takeFragment(): URLSearchParams {
  const carried = new URLSearchParams(location.hash.slice(1))
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search)
  return carried
}

/**
 * Passes on what the page's link carried after `#`, e.g. `#token=…&secret=…`: now, and whenever another link is pasted
 * into the same tab. The fragment is removed from the address bar and the history entry, and held only in memory (C19).
 */
export function onFragment(use: (carried: URLSearchParams) => void): void {
  use(takeFragment())
  addEventListener('hashchange', () => {
    if (location.hash !== '') use(takeFragment())
  })
}

const ENGLISH = { copy: 'Copy', copied: 'Copied', copyRefused: 'Not allowed' }

/** Adds a copy button to every request, if the browser lets pages copy. */
export function offerCopies(words = ENGLISH): void {
  if (navigator.clipboard === undefined) return
  for (const code of document.querySelectorAll('pre')) {
    const say = (word: string) => (): void => {
      button.textContent = word
    }
    const button = actionButton({ class: 'small copy' }, words.copy, () => {
      navigator.clipboard
        .writeText(code.textContent)
        .then(say(words.copied), say(words.copyRefused))
    })
    const frame = element('div', { class: 'request' })
    code.replaceWith(frame)
    frame.append(code, button)
  }
}

/**
 * Size, root and signer of a signed checkpoint (a C2SP note); undefined for any other text. Signatures are not verified
 * here: if you trust the service behind this page you need no proof, and if you do not, you cannot trust its page either.
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
