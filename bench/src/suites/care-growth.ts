// What a person waits for while the store grows: a list, a completion, a search and `/verify`, at 1,000 to 100,000 chains of two versions;
// and writes by 1, 8 and 64 writers at once: alone, while a visitor loops on `/verify`, and on a disk that takes longer; with the
// stages in which their time goes.
import { execFile } from 'node:child_process'
import { globSync, mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Figure, judgeFigure } from '../figure.ts'
import { McpLoad } from '../mcp-load.ts'
import { median } from '../quantile.ts'
import { drain } from '../raw-load.ts'
import { ServerProcess } from '../server-process.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { monotonicMicros, STAGE_NAMES, stageMicros } from '../write-stages.ts'

const CHAINS = [1_000, 10_000, 100_000] as const
const VERSIONS_PER_CHAIN = 2
const REPEATS = 200
/** As `fill-record.ts` writes them. */
const COMMON_WORDS = 'one tablet after breakfast'
const WRITERS = [1, 8, 64] as const
const WRITES = 2_000
const WARM_WRITES = 500
/** What each fsync of the slower disk takes longer, milliseconds. */
const SLOWER_MS = 1
/** Between two reports, milliseconds: a visitor who does not loop. */
const REPORT_EVERY_MS = 250
const REPORTS = 30

