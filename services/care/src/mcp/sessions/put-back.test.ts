// C3, C22: records that were put back from a backup, beside rows that tell of more. Nothing that is written from then on is
// missed by who was told of what is gone.
import { copyFileSync, rmSync } from 'node:fs'
import { systemClock } from '@tallystick/service-kit'
import { afterEach, expect, test } from 'vitest'
import { openSqliteSideRows } from '../../adapters/rows/side-rows.ts'
import { sessionsPath } from '../../adapters/schemas/sqlite-record-database.ts'
import { runCare } from '../../command/run-care.ts'
import { testEnvironment } from '../../testing/care.fixture.ts'
import { type RunningCare, startRunningCare } from '../../testing/running-care.fixture.ts'
import { isOnPostgres } from '../../testing/store-place.fixture.ts'
import { initializeBody } from '../mcp.fixture.ts'
import { EventReader } from './event-reader.fixture.ts'

const TEA = 'care://ann/tea'

let care: RunningCare
afterEach(() => care.remove())

const write = async (value: string): Promise<void> => {
  const body = { patient: 'ann', domain: 'tea', audience: 'user', authorId: 'dr', value } as const
  expect((await care.write(body)).status).toBe(200)
}
const post = async (token: string, message: object, sessionId?: string): Promise<Response> =>
  fetch(`${care.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(sessionId === undefined ? {} : { 'mcp-session-id': sessionId }),
    },
    body: JSON.stringify(message),
  })
const runCommand = (name: string, ...words: string[]): Promise<number> =>
  runCare({
    arguments: [name, ...words],
    environment: { ...testEnvironment, ...care.place.environment },
    clock: systemClock,
    stdin: (async function* () {})(),
    print: () => undefined,
    printError: () => undefined,
  })

/** Of the stopped service. */
const withRows = async <Result>(
  run: (rows: ReturnType<typeof openSqliteSideRows>) => Promise<Result>,
): Promise<Result> => {
  const rows = openSqliteSideRows(sessionsPath(care.place.environment.DATABASE_PATH))
  return run(rows).finally(() => rows.end())
}

test.skipIf(isOnPostgres)(
  'C3, C22: after accept-backup an event id of what is gone opens no stream, and webhooks and alerts go on where the records end',
  async () => {
    care = await startRunningCare()
    const { place } = care
    const path = place.environment.DATABASE_PATH
    await write('One sugar.')
    expect(await runCommand('backup', `${path}.copy`)).toBe(0)
    const token = care.token('care.read.user')
    const opened = await post(token, initializeBody())
    const sessionId = opened.headers.get('mcp-session-id') ?? ''
    const params = { uri: TEA }
    const subscribe = { jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params }
    expect((await post(token, subscribe, sessionId)).status).toBe(200)
    const open = (lastEventId?: string) =>
      EventReader.open({ port: Number(new URL(care.url).port), token, sessionId, lastEventId })
    const stream = await open()
    await write('Two sugars.')
    await write('No sugar.')
    await expect.poll(() => stream.updated).toEqual([TEA, TEA])
    const { lastEventId } = stream
    stream.drop()
    await care.stop()
    await withRows((rows) =>
      rows.transaction((query) =>
        query(`INSERT INTO event_subscriptions VALUES
          ('a', '1', 'host', '["care.read.user"]', NULL, 'ann', NULL, '', 3, 9e15, 1, NULL, NULL, NULL)`),
      ),
    )
    for (const ending of ['-wal', '-shm']) rmSync(path + ending, { force: true })
    copyFileSync(`${path}.copy`, path)
    expect(await runCommand('accept-backup')).toBe(0)
    care = await startRunningCare({ place })
    for (const value of ['Honey.', 'Lemon.', 'Milk.']) await write(value)
    // It would begin behind two of them.
    await expect(open(lastEventId)).rejects.toThrow('404')
    // Which begins a session anew, and reads afresh.
    await expect(open()).rejects.toThrow('404')
    await care.stop()
    const [stored] = await withRows((rows) =>
      rows.read<{ doneTo: number; place: number }>(
        'SELECT done_to AS "doneTo", place FROM event_subscriptions, mcp_judged',
      ),
    )
    expect(stored).toEqual({ doneTo: 1, place: 4 })
  },
)
