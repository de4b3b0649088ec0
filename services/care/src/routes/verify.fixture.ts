// Shared by the tests of GET /verify: a fixture for each test with two public chains, one of them with two versions, and
// an internal one.
import { afterEach, beforeEach } from 'vitest'
import { type CareFixture, startCareFixture } from '../testing/care.fixture.ts'

export const medication = {
  patient: 'ann',
  domain: 'medication',
  value: 'One tablet.',
  authorId: 'dr-osei',
}
export const diet = {
  patient: 'ann',
  domain: 'diet',
  value: 'No grapefruit.',
  authorId: 'nurse-ada',
}
const plan = { ...medication, domain: 'plan', value: 'Not told yet.', audience: 'assistant' }
export const BOTH = 'care.read.user care.read.assistant'

type VerifyFixture = {
  readonly fixture: CareFixture
  /** The header with a token of these scopes. */
  readonly withToken: (
    scope: string,
    claims?: Parameters<CareFixture['token']>[1],
  ) => { readonly authorization: string }
}

/** Registers a file's hooks. */
export function useVerify(): VerifyFixture {
  let fixture: CareFixture
  beforeEach(async () => {
    fixture = await startCareFixture({ isOnDisk: true })
    await fixture.write(medication)
    await fixture.write({ ...medication, value: 'Two tablets.' })
    await fixture.write(diet)
    await fixture.write(plan)
  })
  afterEach(() => fixture.close())
  return {
    get fixture() {
      return fixture
    },
    withToken: (scope, claims = {}) => ({
      authorization: `Bearer ${fixture.token(scope, claims)}`,
    }),
  }
}
