// The time from a signed write to a subscriber that holds the new value: the write is durable, the update arrives over
// the event stream, and the subscriber reads the record again, because no notification carries a value. The baseline, in
// alternation, appends the same bytes to a bare file with an fsync: the least that durability costs on this disk.
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { type Figure, judgeFigure } from '../figure.ts'
import { McpLoad } from '../mcp-load.ts'
import { quantileOfBatches } from '../quantile.ts'
import { ServerProcess } from '../server-process.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const WRITES = 200
/** Writes per batch; each figure is the median over the batches. */
const BATCHES = 3
/** Writes before the measured ones, which compile the code. */
const WARM_WRITES = 1_000
/** A record with its hashes, about one write's share of the journal, bytes. */
const RECORD_BYTES = 600
const UPDATED = '"method":"notifications/resources/updated"'

type Delays = {
  /** Write sent to the new value read. */
  readonly holdMs: number
  /** Write sent to the update heard. */
  readonly heardMs: number
  /** Write sent to its 200. */
  readonly answeredMs: number
  readonly fsyncMs: number
}

/** One write, and its subscriber's path to the new value. */
async function writeOnce(
  load: McpLoad,
  sessionId: string,
  value: string,
): Promise<Omit<Delays, 'fsyncMs'>> {
  const heard = Promise.withResolvers<void>()
  load.onPiece = (text) => {
    if (text.includes(UPDATED)) heard.resolve()
  }
  const startMs = performance.now()
  const sinceStart = (): number => performance.now() - startMs
  const answered = load.write(value).then(sinceStart)
  await heard.promise
  const heardMs = sinceStart()
  const text = await load.read(sessionId)
  const holdMs = sinceStart()
  if (!text.includes(value)) throw new Error('the subscriber read an old value')
  return { holdMs, heardMs, answeredMs: await answered }
}

function bareFsync(file: number): number {
  const startMs = performance.now()
  writeSync(file, Buffer.alloc(RECORD_BYTES, 'x'))
  fsyncSync(file)
  return performance.now() - startMs
}

async function measureWrites(load: McpLoad, file: number): Promise<readonly Delays[]> {
  await load.write('the first')
  const [id = ''] = await load.openSessions(1)
  await load.subscribe(id)
  await load.openStream(id)
  const delays: Delays[] = []
  for (let count = 0; count < WARM_WRITES + BATCHES * WRITES; count += 1) {
    const fsyncMs = bareFsync(file)
    const written = await writeOnce(load, id, `Two tablets after breakfast, note ${count}.`)
    if (count >= WARM_WRITES) delays.push({ ...written, fsyncMs })
  }
  return delays
}

/** Signed durable write to subscriber, over batches of 200 consecutive writes. */
export async function measureCareWrite(): Promise<readonly Figure[]> {
  using folder = temporaryFolder()
  const server = await ServerProcess.start('care-server.ts', [folder.file('care.db'), 'clear'])
  const load = new McpLoad(server.url)
  const file = openSync(folder.file('bare'), 'a')
  try {
    const delays = await measureWrites(load, file)
    const figure = (named: { name: string; share: number; aimMs: number }, key: keyof Delays) =>
      judgeFigure({
        name: named.name,
        value: quantileOfBatches(
          delays.map((delay) => delay[key]),
          { batchSize: WRITES, share: named.share },
        ),
        unit: 'ms',
        baseline: {
          name: 'a bare append and fsync',
          value: quantileOfBatches(
            delays.map((delay) => delay.fsyncMs),
            { batchSize: WRITES, share: named.share },
          ),
        },
        aim: { kind: 'at-most', value: named.aimMs },
      })
    return [
      figure({ name: 'write to new value held, p50', share: 0.5, aimMs: 1.5 }, 'holdMs'),
      figure({ name: 'write to new value held, p95', share: 0.95, aimMs: 3 }, 'holdMs'),
      figure({ name: 'write to update heard, p50', share: 0.5, aimMs: 1.5 }, 'heardMs'),
      figure({ name: 'write to update heard, p95', share: 0.95, aimMs: 3 }, 'heardMs'),
      figure({ name: 'write to its answer, p50', share: 0.5, aimMs: 1.5 }, 'answeredMs'),
    ]
  } finally {
    closeSync(file)
    load.close()
    await server.stop()
  }
}
