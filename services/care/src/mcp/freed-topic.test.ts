// What hosts hear and find when an operator frees a topic beside the running service (C47).
import { systemClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { runCare } from '../command/run-care.ts'
import { openHost } from '../testing/mcp-host.fixture.ts'
import { type RunningCare, startRunningCare } from '../testing/running-care.fixture.ts'
import { isOnPostgres } from '../testing/store-place.fixture.ts'
import { BOTH, initializeBody } from './mcp.fixture.ts'
import { EventReader } from './sessions/event-reader.fixture.ts'

const tea = { patient: 'ann', domain: 'tea', authorId: 'dr-osei' }
const PLANTED = 'care-internal://ann/tea'
const FREED = `${PLANTED}/freed-1`

let care: RunningCare
beforeEach(async () => {
  care = await startRunningCare()
})
afterEach(() => care.remove())

async function command(...words: readonly string[]) {
  const output: string[] = []
  const print = (line: string) => void output.push(line)
  const code = await runCare({
    arguments: words,
    environment: { ...care.place.environment },
    clock: systemClock,
    stdin: (async function* () {})(),
    print,
    printError: print,
  })
  return { code, text: output.join('\n') }
}
const free = (uri: string) => command('free', uri, '--by', 'dr-osei', '--reason', 'planted')
const get = (path: string, scope?: string) =>
  fetch(`${care.url}${path}`, {
    headers: scope === undefined ? {} : { authorization: `Bearer ${care.token(scope)}` },
  })

/** The command runs as the database's owner of upkeep there; chain-freeing.test.ts frees on both engines. */
it.skipIf(isOnPostgres)(
  'C47: who follows a freed topic hears of it within a second, finds nothing there, and hears what is begun there',
  async () => {
    const host = await openHost(care, BOTH)
    await care.write({ ...tea, audience: 'assistant', value: 'planted' })
    await host.request('resources/subscribe', { uri: PLANTED })
    expect((await care.write({ ...tea, value: 'Take ten drops.' })).status).toBe(409)
    const heard = host.nextNotification('notifications/resources/updated')
    expect(await free(PLANTED)).toEqual({
      code: 0,
      text: `${PLANTED}: the topic is free. Its chain of 1 versions stays provable as ${FREED}; care erase takes that URI too.`,
    })
    expect((await heard).params).toEqual({ uri: PLANTED })
    for (const uri of [PLANTED, `${PLANTED}/1`, FREED, `${FREED}/1`])
      expect((await host.request('resources/read', { uri })).error).toMatchObject({ code: -32002 })
    const again = host.nextNotification('notifications/resources/updated')
    await care.write({ ...tea, audience: 'assistant', value: 'a rule of the clinic' })
    expect((await again).params).toEqual({ uri: PLANTED })
    expect(await free(PLANTED)).toMatchObject({ code: 0 })
    expect((await care.write({ ...tea, value: 'Take ten drops.' })).status).toBe(200)
    const answer = await host.request('tools/call', { name: 'changes_since', arguments: {} })
    expect(JSON.stringify(answer)).toContain('Take ten drops.')
    expect(JSON.stringify(answer)).not.toMatch(/planted|a rule of the clinic/)
    await host.close()
  },
)

it.skipIf(isOnPostgres)(
  'C47: who was away when a topic was freed hears of it once, in its place among the writes',
  async () => {
    await care.write({ ...tea, audience: 'assistant', value: 'planted' })
    const token = care.token(BOTH)
    const post = (headers: Readonly<Record<string, string>>, message: object) =>
      fetch(`${care.url}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          ...headers,
        },
        body: JSON.stringify(message),
      })
    const opened = await post({}, initializeBody())
    const sessionId = opened.headers.get('mcp-session-id') ?? ''
    for (const [id, method, params] of [
      [1, 'resources/subscribe', { uri: PLANTED }],
      [2, 'logging/setLevel', { level: 'error' }],
    ] as const)
      await post({ 'mcp-session-id': sessionId }, { jsonrpc: '2.0', id, method, params })
    const stream = async (lastEventId?: string): Promise<EventReader> => {
      const port = Number(new URL(care.url).port)
      const reader = await EventReader.open({ port, token, sessionId, lastEventId })
      await expect.poll(() => reader.lastEventId).toBeDefined()
      return reader
    }
    const first = await stream()
    await care.write({ ...tea, audience: 'assistant', value: 'planted again' })
    await expect.poll(() => first.updated).toEqual([PLANTED])
    first.drop()
    await free(PLANTED)
    await care.write({ ...tea, audience: 'assistant', value: 'a rule of the clinic' })
    const methods = ['updated', 'updated', 'list_changed']
    const again = await stream(first.lastEventId)
    await expect.poll(() => again.methods.map((each) => each?.split('/').at(-1))).toEqual(methods)
    const behind = await stream(again.events[1]?.id)
    await expect.poll(() => behind.methods).toHaveLength(2)
    for (const reader of [again, behind]) reader.drop()
  },
)

it.skipIf(isOnPostgres)(
  'C47: a freed chain stays provable under its number, for its audience alone, and who freed it is listed',
  async () => {
    await care.write({ ...tea, audience: 'assistant', value: 'planted' })
    await free(PLANTED)
    await care.write({ ...tea, value: 'Take ten drops.' })
    const verdict = await get(`/verify?uri=${FREED}`, BOTH)
    expect(await verdict.json()).toMatchObject({ uri: FREED, versions: 1, intact: true })
    const proof = await get(`/verify/proof?uri=${FREED}/1`, BOTH)
    expect(await proof.json()).toMatchObject({ kind: 'inclusion', journal: 'assistant', index: 0 })
    const exported = await (await get(`/verify/export?uri=${FREED}`, BOTH)).text()
    expect(exported).toContain(`"uri":"${FREED}/1"`)
    expect(await (await get('/verify', BOTH)).text()).toContain(FREED)
    // Without the scope there is no trace of it.
    expect(await (await get('/verify')).text()).not.toContain('freed')
    for (const path of ['/verify', '/verify/export', '/verify/proof'])
      for (const uri of [FREED, 'care-internal://ann/nothing/freed-1']) {
        const answer = await get(`${path}?uri=${uri}`, 'care.read.user')
        expect([answer.status, await answer.json()]).toEqual([404, { error: 'not_found', uri }])
      }
    expect((await command('frees')).text).toMatch(
      /Z {2}care-internal:\/\/ann\/tea\/freed-1 {2}by dr-osei: planted$/,
    )
    expect(await free(FREED)).toMatchObject({ code: 2 })
    expect(await free('care-internal://ann/nothing')).toEqual({
      code: 1,
      text: 'There is no record care-internal://ann/nothing.',
    })
    expect(await command('free', PLANTED)).toMatchObject({ code: 2 })
  },
)
