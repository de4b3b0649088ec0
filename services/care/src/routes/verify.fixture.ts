// Shared by the tests of GET /verify: a service with two public chains, one of them with two versions, and an internal one.
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
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
export const plan = { ...medication, domain: 'plan', value: 'Not told yet.', audience: 'assistant' }
export const BOTH = 'care.read.user care.read.assistant'

type VerifyFixture = {
  readonly fixture: CareFixture
  /** The header with a token of these scopes. */
  readonly withToken: (
    scope: string,
    claims?: Parameters<CareFixture['token']>[1],
  ) => { readonly authorization: string }
}

/** Registers the hooks of a file or group, whose tests each have a service, or share one if they only read. */
export function useVerify({ isShared = false } = {}): VerifyFixture {
  let fixture: CareFixture
  const [before, after] = isShared ? [beforeAll, afterAll] : [beforeEach, afterEach]
  before(async () => {
    fixture = await startCareFixture({ isOnDisk: true })
    await fixture.write(medication)
    await fixture.write({ ...medication, value: 'Two tablets.' })
    await fixture.write(diet)
    await fixture.write(plan)
  })
  after(() => fixture.close())
  return {
    get fixture() {
      return fixture
    },
    withToken: (scope, claims = {}) => ({
      authorization: `Bearer ${fixture.token(scope, claims)}`,
    }),
  }
}
