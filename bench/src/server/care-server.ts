// The care service as an operator runs it, in its own measured process. First argument: the records' file; second:
// `clear`, `sealed`, `events` for sealed with webhooks, or the URL of a PostgreSQL that keeps them in clear; third: milliseconds that
// each fsync takes longer, none by default.
import { careConfigSchema, createCareService } from '@tallystick/care'
import { measureProcess, requireConfig, startListening, systemClock } from '@tallystick/service-kit'
import { answerProbe } from './answer-probe.ts'
import {
  BENCH_BASE_URL,
  BENCH_SEAL_KEYS,
  BENCH_TOKEN_SECRET,
  BENCH_WRITE_SECRET,
} from './bench-protocol.ts'
import { slowDisk } from './slow-disk.ts'

const [, , databasePath = '', storage = '', slowerMs] = process.argv
if (slowerMs !== undefined) slowDisk(Number(slowerMs))

const config = requireConfig(careConfigSchema, {
  BASE_URL: BENCH_BASE_URL,
  WRITE_SECRET: BENCH_WRITE_SECRET,
  TOKEN_SECRET: BENCH_TOKEN_SECRET,
  CHECKPOINT_KEY: Buffer.alloc(32, 7).toString('base64'),
  DATABASE_PATH: databasePath,
  ...(storage.startsWith('postgres:') ? { DATABASE_URL: storage } : {}),
  // One principal opens all sessions here.
  SESSIONS_PER_SUB_MAX: '20000',
  ...(['sealed', 'events'].includes(storage) ? { SEAL_KEYS: BENCH_SEAL_KEYS } : {}),
  ...(storage === 'events' ? { EVENTS: 'chatgpt', EVENTS_PRIVATE: 'true' } : {}),
})
const service = await createCareService({ config, clock: systemClock })
measureProcess(service.registry)
answerProbe(await startListening(service))