async function medianMs(
  ask: () => Promise<unknown>,
  { repeats = REPEATS, everyMs = 0 } = {},
): Promise<number> {
  const times: number[] = []
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    if (everyMs > 0) await new Promise((resolve) => setTimeout(resolve, everyMs))
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
  const report = () => drain(`${server.url}/verify`)
  try {
    const [session = ''] = await load.openSessions(1)
    const ref = { type: 'ref/prompt', name: 'brief_carer' }
    const argument = { name: 'patient', value: 'patient-1' }
    const pingMs = await medianMs(() => load.ping(session))
    const first = await medianMs(report, { repeats: 1 })
    const unchanged = await medianMs(report, { repeats: REPORTS, everyMs: REPORT_EVERY_MS })
    const figure = (name: string, value: number, atMostMs?: number): Figure =>
      judgeFigure({
        name: `${name}, ${chains.toLocaleString('en')} chains`,
        value,
        unit: 'ms',
        baseline: { name: 'ping', value: pingMs },
        aim: atMostMs === undefined ? { kind: 'none' } : { kind: 'at-most', value: atMostMs },
      })
    const complete = () => load.call(session, 'completion/complete', { ref, argument })
    const list = () => load.call(session, 'resources/list', {})
    const search = (query: string) => () =>
      load.call(session, 'tools/call', { name: 'search', arguments: { query } })
    const [searchName, searchWords] = [search(`patient-${chains - 1}`), search(COMMON_WORDS)]
    // The first search waits until the index has read the store.
    for (const ask of [list, complete, searchName, searchWords]) await medianMs(ask)
    return [
      figure('resources/list, first page', await medianMs(list), 2),
      figure('completion of a patient', await medianMs(complete), 2),
      figure('search for a name', await medianMs(searchName), 5),
      figure('search for words of every record', await medianMs(searchWords), 5),
      figure('/verify, nothing changed', unchanged),
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
async function besideVisitor<Result>(url: string, work: () => Promise<Result>): Promise<Result> {
  const visitor = await ServerProcess.start('verify-visitor.ts', [url])
  try {
    return await work()
  } finally {
    await visitor.stop()
  }
}

type Writing = { readonly server: ServerProcess; readonly load: McpLoad }

/** Runs work on a server with a store, warmed up. */
async function withWriters<Result>(
  { args, profile }: { readonly args: readonly string[]; readonly profile?: string },
  work: (writing: Writing) => Promise<Result>,
): Promise<Result> {
  const server = await ServerProcess.start('care-server.ts', args, profile)
  const load = new McpLoad(server.url, Math.max(...WRITERS) + 1)
  try {
    await writesPerSecond(load, 8, WARM_WRITES)
    return await work({ server, load })
  } finally {
    load.close()
    await server.stop()
  }
}

const speedFigure = (parts: {
  readonly name: string
  readonly value: number
  readonly baseline: Figure['baseline']
  readonly atLeastTimes?: number
}): Figure =>
  judgeFigure({
    ...parts,
    unit: '/s',
    higherIsBetter: true,
    aim:
      parts.atLeastTimes === undefined
        ? { kind: 'none' }
        : { kind: 'ratio', times: parts.atLeastTimes },
  })

const measureWriters = (databasePath: string): Promise<readonly Figure[]> =>
  withWriters({ args: [databasePath, 'clear'] }, async ({ load, server }) => {
    const alone = await writesPerSecond(load, 1, WRITES)
    const figures: Figure[] = []
    for (const writers of WRITERS) {
      const name = `writes a second, ${writers} writers`
      const speed = await writesPerSecond(load, writers, WRITES)
      const visited = await besideVisitor(server.url, () => writesPerSecond(load, writers, WRITES))
      figures.push(
        speedFigure({
          name,
          value: speed,
          baseline: { name: 'one writer', value: alone },
          ...(writers === 64 ? { atLeastTimes: 6 } : {}),
        }),
        speedFigure({
          name: `${name}, a visitor loops on /verify`,
          value: visited,
          baseline: { name: 'without the visitor', value: speed },
          atLeastTimes: 0.8,
        }),
      )
    }
    return figures
  })

/** The same where the disk, and not this machine's processors, is what one writer waits for. */
const measureSlowDisk = (databasePath: string): Promise<readonly Figure[]> =>
  withWriters({ args: [databasePath, 'clear', String(SLOWER_MS)] }, async ({ load }) => {
    const alone = await writesPerSecond(load, 1, WRITES)
    const speed = await writesPerSecond(load, 64, WRITES)
    const name = `writes a second, 64 writers, an fsync takes ${SLOWER_MS} ms longer`
    const baseline = { name: 'one writer there', value: alone }
    return [speedFigure({ name, value: speed, baseline, atLeastTimes: 6 })]
  })

/** Where the time of a write goes; the profile itself makes it a tenth slower or so. */
async function measureStages(
  { databasePath, profile }: { readonly databasePath: string; readonly profile: string },
  writers: number,
): Promise<readonly Figure[]> {
  mkdirSync(profile)
  const { fromMicros, toMicros } = await withWriters(
    { args: [databasePath, 'clear'], profile },
    async ({ load }) => {
      const from = monotonicMicros()
      await writesPerSecond(load, writers, WRITES)
      return { fromMicros: from, toMicros: monotonicMicros() }
    },
  )
  const [path = ''] = globSync(`${profile}/*.cpuprofile`)
  const spent = stageMicros(path, { fromMicros, toMicros })
  const whole = { name: 'a whole write', value: (toMicros - fromMicros) / WRITES }
  return STAGE_NAMES.map((stage) =>
    judgeFigure({
      name: `of a write, ${writers} writers: ${stage}`,
      value: (spent.get(stage) ?? 0) / WRITES,
      unit: 'µs',
      baseline: whole,
      aim: { kind: 'none' },
    }),
  )
}

/** Nothing that a person waits for grows with the store. */
export async function measureCareGrowth(): Promise<readonly Figure[]> {
  using folder = temporaryFolder()
  const figures: Figure[] = []
  for (const chains of CHAINS)
    figures.push(...(await measureLists(folder.file(`care-${chains}.db`), chains)))
  const databasePath = folder.file(`care-${CHAINS[2]}.db`)
  figures.push(...(await measureWriters(databasePath)), ...(await measureSlowDisk(databasePath)))
  for (const writers of [1, 64]) {
    const profile = folder.file(`profile-${writers}`)
    figures.push(...(await measureStages({ databasePath, profile }, writers)))
  }
  return figures
}
