// C36: a session that follows a record and has no stream hears nothing for now, and is counted as silent.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type ClientSession, type McpFixture, startMcp, USER } from '../mcp.fixture.ts'

const TEA = 'care://ann/tea'
const SECOND_MS = 1_000

let fixture: McpFixture
let session: ClientSession
beforeEach(async () => {
  fixture = await startMcp({ limits: { silentMs: 60 * SECOND_MS } })
  await fixture.write({ domain: 'tea' })
  session = await fixture.open(USER)
})
afterEach(() => fixture.close())

const silent = () => [
  fixture.endpoint.hub.silent(TEA),
  fixture.endpoint.figures().silent,
  fixture.endpoint.silent().map(({ sub, uris }) => [sub, uris]),
]
const NONE = [0, 0, []]
const SILENT = [1, 1, [['host', [TEA]]]]

it('C36: is silent after SILENT_SECONDS without a stream, whatever else it asks; it still counts as a subscriber', async () => {
  await session.subscribe(TEA)
  fixture.clock.advanceMs(60 * SECOND_MS)
  await session.result('ping')
  expect(silent()).toEqual(NONE)
  fixture.clock.advanceMs(1)
  expect(silent()).toEqual(SILENT)
  expect(fixture.endpoint.hub.silent('care://ann/other')).toBe(0)
  expect((await fixture.write({ domain: 'tea', value: 'No sugar.' })).subscribers).toBe(1)
})

it('C36: is not silent while its stream stands, and is again that long after the stream has gone', async () => {
  await session.subscribe(TEA)
  fixture.clock.advanceMs(90 * SECOND_MS)
  const stream = await session.stream()
  await fixture.clock.advanceMsSettled(300 * SECOND_MS)
  expect(silent()).toEqual(NONE)
  stream.drop()
  await expect.poll(() => fixture.endpoint.figures().streams).toBe(0)
  fixture.clock.advanceMs(60 * SECOND_MS)
  expect(silent()).toEqual(NONE)
  fixture.clock.advanceMs(1)
  expect(silent()).toEqual(SILENT)
})

it('C36: is counted from the start of a new process, which its client could not reach before', async () => {
  await session.subscribe(TEA)
  fixture.clock.advanceMs(300 * SECOND_MS)
  await fixture.restart()
  expect(silent()).toEqual(NONE)
  fixture.clock.advanceMs(60 * SECOND_MS + 1)
  expect(silent()).toEqual(SILENT)
})

it('C36: follows nothing, so it is not silent', async () => {
  fixture.clock.advanceMs(300 * SECOND_MS)
  expect(silent()).toEqual(NONE)
})
