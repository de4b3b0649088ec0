// What changed since a time: the newest value is presented as what holds, whatever the clock did and however much
// changed.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BOTH, type ClientSession, type McpFixture, START_MS, startMcp } from './mcp.fixture.ts'

const HOUR_MS = 3_600_000
const TEA = { patient: 'ann', domain: 'tea', audience: 'user' } as const

let fixture: McpFixture
let session: ClientSession
beforeEach(async () => {
  fixture = await startMcp({ isOnDisk: true, limits: { idleMs: 24 * HOUR_MS } })
  session = await fixture.open(BOTH, { lifetimeSeconds: 86_400 })
})
afterEach(() => fixture.close())

const write = (value: string) => fixture.write({ ...TEA, value })
const callWhatsChanged = (since?: number) =>
  session.call('tools/call', {
    name: 'whats_changed',
    arguments: {
      patient: 'ann',
      ...(since === undefined ? {} : { since: new Date(since).toISOString() }),
    },
  })
const whatsChanged = async (since?: number) =>
  (await callWhatsChanged(since)).result?.['structuredContent']
/** Sets the service's clock, backwards too. */
const setClock = (unixMs: number): void => {
  Object.assign(fixture.clock, { unixMs: () => unixMs })
}

describe('the newest value is what holds', () => {
  it('even if the clock was set back and its version has an earlier time than the previous one', async () => {
    await write('one')
    setClock(START_MS + 2 * HOUR_MS)
    await write('two')
    setClock(START_MS + HOUR_MS)
    await write('three')
    await write('four')
    expect(await whatsChanged(START_MS + 1.5 * HOUR_MS)).toMatchObject({
      revisions: 3,
      changed: [
        {
          version: 4,
          value: 'four',
          previousValue: 'three',
          revisions: 3,
          withdrawn: ['one', 'two', 'three'],
          retraction: expect.stringContaining('It is now “four”'),
        },
      ],
    })
  })

  it('even if more versions share one moment than a page holds', async () => {
    for (let count = 1; count <= 1_100; count += 1) await write(`value ${count}`)
    expect(await whatsChanged()).toMatchObject({
      revisions: 1_100,
      changed: [{ version: 1_100, value: 'value 1100', previousValue: 'value 1099' }],
    })
  })

  it('even if versions on the way to it do not hold: those are left out', async () => {
    for (let count = 1; count <= 600; count += 1) {
      fixture.clock.advanceMs(1)
      await write(`value ${count}`)
    }
    await fixture.tamper(TEA, 300, (entry) => entry.replace('value 300', 'value 003'))
    const found = await whatsChanged()
    expect(found).toMatchObject({ changed: [{ version: 600, revisions: 599 }], failed: [] })
    expect(JSON.stringify(found)).not.toMatch(/value 003|value 300/)
  })
})

it('more revisions than one answer covers are refused: a truncated answer would present old values as the newest', async () => {
  const { record } = await write('one')
  let version = 0
  // A store that never runs out.
  fixture.store.changesSince = async ({ limit }) =>
    Array.from({ length: limit }, () => {
      version += 1
      return { ...record, version, writtenAt: new Date(START_MS + version).toISOString() }
    })
  expect((await callWhatsChanged()).result).toMatchObject({
    isError: true,
    content: [{ text: 'arguments.since: too many revisions since then' }],
  })
  expect(version).toBe(10_000)
})
