// The journal store on PostgreSQL beside SQLite, and beside an append in a transaction of its own: acknowledged writes a
// second, by writers and processes; and how soon another process hears of what was acknowledged, beside a bare commit.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { postgresMissing, startPostgres } from '@tallystick/journal-store/postgres-server'
import { type Figure, judgeFigure } from '../figure.ts'
import { median, quantile } from '../quantile.ts'
import {
  type JournalEngine,
  migrateNotes,
  openPostgresNotes,
  pauseFor,
} from '../server/journal-notes.ts'
import type { JournalAnswer, JournalOrder } from '../server/journal-writer.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const WARM_MS = 300
const MEASURED_MS = 1_500
const ROUNDS = 3
/** Writers in all, over so many processes. */
const CELLS = [
  [1, 1],
  [8, 1],
  [64, 1],
  [1, 3],
  [8, 3],
  [64, 3],
] as const
/** Appends whose way to another process is measured, and the pause between two, milliseconds. */
const HEARD = 400
const HEARD_WARM = 100
const HEARD_PAUSE_MS = 5
const NANOS_PER_MS = 1e6

const WRITER = fileURLToPath(new URL('../server/journal-writer.ts', import.meta.url))

async function readAnswer<Kind extends JournalAnswer['kind']>(
  child: ChildProcess,
  kind: Kind,
): Promise<Extract<JournalAnswer, { kind: Kind }>> {
  const [answer] = (await once(child, 'message')) as [JournalAnswer]
  if (answer.kind !== kind) throw new Error(`it answered ${answer.kind}`)
  return answer as Extract<JournalAnswer, { kind: Kind }>
}

const order = (child: ChildProcess, what: JournalOrder): void => void child.send(what)

async function startWriter(args: readonly string[]): Promise<ChildProcess> {
  const child = fork(WRITER, [...args])
  await readAnswer(child, 'ready')
  return child
}

async function stopWriter(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  order(child, { kind: 'stop' })
  await ended
}

/** Acknowledged appends a second of writers that are dealt out over all processes. */
async function measureRate(children: readonly ChildProcess[], writers: number): Promise<number> {
  const run = async (forMs: number): Promise<number> => {
    const answers = children.map(async (child, at) => {
      const answered = readAnswer(child, 'wrote')
      const own = Math.floor((writers + at) / children.length)
      order(child, { kind: 'write', writers: own, forMs })
      return (await answered).appends
    })
    return (await Promise.all(answers)).reduce((sum, appends) => sum + appends, 0)
  }
  await run(WARM_MS)
  return (await run(MEASURED_MS)) / (MEASURED_MS / 1_000)
}

type Server = ReturnType<typeof startPostgres>
type Folder = ReturnType<typeof temporaryFolder>

let places = 0

/** Processes over one new store of an engine. */
async function openWriters(
  engine: JournalEngine,
  processes: number,
  { folder, server }: { readonly folder: Folder; readonly server: Server },
): Promise<readonly ChildProcess[]> {
  const checkpoints = () => folder.file(`notes-${(places += 1)}`)
  if (engine === 'sqlite') {
    const place = checkpoints()
    const first = await startWriter([engine, place])
    const others = Array.from({ length: processes - 1 }, () => startWriter([engine, place]))
    return [first, ...(await Promise.all(others))]
  }
  const database = await server.database()
  await migrateNotes(database.owner)
  return Promise.all(
    Array.from({ length: processes }, () =>
      startWriter([engine, database.as('notes_app'), checkpoints()]),
    ),
  )
}

async function measureCell(
  [writers, processes]: readonly [number, number],
  at: { readonly folder: Folder; readonly server: Server },
): Promise<readonly Figure[]> {
  const rates: Record<JournalEngine, number[]> = { postgres: [], own: [], sqlite: [] }
  const engines = Object.keys(rates) as readonly JournalEngine[]
  const opened = new Map<JournalEngine, readonly ChildProcess[]>()
  for (const engine of engines) opened.set(engine, await openWriters(engine, processes, at))
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [engine, children] of opened)
      rates[engine].push(await measureRate(children, writers))
  for (const children of opened.values()) for (const child of children) await stopWriter(child)
  const figure = (baseline: string, engine: JournalEngine, isAimed: boolean): Figure =>
    judgeFigure({
      name: `appends on PostgreSQL, ${writers} writers over ${processes} processes`,
      value: median(rates.postgres),
      unit: '/s',
      baseline: { name: baseline, value: median(rates[engine]) },
      higherIsBetter: true,
      aim: isAimed ? { kind: 'ratio', times: 4.5 } : { kind: 'none' },
    })
  return [
    figure('a transaction for each append', 'own', writers > 60),
    figure('SQLite', 'sqlite', false),
  ]
}

/** From an append's acknowledgement to another process that has seen it. */
async function measureHeard(folder: Folder, server: Server): Promise<readonly Figure[]> {
  const database = await server.database()
  await migrateNotes(database.owner)
  const url = database.as('notes_app')
  const listener = await startWriter(['postgres', url, folder.file('listener')])
  const notes = await openPostgresNotes(url, folder.file('teller'), 'postgres')
  const commits: number[] = []
  const acknowledged: bigint[] = []
  const heard = readAnswer(listener, 'heard')
  order(listener, { kind: 'hear', entries: HEARD + HEARD_WARM })
  await pauseFor(HEARD_PAUSE_MS)
  for (let count = 0; count < HEARD + HEARD_WARM; count += 1) {
    await notes.append(`note ${count}`)
    acknowledged.push(process.hrtime.bigint())
    await pauseFor(HEARD_PAUSE_MS)
    const startMs = performance.now()
    await notes.bareCommit()
    commits.push(performance.now() - startMs)
  }
  const { seenNanos } = await heard
  await notes.close()
  await stopWriter(listener)
  const delays = seenNanos
    .slice(HEARD_WARM)
    .map(
      (nanos, at) => Number(BigInt(nanos) - (acknowledged[at + HEARD_WARM] ?? 0n)) / NANOS_PER_MS,
    )
  const own = commits.slice(HEARD_WARM)
  return (
    [
      ['p50', 0.5, 1],
      ['p95', 0.95, 3],
    ] as const
  ).map(([name, share, aimMs]) =>
    judgeFigure({
      name: `acknowledged to heard by another process, ${name}`,
      value: Math.max(quantile(delays, share), 0.001),
      unit: 'ms',
      baseline: { name: 'a bare commit of one row', value: quantile(own, share) },
      aim: { kind: 'at-most', value: aimMs },
    }),
  )
}

/** Needs Debian's PostgreSQL, or that of PG_BIN; a server that waits for the disk. */
export async function measureJournal(): Promise<readonly Figure[]> {
  if (postgresMissing !== undefined) throw new Error(postgresMissing)
  using folder = temporaryFolder()
  const server = startPostgres({ isDurable: true })
  try {
    const figures: Figure[] = []
    for (const cell of CELLS) figures.push(...(await measureCell(cell, { folder, server })))
    return [...figures, ...(await measureHeard(folder, server))]
  } finally {
    server.end()
  }
}
