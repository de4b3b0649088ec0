// A browser for programs that open one: `node sign-in-browser.ts URL` signs in as PERSON and follows the way back.
import { openBrowser } from '../../../packages/issuer/src/testing/browser.fixture.ts'

const { CALLBACK = '', PASSWORD = '', PERSON = '' } = process.env
const end = await openBrowser().allow(process.argv[2] ?? '', {
  name: PERSON,
  password: PASSWORD,
  until: CALLBACK,
})
await fetch(end.url)
