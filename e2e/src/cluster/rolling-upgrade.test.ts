// C44: care and grading are brought to a next release while they serve, in the order that docs/how-to/postgres.md says, by its
// commands; what clients saw is judged by checkers that took no part.
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import {
  ownPostgresMissing,
  runSql,
  startPostgres,
} from '../../../packages/journal-store/src/postgres-server.fixture.ts'
import { startServiceProcess } from '../../../packages/service-kit/src/service-process.fixture.ts'
import { eventually } from '../eventually.ts'
import { readStored, startCareCluster } from './care-cluster.ts'
import { listen, runWriter, writeOnce } from './care-load.ts'
import { checkHistory, type WriteSeen } from './check-history.ts'
import { checkPayments, type PaymentSeen } from './check-payments.ts'
import { startGradingCluster } from './grading-cluster.ts'

const PAGE = new URL('../../../docs/how-to/postgres.md', import.meta.url)
const [, SECTION = ''] = readFileSync(PAGE, 'utf8').split('## Replace a release while it serves\n')
/** The commands of one of its steps, each as its words. */
const readCommands = (step: number): readonly (readonly string[])[] =>
  [...(SECTION.match(new RegExp(`^${step}\\. .*$`, 'm'))?.[0] ?? '').matchAll(/`([^`]+)`/g)]
    .map(([, command = '']) => command.split(' '))
    .filter(([, verb]) => verb === 'migrate')

/** What Node loads before a program of a release that is so many steps of its schema ahead. */
const later = (steps: number): readonly string[] => [
  '--import',
  new URL(`later-release.fixture.ts?steps=${steps}`, import.meta.url).href,
]
const NEXT = later(1)
const AFTER_NEXT = later(2)

const PROCESSES = 2
const CHAINS = 4
const WRITERS = ['a', 'b', 'c']
const BUYERS = 2
/** Of each of them between two requests, milliseconds. */
const PAUSE_MS = 100
/** In a quiet moment it goes on by so much. */
const [WRITES, GRADES] = [15, 2]

const skipped = ownPostgresMissing === undefined ? '' : ` (skipped: ${ownPostgresMissing})`
const endings: (() => unknown)[] = []
afterAll(async () => {
  for (const end of endings.toReversed()) await end()
})

async function startBoth() {
  const server = startPostgres({ isOwn: true })
  endings.push(() => server.end())
  const database = await server.database()
  const { owner } = database
  const starting = [
    startCareCluster({ url: database.as('care_app'), adminUrl: owner }, PROCESSES),
    startGradingCluster({ url: database.as('grading_app'), adminUrl: owner }, PROCESSES),
  ] as const
  for (const start of starting) endings.push(async () => (await start).stop())
  const [care, grading] = await Promise.all(starting)
  return { care, grading, owner }
}

type Both = Awaited<ReturnType<typeof startBoth>>

/** Writers, listeners and buyers, until they are told to end. */
async function startLoad({ care, grading }: Both) {
  const writes: WriteSeen[] = []
  for (let chain = 0; chain < CHAINS; chain += 1)
    writes.push(await writeOnce(care.care, { chain, value: `first ${chain}` }))
  const listening = [0, 1, 2].map((at) =>
    listen(care, { name: `listener ${at}`, chain: at, hearsAll: at === 0 }),
  )
  const listeners = await Promise.all(listening)
  const over = new AbortController()
  const common = { chains: CHAINS, pauseMs: PAUSE_MS, ended: over.signal }
  const writing = WRITERS.map((name) => runWriter(care.care, { ...common, name }, writes))
  const grades: PaymentSeen[] = []
  let bought = 0
  const buying = Array.from({ length: BUYERS }, async () => {
    while (!over.signal.aborted) {
      grades.push(await grading.pay((bought += 1)))
      await pause(PAUSE_MS)
    }
  })
  return {
    writes,
    grades,
    listeners,
    /** Resolves once all have gone on. */
    async goOn(): Promise<void> {
      const [written, graded] = [writes.length + WRITES, grades.length + GRADES]
      await eventually(() => writes.length >= written && grades.length >= graded)
    },
    async end(): Promise<void> {
      over.abort()
      await Promise.all([...writing, ...buying])
    },
  }
}

/** Runs a release's command of both services; returns the errors of those that fail. */
async function runCommands(
  owner: string,
  release: readonly string[],
  commands: ReturnType<typeof readCommands>,
): Promise<readonly string[]> {
  expect(commands.map(([name]) => name)).toEqual(['care', 'grading'])
  const ended = await Promise.all(
    commands.map(([name, ...words]) => {
      const main = new URL(`../../../services/${name}/src/command/main.ts`, import.meta.url)
      const all = [...release, fileURLToPath(main), ...words]
      return startServiceProcess(all, { DATABASE_URL: owner }).ended
    }),
  )
  return ended.flatMap(({ code, errors }) => (code === 0 ? [] : [errors]))
}

/** The schemas of the programs that serve now. */
async function readReleases(owner: string, service: string): Promise<readonly number[]> {
  const sql = `SELECT schema_version::int AS n FROM ${service}.processes ORDER BY n`
  return (await runSql(owner, sql)).rows.map(({ n }: { readonly n: number }) => n)
}

it.skipIf(ownPostgresMissing !== undefined)(
  `C44, G12: care and grading get a next release as the how-to says, one process after the other and under load: nothing is lost or doubled, and a release two behind is refused${skipped}`,
  async () => {
    const both = await startBoth()
    const { care, grading, owner } = both
    const services = [care, grading]
    const releases = () => Promise.all(services.map(({ name }) => readReleases(owner, name)))
    const replace = (at: number) =>
      Promise.all(services.map((service) => service.replace(at, NEXT)))
    const load = await startLoad(both)
    const from = new Map(load.writes.map(({ chain }) => [chain, 1]))
    await load.goOn()
    expect(await runCommands(owner, NEXT, readCommands(1))).toEqual([])
    await load.goOn()
    await replace(0)
    await expect.poll(releases).toEqual(services.map(() => [1, 2]))
    await load.goOn()
    const refusal = expect.stringContaining('processes of the release before serve it: 1')
    expect(await runCommands(owner, NEXT, readCommands(3))).toEqual([refusal, refusal])
    await replace(1)
    expect(await runCommands(owner, NEXT, readCommands(3))).toEqual([])
    // The one after that is added beside the next one, and no more beside this one.
    expect(await runCommands(owner, AFTER_NEXT, readCommands(1))).toEqual([])
    const tooOld = services.map((service) => service.replace(0, []).catch(String))
    const reason = 'its schema is 3, that of this program 1: a program opens its own schema, and'
    expect(await Promise.all(tooOld)).toEqual(services.map(() => expect.stringContaining(reason)))
    await load.goOn()
    await load.end()
    const again = await grading.payAgain()
    const judge = async () => [
      ...checkHistory({
        writes: load.writes,
        reads: [],
        sessions: load.listeners.flatMap((listener) => listener.seen(from)),
        stored: await readStored(owner),
        faults: [],
      }),
      ...checkPayments({
        payments: [...load.grades, ...again],
        calls: [],
        charges: await grading.charges(),
        effects: await grading.effects(owner),
      }),
    ]
    // What was written last is heard a moment later.
    await eventually(async () => (await judge()).length === 0).catch(() => undefined)
    expect(await judge()).toEqual([])
    expect(load.writes.filter(({ outcome }) => outcome.kind === 'refused')).toEqual([])
    await Promise.all(load.listeners.map((listener) => listener.stop()))
  },
)
