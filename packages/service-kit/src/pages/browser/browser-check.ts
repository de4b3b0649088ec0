/**
 * Runs before the script of a page, which may not even load: says by name what the browser lacks, and when the page's script
 * failed, so that nothing on the page is taken for what holds (C39). Only what every browser with modules has is
 * used here, and so no optional chaining.
 */

/** What the scripts of pages need and a browser may lack; browser-modules.ts refuses modules that need more. */
const NEEDED: readonly (readonly [string, () => boolean])[] = Object.entries({
  AbortController: () => 'AbortController' in window,
  'Array.prototype.at': () => 'at' in Array.prototype,
  'Element.prototype.replaceChildren': () => 'replaceChildren' in Element.prototype,
  'Object.hasOwn': () => 'hasOwn' in Object,
  'Response.prototype.body': () => 'body' in Response.prototype,
  'SubmitEvent.prototype.submitter': () =>
    'SubmitEvent' in window && 'submitter' in SubmitEvent.prototype,
  'String.prototype.replaceAll': () => 'replaceAll' in String.prototype,
  TextDecoder: () => 'TextDecoder' in window,
  reportError: () => 'reportError' in window,
})

const BROWSERS = 'Safari 15.4, Chrome 103 or Firefox 102'

/** One note, above everything else on the page. */
function say(words: string): void {
  const note = document.getElementById('browser-check') || document.createElement('p')
  note.id = 'browser-check'
  note.className = 'note bad'
  note.setAttribute('role', 'alert')
  // Whatever language the page is in, whose words may be what did not load.
  note.lang = 'en'
  note.dir = 'ltr'
  note.textContent = words
  const heading = document.querySelector('h1')
  if (heading !== null) heading.after(note)
}

const lacking = NEEDED.filter(([, isThere]) => !isThere()).map(([name]) => name)
if (lacking.length > 0)
  say(`This browser lacks ${lacking.join(', ')}. This page works from ${BROWSERS} on.`)

function sayFailure(why: unknown): void {
  if (lacking.length > 0) return
  const words = why instanceof Error ? `${why.name}: ${why.message}` : String(why)
  say(
    `A part of this page failed (${words}). What it shows may be old or incomplete: load it again, in ${BROWSERS} or newer.`,
  )
}
addEventListener('error', ({ error }) => {
  // Without an error it is another origin's script, or no fault.
  if (error instanceof Error) sayFailure(error)
})
addEventListener('unhandledrejection', ({ reason }) => sayFailure(reason))
// A script that does not load is reported at its element alone.
addEventListener(
  'error',
  ({ target }) => {
    if (target instanceof HTMLScriptElement) sayFailure('a script did not load')
  },
  true,
)
