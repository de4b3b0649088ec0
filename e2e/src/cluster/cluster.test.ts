// C25: three processes of care over a primary and two synchronous standbys, behind a plain proxy, while processes and primaries
// fail. What clients saw is judged by a checker that took no part. In the long run there are more clients, and every fault.
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  ownPostgresMissing,
  runSql,
} from '../../../packages/journal-store/src/postgres-server.fixture.ts'
import { type CareCluster, startCareCluster } from './care-cluster.ts'
import {
  type Listener,
  listen,
  listenOfficially,
  runReader,
  runWriter,
  writeOnce,
} from './care-load.ts'
import { checkHistory, type WriteSeen } from './check-history.ts'
import { type DatabaseFault, startTrio } from './postgres-trio.ts'

const IS_LONG = process.env['TALLYSTICK_LONG'] === '1'
const CHAINS = 12
const WRITERS = 8
const READERS = 4
const LISTENERS = IS_LONG ? 280 : 24
const OFFICIAL_LISTENERS = IS_LONG ? 20 : 4
/** Between faults, milliseconds: the cluster works as it should. */
const QUIET_MS = IS_LONG ? 20_000 : 2_000
/** Longer than a process is remembered that says nothing. */
const STOPPED_MS = 15_000
const SETTLED_MS = 60_000

/** Every version of every chain, from the primary itself. */
async function readStored(url: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await runSql(
    url,
    `SELECT c.patient, c.domain, v.version::int AS version, convert_from(v.body, 'UTF8') AS body
     FROM care.user_versions v JOIN care.chains c ON c.id = v.chain ORDER BY c.id, v.version`,
  )
  const stored = new Map<string, string[]>()
  for (const { body, domain, patient } of rows) {
    const chain = `care://${String(patient)}/${String(domain)}`
    const { value } = JSON.parse(String(body)) as { value: string }
    stored.set(chain, [...(stored.get(chain) ?? []), value])
  }
  return stored
}

const skipped = ownPostgresMissing === undefined ? '' : ` (skipped: ${ownPostgresMissing})`

describe.skipIf(ownPostgresMissing !== undefined)(`C25: a cluster of care${skipped}`, () => {
  let trio: Awaited<ReturnType<typeof startTrio>>
  let cluster: CareCluster
  beforeAll(async () => {
    trio = await startTrio()
    cluster = await startCareCluster({ url: trio.url, adminUrl: trio.primaryUrl() })
  })
  afterAll(async () => {
    await cluster?.stop()
    trio?.end()
  })

  it('loses and doubles no write and no correction, whatever fails', async () => {
    const { care, proxyPort } = cluster
    const first: WriteSeen[] = []
    for (let chain = 0; chain < CHAINS; chain += 1)
      first.push(await writeOnce(care, { chain, value: `first ${chain}` }))
    const from = new Map(first.map(({ chain }) => [chain, 1]))
    const listeners: Listener[] = []
    for (let at = 0; at < LISTENERS; at += 1)
      listeners.push(
        await listen(care, { name: `listener ${at}`, port: proxyPort, chain: at % CHAINS }),
      )
    for (let at = 0; at < OFFICIAL_LISTENERS; at += 1)
      listeners.push(await listenOfficially(care, { name: `official ${at}`, chain: at % CHAINS }))
    const load = new AbortController()
    const common = { chains: CHAINS, pauseMs: 20, ended: load.signal }
    const writing = Array.from({ length: WRITERS }, (_, at) =>
      runWriter(care, { ...common, name: `writer ${at}` }),
    )
    const reading = Array.from({ length: READERS }, (_, at) =>
      runReader(care, { ...common, name: `reader ${at}` }),
    )

    /** A write that begins now is acknowledged; how long it took. */
    const figures: string[] = []
    let probes = 0
    const probed: WriteSeen[] = []
    const untilWritten = async (fault: string): Promise<void> => {
      const fromMs = Date.now()
      const seen = await writeOnce(care, { chain: 0, value: `probe ${(probes += 1)}` })
      probed.push(seen)
      expect(seen.outcome.kind, fault).toBe('acknowledged')
      figures.push(`${fault}: ${Date.now() - fromMs} ms`)
    }
    const killOne = async (at: number): Promise<void> => {
      const restarted = cluster.killAndRestart(at)
      await untilWritten(`process ${at} killed`)
      await restarted
    }
    const stopOne = async (at: number): Promise<void> => {
      cluster.signal(at, 'SIGSTOP')
      await untilWritten(`process ${at} stopped`)
      await pause(STOPPED_MS)
      cluster.signal(at, 'SIGCONT')
      await untilWritten(`process ${at} woken`)
    }
    const failPrimary = async (fault: DatabaseFault): Promise<void> => {
      const failing = trio.fail(fault)
      await untilWritten(`primary ${fault}`)
      const mend = await failing
      await mend()
      await untilWritten(`primary ${fault}, and back`)
    }
    const short = [() => killOne(0), () => failPrimary('killed'), () => killOne(1)]
    const long = [
      ...short,
      () => stopOne(2),
      () => failPrimary('frozen'),
      () => killOne(2),
      () => failPrimary('cut off'),
    ]
    for (const fault of IS_LONG ? long : short) {
      await pause(QUIET_MS)
      await fault()
    }
    await pause(QUIET_MS)
    load.abort()
    const [writes, reads] = [
      (await Promise.all(writing)).flat(),
      (await Promise.all(reading)).flat(),
    ]
    await cluster.untilAllReady()
    const stored = await readStored(trio.primaryUrl())
    const judge = () =>
      checkHistory({
        writes: [...first, ...probed, ...writes],
        reads,
        sessions: listeners.flatMap((listener) => listener.seen(from)),
        stored,
      })
    const untilMs = Date.now() + SETTLED_MS
    while (judge().length > 0 && Date.now() < untilMs) await pause(250)
    const acknowledged = writes.filter(({ outcome }) => outcome.kind === 'acknowledged').length
    console.info(
      `${acknowledged} of ${writes.length} writes acknowledged, ${reads.length} reads, ${listeners.length} listeners`,
      figures,
    )
    expect(judge()).toEqual([])
    expect(acknowledged).toBeGreaterThan(WRITERS)
    expect(reads.length).toBeGreaterThan(READERS)
    await Promise.all(listeners.map((listener) => listener.stop()))
  })
})
