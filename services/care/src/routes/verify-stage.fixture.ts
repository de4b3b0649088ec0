// What the tests of GET /verify share: a world for each test that holds two public chains, one of them with two versions, and
// an internal one.
import { afterEach, beforeEach } from 'vitest'
import { type CareWorld, startCareWorld } from '../testing/care-world.ts'

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

export type VerifyStage = {
  readonly world: CareWorld
  /** The header with a token of these scopes. */
  readonly withToken: (
    scope: string,
    claims?: Parameters<CareWorld['token']>[1],
  ) => { readonly authorization: string }
}

/** Registers the hooks of a file. */
export function useVerifyStage(): VerifyStage {
  let world: CareWorld
  beforeEach(async () => {
    world = await startCareWorld({ isOnDisk: true })
    await world.write(medication)
    await world.write({ ...medication, value: 'Two tablets.' })
    await world.write(diet)
    await world.write(plan)
  })
  afterEach(() => world.close())
  return {
    get world() {
      return world
    },
    withToken: (scope, claims = {}) => ({ authorization: `Bearer ${world.token(scope, claims)}` }),
  }
}
