// Completion as care.md and C7 word it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClientSession, McpFixture } from '../mcp.fixture.ts'
import { startMethods } from './methods.fixture.ts'

let fixture: McpFixture
let session: ClientSession
let user: ClientSession
beforeAll(async () => {
  ;({ fixture, session, user } = await startMethods())
})
afterAll(() => fixture.close())

const complete = async (
  ref: object,
  argument: object,
  input: { readonly arguments?: object; readonly by?: ClientSession } = {},
) => {
  const { arguments: known, by = session } = input
  const context = known === undefined ? {} : { context: { arguments: known } }
  const answer = await by.call('completion/complete', { ref, argument, ...context })
  if (answer.error !== undefined) return answer.error.code
  const completion = answer.result?.['completion'] as { values: string[] } | undefined
  return completion?.values
}

describe('completion', () => {
  const care = { type: 'ref/resource', uri: 'care://{patient}/{domain}/{version}' }
  const internal = { type: 'ref/resource', uri: 'care-internal://{patient}/{domain}/{version}' }
  const tea = { patient: 'ann', domain: 'tea' }
  const plan = { patient: 'ann', domain: 'plan' }

  it('of {version} returns the available versions (newest first), resolved from the other URI arguments in the completion context', async () => {
    expect(await complete(care, { name: 'version', value: '' }, { arguments: tea })).toEqual([
      '3',
      '2',
      '1',
    ])
    expect(await complete(care, { name: 'version', value: 'v' }, { arguments: tea })).toEqual([
      'v3',
      'v2',
      'v1',
    ])
    expect(await complete(care, { name: 'version', value: '' })).toEqual([])
    expect(await complete(internal, { name: 'version', value: '' }, { arguments: plan })).toEqual([
      '1',
    ])
  })

  it('of patients and domains, each once, in order', async () => {
    expect(await complete(care, { name: 'patient', value: '' })).toEqual(['Bo Ö.', 'ann'])
    for (const value of ['a/b', '\u0000', '\ud800', '|'])
      expect(await complete(care, { name: 'patient', value })).toEqual([])
    expect(
      await complete(care, { name: 'domain', value: 'w' }, { arguments: { patient: 'ann' } }),
    ).toEqual(['weight'])
    const prompt = { type: 'ref/prompt', name: 'brief_carer' }
    expect(await complete(prompt, { name: 'patient', value: 'a' })).toEqual(['ann'])
  })

  it('gives a user-scope principal no trace of internal records', async () => {
    expect(
      await complete(internal, { name: 'version', value: '' }, { arguments: plan, by: user }),
    ).toEqual([])
    expect(
      await complete(
        internal,
        { name: 'domain', value: '' },
        { arguments: { patient: 'ann' }, by: user },
      ),
    ).toEqual([])
    expect(await complete(internal, { name: 'patient', value: '' }, { by: user })).toEqual([])
  })

  it('for something that does not exist is -32602', async () => {
    for (const [ref, name] of [
      [{ type: 'ref/prompt', name: 'other' }, 'patient'],
      [{ type: 'ref/prompt', name: 'constructor' }, 'patient'],
      [{ type: 'ref/prompt', name: 'brief_carer' }, 'other'],
      [{ type: 'ref/resource', uri: 'other://{x}' }, 'x'],
      [care, 'other'],
      [{ type: 'other' }, 'x'],
    ] as const)
      expect(await complete(ref, { name, value: '' })).toBe(-32602)
  })
})
