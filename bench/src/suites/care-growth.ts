// What a person waits for while the store grows: a list, a completion and `/verify`, at 1,000 to 100,000 chains of two versions;
// and writes by 1, 8 and 64 writers at once, alone and while a visitor loops on `/verify`.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Figure, judgeFigure } from '../figure.ts'
import { McpLoad } from '../mcp-load.ts'
import { median } from '../quantile.ts'
import { ServerProcess } from '../server-process.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const CHAINS = [1_000, 10_000, 100_000] as const
const VERSIONS_PER_CHAIN = 2
const REPEATS = 200
const WRITERS = [1, 8, 64] as const
const WRITES = 2_000
const WARM_WRITES = 500

async function medianMs(ask: () => Promise<unknown>, repeats = REPEATS): Promise<number> {
  const times: number[] = []
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const startMs = performance.now()
    await ask()
    times.push(performance.now() - startMs)
  }
  return median(times)
}

async function measureLists(databasePath: string, chains: number): Promise<readonly Figure[]> {
  const fill = fileURLToPath(new URL('../server/fill-store.ts', import.meta.url))
  const sizes = [String(chains * VERSIONS_PER_CHAIN), String(chains)]
  await promisify(execFile)(process.execPath, [fill, databasePath, 'clear', ...sizes])
  const server = await ServerProcess.start('care-server.ts', [databasePath, 'clear'])
  const load = new McpLoad(server.url)
  try {
    const [session = ''] = await load.openSessions(1)
    const ref = { type: 'ref/prompt', name: 'brief_carer' }
    const argument = { name: 'patient', value: 'patient-1' }
    const pingMs = await medianMs(() => load.ping(session))
    const first = await medianMs(() => load.get('/verify'), 1)
    const figure = (name: string, value: number, atMostMs?: number): Figure =>
      judgeFigure({
        name: `${name}, ${chains.toLocaleString('en')} chains`,
        value,
        unit: 'ms',
        baseline: { name: 'ping', value: pingMs },
        aim: atMostMs === undefined ? { kind: 'none' } : { kind: 'at-most', value: atMostMs },
      })
    const complete = () => load.call(session, 'completion/complete', { ref, argument })
    return [
      figure(
        'resources/list, first page',
        await medianMs(() => load.call(session, 'resources/list', {})),
        2,
      ),
      figure('completion of a patient', await medianMs(complete), 2),
      figure('/verify, nothing changed', await medianMs(() => load.get('/verify'), 30), 20),
      figure('/verify, first replay', first),
    ]
  } finally {
    load.close()
    await server.stop()
  }
}

/** Writes a second by that many writers at once, each with a record of its own. */
async function writesPerSecond(load: McpLoad, writers: number, count: number): Promise<number> {
  const startMs = performance.now()
  let left = count
  const write = async (writer: number): Promise<void> => {
    for (; left > 0; left -= 1) {
      const value = `Two tablets after breakfast, note ${left}.`
      await load.writeRecord({ patient: 'ann', domain: `d-${writer}`, value, authorId: 'dr-osei' })
    }
  }
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)))
  return (count * 1_000) / (performance.now() - startMs)
}

/** Runs work while a visitor asks for `/verify` again and again. */
async function besideVisitor<Result>(load: McpLoad, work: () => Promise<Result>): Promise<Result> {
  const leaving = new AbortController()
  const visiting = (async () => {
    while (!leaving.signal.aborted) await load.get('/verify')
  })()
  try {
    return await work()
  } finally {
    leaving.abort()
    await visiting
  }
}

async function measureWriters(databasePath: string): Promise<readonly Figure[]> {
  const server = await ServerProcess.start('care-server.ts', [databasePath, 'clear'])
  const load = new McpLoad(server.url, Math.max(...WRITERS) + 1)
  const visitor = new McpLoad(server.url)
  try {
    await writesPerSecond(load, 8, WARM_WRITES)
    const alone = await writesPerSecond(load, 1, WRITES)
    const figures: Figure[] = []
    for (const writers of WRITERS) {
      const speed = await writesPerSecond(load, writers, WRITES)
      const visited = await besideVisitor(visitor, () => writesPerSecond(load, writers, WRITES))
      figures.push(
        judgeFigure({
          name: `writes a second, ${writers} writers`,
          value: speed,
          unit: '/s',
          baseline: { name: 'one writer', value: alone },
          higherIsBetter: true,
          aim: writers === 64 ? { kind: 'ratio', times: 6 } : { kind: 'none' },
        }),
        judgeFigure({
          name: `writes a second, ${writers} writers, a visitor loops on /verify`,
          value: visited,
          unit: '/s',
          baseline: { name: 'without the visitor', value: speed },
          higherIsBetter: true,
          aim: { kind: 'ratio', times: 0.8 },
        }),
      )
    }
    return figures
  } finally {
    load.close()
    visitor.close()
    await server.stop()
  }
}

/** Nothing that a person waits for grows with the store. */
export async function measureCareGrowth(): Promise<readonly Figure[]> {
  using folder = temporaryFolder()
  const figures: Figure[] = []
  for (const chains of CHAINS)
    figures.push(...(await measureLists(folder.file(`care-${chains}.db`), chains)))
  return [...figures, ...(await measureWriters(folder.file(`care-${CHAINS[2]}.db`)))]
}
