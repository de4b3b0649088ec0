// Fills a record store with many versions through its own append, as fast as it commits. First argument: the records'
// file; second: `sealed` or `clear`. Ends when everything is durable.
import { parseKeyRing } from '@tallystick/hashchain'
import { systemClock } from '@tallystick/service-kit'
import { openSqliteRecordStore } from '../../../services/care/src/adapters/sqlite-record-store.ts'
import { BENCH_SEAL_KEYS } from './bench-protocol.ts'
import { FILL_VERSIONS, fillRecord } from './fill-record.ts'

/** Appends that wait together: several commits' worth. */
const AT_ONCE = 2_048

const [, , databasePath = '', storage] = process.argv

function sealing() {
  if (storage !== 'sealed') return {}
  const parsed = parseKeyRing(BENCH_SEAL_KEYS)
  if (parsed.kind !== 'ring') throw new Error('the seal key is malformed')
  return { keyRing: parsed.ring }
}

const store = openSqliteRecordStore({
  databasePath,
  clock: systemClock,
  ...sealing(),
  checkpointSeed: Buffer.alloc(32, 7),
  origin: 'localhost:3002/care',
})
for (let from = 0; from < FILL_VERSIONS; from += AT_ONCE) {
  const count = Math.min(AT_ONCE, FILL_VERSIONS - from)
  await Promise.all(
    Array.from({ length: count }, (_, index) => store.append(fillRecord(from + index))),
  )
}
await store.close()
