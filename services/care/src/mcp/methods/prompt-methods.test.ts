// Prompts as care.md and C12 word them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ASSISTANT, type ClientSession, type McpFixture } from '../mcp.fixture.ts'
import { readCode, startMethods } from './methods.fixture.ts'

let fixture: McpFixture
let session: ClientSession
beforeAll(async () => {
  ;({ fixture, session } = await startMethods())
})
afterAll(() => fixture.close())

const readText = async (name: string, input: object, by = session): Promise<string> => {
  const result = await by.result('prompts/get', { name, arguments: input })
  const [message] = result['messages'] as { role: string; content: { text: string } }[]
  return message?.content.text ?? ''
}

describe('prompts', () => {
  it('prompts/list has brief_carer(patient, cursor?) and whats_changed(patient, since?, cursor?), with descriptions', async () => {
    const { prompts } = await session.result('prompts/list')
    expect(prompts).toMatchObject([
      {
        name: 'brief_carer',
        description: expect.any(String),
        arguments: [
          { name: 'patient', required: true },
          { name: 'cursor', required: false },
        ],
      },
      {
        name: 'whats_changed',
        description: expect.any(String),
        arguments: [
          { name: 'patient', required: true },
          { name: 'since', required: false },
          { name: 'cursor', required: false },
        ],
      },
    ])
  })

  it('brief_carer returns speakable-only text, even for a principal with both scopes', async () => {
    const text = await readText('brief_carer', { patient: 'ann' })
    expect(text).toContain('tea: No sugar.\n[changed')
    expect(text).toContain('[STALE — last changed')
    expect(text).not.toMatch(/plan|falls|internal/)
    expect(await readText('brief_carer', { patient: 'nobody' })).toContain('Nothing is recorded')
    const internal = await fixture.open(ASSISTANT)
    expect(await readText('brief_carer', { patient: 'ann' }, internal)).toContain('Nothing is')
  })

  it('whats_changed returns the count of revisions and the previousValue, so it can retract', async () => {
    const text = await readText('whats_changed', { patient: 'Bo Ö.' })
    expect(text).toContain('1 revision of')
    fixture.clock.advanceMs(1_000)
    await fixture.write({ patient: 'Bo Ö.', domain: '50%?', value: 'Changed.' })
    const since = new Date(fixture.clock.unixMs()).toISOString()
    const changed = await readText('whats_changed', { patient: 'Bo Ö.', since })
    expect(changed).toContain('1 revision of')
    expect(changed).toContain('"previousValue": "Odd names."')
    expect(changed).toContain('Please disregard “Odd names.”')
    expect(await readText('whats_changed', { patient: 'Bo Ö.' })).toContain('2 revisions of')
    const later = new Date(fixture.clock.unixMs() + 1).toISOString()
    expect(await readText('whats_changed', { patient: 'Bo Ö.', since: later })).toContain(
      '0 revisions',
    )
  })

  it('unknown prompts and malformed arguments are -32602', async () => {
    for (const params of [
      { name: 'other' },
      { name: 'brief_carer' },
      { name: 'brief_carer', arguments: {} },
      { name: 'brief_carer', arguments: { patient: 'a/b' } },
      { name: 'whats_changed', arguments: { patient: 'ann', since: 'yesterday' } },
      {},
    ])
      expect(await readCode(session, 'prompts/get', params)).toBe(-32602)
  })
})
