// A process that writes through the store until it is killed or has written its number of versions, and prints each
// acknowledged one as a line of JSON. It uses PostgreSQL if the last argument is a URL. Pipes are written synchronously, so
// whatever was printed was acknowledged.
import { setTimeout as pause } from 'node:timers/promises'
import { openSqliteRecordStore } from './sqlite-record-store.ts'
import { storeRecord, TEST_ORIGIN, TEST_SEED } from './sqlite-store-samples.fixture.ts'

const [databasePath = '', writers = '8', writesEach = 'endless', url] = process.argv.slice(2)
const most = writesEach === 'endless' ? Number.POSITIVE_INFINITY : Number(writesEach)

const options = {
  databasePath,
  // Not the service kit's, whose import would double the time to start; nothing here waits.
  clock: { unixMs: () => Date.now(), after: () => () => undefined },
  checkpointSeed: TEST_SEED,
  origin: TEST_ORIGIN,
}
const wait = (ms: number) => pause(ms, undefined, { ref: false })
const openOn = async (server: string) => {
  const { openPostgresRecordStore } = await import('./postgres-record-store.ts')
  return (await openPostgresRecordStore({ ...options, url: server, pause: wait })).records
}
const store = await (url === undefined ? openSqliteRecordStore(options) : openOn(url))

const write = async (writer: number): Promise<void> => {
  const audience = writer % 3 === 0 ? 'assistant' : 'user'
  for (let count = 0; count < most; count += 1) {
    const value = `${process.pid} wrote ${count} ${'.'.repeat(count % 700)}`
    const outcome = await store.append(storeRecord({ domain: `topic-${writer}`, audience, value }))
    if (outcome.kind !== 'appended') throw new Error(`the write was ${outcome.kind}`)
    process.stdout.write(`${JSON.stringify(outcome.record)}\n`)
  }
}
process.stdout.write('"ready"\n')
await Promise.all(Array.from({ length: Number(writers) }, (_, writer) => write(writer)))
await store.close()
