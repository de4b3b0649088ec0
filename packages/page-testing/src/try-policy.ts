import type { Page } from 'playwright-core'

// What runs in the page is text: this file is compiled without the browser's types.
const TRIAL = `(async () => {
  globalThis.policyBreaches = []
  document.addEventListener('securitypolicyviolation', (event) => policyBreaches.push(event.effectiveDirective))
  let markup = 'taken'
  try { document.body.innerHTML += '<i>x</i>' } catch (error) { markup = error.name }
  const script = document.createElement('script')
  try { script.textContent = 'globalThis.ran = true' } catch { }
  const style = document.createElement('style')
  style.textContent = 'body { display: none }'
  const image = document.createElement('img')
  image.src = 'https://elsewhere.test/x.png'
  document.body.append(script, style, image)
  const elsewhere = await fetch('https://elsewhere.test/').then(() => 'sent', () => 'kept')
  const shown = getComputedStyle(document.body).display
  return { markup, elsewhere, shown, ran: globalThis.ran === true }
})()`

/** What became of a try at a page's Content-Security-Policy. */
export type PolicyTrial = {
  /** `taken`: markup could be assigned; else the name of the error. */
  readonly markup: string
  /** `kept`: nothing was sent to another host. */
  readonly elsewhere: 'sent' | 'kept'
  /** The body's `display`, which an inline style tried to make `none`. */
  readonly shown: string
  /** Whether an inline script ran. */
  readonly ran: boolean
}

/** Does what an injected script would do: markup, script, style, image and request. */
export async function tryPolicy(page: Page): Promise<PolicyTrial> {
  return await page.evaluate<PolicyTrial>(TRIAL)
}

/** The directives that the try broke, as far as the browser has told; it tells late, so poll. */
export async function policyBreaches(page: Page): Promise<readonly string[]> {
  return await page.evaluate<readonly string[]>('globalThis.policyBreaches')
}
