// Fills a record store with many versions through its own append, as fast as it commits. First argument: the records'
// file; second: `sealed` or `clear`; third and fourth: how many versions, in how many chains. Ends when everything is durable.
import { parseKeyRing } from '@tallystick/hashchain'
import { systemClock } from '@tallystick/service-kit'
import { openSqliteRecordStore } from '../../../services/care/src/adapters/records/sqlite-record-store.ts'
import { BENCH_SEAL_KEYS } from './bench-protocol.ts'
import { FILL_CHAINS, FILL_VERSIONS, fillRecord } from './fill-record.ts'

/** Appends that wait together: several commits' worth. */
const AT_ONCE = 2_048

const [, , databasePath = '', storage, versionsText, chainsText] = process.argv
const versions = Number(versionsText ?? FILL_VERSIONS)
const chains = Number(chainsText ?? FILL_CHAINS)

function sealing() {
  if (storage !== 'sealed') return {}
  const parsed = parseKeyRing(BENCH_SEAL_KEYS)
  if (parsed.kind !== 'ring') throw new Error('the seal key is malformed')
  return { keyRing: parsed.ring }
}

const store = await openSqliteRecordStore({
  databasePath,
  clock: systemClock,
  ...sealing(),
  checkpointSeed: Buffer.alloc(32, 7),
  origin: 'localhost:3002/care',
})
for (let from = 0; from < versions; from += AT_ONCE) {
  const count = Math.min(AT_ONCE, versions - from)
  await Promise.all(
    Array.from({ length: count }, (_, index) => store.append(fillRecord(from + index, chains))),
  )
}
await store.close()
