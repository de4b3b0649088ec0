/** The buttons of a page that sign in, one for each issuer, and what came of it. */
import { actionButton, pageElement, put } from '@tallystick/service-kit/browser'
import { beginSignIn, finishSignIn, signInFacts } from './issuer-sign-in.ts'
import { word } from './words.ts'

const say = (why: string | undefined): void => put('sign-in-problem', why ?? '')

/**
 * Shows the buttons in `#issuers`; what goes wrong is said in `#sign-in-problem`. If the page has come back from an issuer, its
 * token is passed on.
 */
export async function offerSignIn(parts: {
  readonly scopes: readonly string[]
  readonly onToken: (token: string) => void
}): Promise<void> {
  const { onToken, scopes } = parts
  const { issuers } = signInFacts()
  const buttons = issuers.map((place) => {
    const { host } = new URL(place.issuer)
    const words = issuers.length === 1 ? word('signIn') : word('signInAt', { host })
    return actionButton({ class: 'main' }, words, () => {
      say(undefined)
      void beginSignIn(place, scopes).then(say)
    })
  })
  pageElement('issuers').replaceChildren(...buttons)
  pageElement('issuers').hidden = issuers.length === 0
  const result = await finishSignIn()
  if (result.kind === 'token') onToken(result.token)
  if (result.kind === 'failed') say(result.why)
}
