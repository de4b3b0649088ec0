/**
 * Runs before the script of a page, which may not even load: says by name what the browser lacks, and when the page's script
 * failed, so that nothing on the page is taken for what holds (C39). Only what every browser with modules has is
 * used here, and so no optional chaining.
 */

/** The scripts of pages need these, and a browser may lack them; browser-modules.ts refuses modules that need more. */
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

/** The oldest that pages work in. */
const OLDEST = { safari: '15.4', chrome: '103', firefox: '102' }

/** One note, above everything else on the page: a message of the page's head with what stands in its places. */
function say(name: string, parts: Readonly<Record<string, string>>): void {
  const head = document.querySelector(`meta[name="${name}"]`)
  const message = (head && head.getAttribute('content')) || ''
  const isRightToLeft = document.documentElement.dir === 'rtl'
  const words = message.replace(/\{(\w+)\}/g, (_, place: string) => {
    const part = { ...OLDEST, ...parts }[place] || ''
    return isRightToLeft && /[^\w.]/.test(part) ? `\u2068${part}\u2069` : part
  })
  const note = document.getElementById('browser-check') || document.createElement('p')
  note.id = 'browser-check'
  note.className = 'note bad'
  note.setAttribute('role', 'alert')
  note.textContent = words
  const heading = document.querySelector('h1')
  if (heading !== null) heading.after(note)
}

const lacking = NEEDED.filter(([, isThere]) => !isThere()).map(([name]) => name)
if (lacking.length > 0) say('browser-lacks', { what: lacking.join(', ') })

function sayFailure(why: unknown): void {
  if (lacking.length > 0) return
  say('page-failed', {
    why: why instanceof Error ? `${why.name}: ${why.message}` : String(why),
  })
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
    if (target instanceof HTMLScriptElement) sayFailure(target.src)
  },
  true,
)
