// A primary and two standbys as docs/how-to/several-machines.md sets them up: any of them keeps the rule once it is promoted. All
// that reaches a server, the others too, passes a cable of its own, which can be cut: one in user space, or that of a network
// namespace.
import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  COPY_SERVER,
  INITIALISE_SERVER,
  makeServerFolder,
  runSql,
  signalServer,
  startProgram,
} from '../../../packages/journal-store/src/postgres-server.fixture.ts'
import { tryNamespaces } from './namespaces.ts'
import { startCable } from './tcp-cable.ts'

const NAMES = ['one', 'two', 'three'] as const
type Name = (typeof NAMES)[number]
/** Whoever fails over takes so long to decide, milliseconds. */
const DECISION_MS = 1_000
/** A standby gives a silent primary up after this, seconds. */
const RECEIVER_SECONDS = 3

export type DatabaseFault = 'killed' | 'frozen' | 'cut off'

/** What leads to a server, whose socket is in a folder as well. */
type Cable = {
  readonly host: string
  readonly port: number
  /** The namespace that the server is in. */
  readonly namespace?: string
  cut(): void
  mend(): void
  stop(): void
}

/** Isolated, each server is in a network namespace of its own where the system makes them. */
export async function startTrio({ isIsolated }: { readonly isIsolated: boolean }) {
  const folder = makeServerFolder()
  const opened = isIsolated ? tryNamespaces(NAMES) : undefined
  const network = typeof opened === 'object' ? opened : undefined
  const socketPort = (name: Name): number => 5432 + NAMES.indexOf(name)
  const dataFolder = (name: Name): string => join(folder, name)
  const lay = async (name: Name): Promise<Cable> =>
    network?.plug(name, socketPort(name)) ??
    startCable(join(folder, `.s.PGSQL.${socketPort(name)}`))
  const cables = Object.fromEntries(
    await Promise.all(NAMES.map(async (name) => [name, await lay(name)])),
  ) as Record<Name, Cable>
  /** Not by its cable. */
  const directUrl = (name: Name, database = 'postgres'): string =>
    `postgres://postgres@${encodeURIComponent(folder)}:${socketPort(name)}/${database}`
  // The cables go on meanwhile.
  const control = (name: Name, words: readonly string[]): Promise<void> =>
    startProgram(folder, ['pg_ctl', '-D', dataFolder(name), '-w', ...words], cables[name].namespace)
  const start = (name: Name): Promise<void> =>
    control(name, [
      '-l',
      `${dataFolder(name)}.log`,
      '-o',
      `-p ${socketPort(name)} -k ${folder} -c listen_addresses='${cables[name].namespace === undefined ? '' : cables[name].host}' -c shared_buffers=16MB -c fsync=off -c wal_keep_size=256MB -c max_connections=200 -c wal_receiver_timeout=${RECEIVER_SECONDS}s -c wal_retrieve_retry_interval=500ms -c hot_standby_feedback=off`,
      'start',
    ])
  const follow = (name: Name, leader: Name): void =>
    appendFileSync(
      join(dataFolder(name), 'postgresql.auto.conf'),
      `primary_conninfo = 'host=${cables[leader].host} port=${cables[leader].port} user=postgres application_name=${name}'\n`,
    )
  const copy = async (name: Name, leader: Name): Promise<void> => {
    rmSync(dataFolder(name), { recursive: true, force: true })
    const from = ['-h', folder, '-p', String(socketPort(leader)), '-D', dataFolder(name)]
    await startProgram(folder, [...COPY_SERVER, ...from])
    follow(name, leader)
    await start(name)
  }
  let primary: Name = 'one'
  let silentReceiver: number | undefined
  const untilFollowed = async (count: number): Promise<void> => {
    for (;;) {
      const sql = "SELECT count(*)::int AS n FROM pg_stat_replication WHERE sync_state = 'quorum'"
      const { rows } = await runSql(directUrl(primary), sql)
      if (Number(rows[0]?.['n']) >= count) return
      await pause(100)
    }
  }
  await startProgram(folder, [...INITIALISE_SERVER, '-D', dataFolder('one')])
  appendFileSync(
    join(dataFolder('one'), 'pg_hba.conf'),
    'host all all samenet trust\nhost replication all samenet trust\n',
  )
  await start('one')
  const rule = `ANY 1 (${NAMES.join(', ')})`
  await runSql(directUrl('one'), `ALTER SYSTEM SET synchronous_standby_names = '${rule}'`)
  await runSql(directUrl('one'), 'CREATE DATABASE tallystick')
  await Promise.all([copy('two', 'one'), copy('three', 'one')])
  await runSql(directUrl('one'), 'SELECT pg_reload_conf()')
  await untilFollowed(2)

  const received = async (name: Name): Promise<bigint> => {
    const sql = "SELECT (pg_last_wal_receive_lsn() - '0/0')::text AS bytes"
    const { rows } = await runSql(directUrl(name), sql)
    return BigInt(String(rows[0]?.['bytes']))
  }
  /** The standby that has more leads, and the other one follows it. */
  const promote = async (): Promise<void> => {
    const [a, b] = NAMES.filter((name) => name !== primary) as [Name, Name]
    const leader = (await received(a)) >= (await received(b)) ? a : b
    await control(leader, ['promote'])
    if (silentReceiver !== undefined) process.kill(silentReceiver, 'SIGCONT')
    silentReceiver = undefined
    const follower = leader === a ? b : a
    follow(follower, leader)
    await control(follower, ['reload'])
    primary = leader
  }
  return {
    /** What leads to the servers, and why it is not the other thing. */
    cables:
      typeof opened === 'object'
        ? 'links of network namespaces'
        : `cables in user space${opened === undefined ? '' : `, without network namespaces: ${opened}`}`,
    url: `postgres://postgres@${NAMES.map((name) => `${cables[name].host}:${cables[name].port}`).join(',')}/tallystick`,
    primaryUrl: () => directUrl(primary, 'tallystick'),
    /** The primary fails, and another leads. Resolves with how the failed one comes back: first as it was, then as a standby. */
    async fail(fault: DatabaseFault): Promise<() => Promise<void>> {
      const failed = primary
      const server = { folder, data: dataFolder(failed) }
      if (fault === 'killed') await control(failed, ['-m', 'immediate', 'stop'])
      else if (fault === 'frozen') signalServer(server, 'SIGSTOP')
      else cables[failed].cut()
      await pause(DECISION_MS)
      await promote()
      return async () => {
        if (fault === 'frozen') signalServer(server, 'SIGCONT')
        if (fault === 'cut off') cables[failed].mend()
        await pause(DECISION_MS)
        if (fault !== 'killed') await control(failed, ['-m', 'immediate', 'stop'])
        await copy(failed, primary)
        await untilFollowed(2)
      }
    },
    /** The primary hangs for so long, and nobody takes its place: writes wait. */
    async hang(ms: number): Promise<void> {
      const server = { folder, data: dataFolder(primary) }
      signalServer(server, 'SIGSTOP')
      await pause(ms)
      signalServer(server, 'SIGCONT')
    },
    /**
     * Until another leads, one standby confirms what it does not replay, and the other receives nothing. Resolves with what tells
     * by how many bytes each lags.
     */
    async lag() {
      const [sleepy, silent] = NAMES.filter((name) => name !== primary) as [Name, Name]
      await runSql(directUrl(sleepy), 'SELECT pg_wal_replay_pause()')
      // On a busy machine it may be about to connect again.
      while (silentReceiver === undefined) {
        const { rows } = await runSql(directUrl(silent), 'SELECT pid FROM pg_stat_wal_receiver')
        if (rows.length === 0) await pause(100)
        else silentReceiver = Number(rows[0]?.['pid'])
      }
      process.kill(silentReceiver, 'SIGSTOP')
      return async () => {
        const sql = '(pg_last_wal_receive_lsn() - pg_last_wal_replay_lsn())::int AS bytes'
        const paused = await runSql(directUrl(sleepy), `SELECT ${sql}`)
        return {
          replaying: Number(paused.rows[0]?.['bytes']),
          receiving: Number((await received(sleepy)) - (await received(silent))),
        }
      }
    },
    /** A standby is gone for so long: the other one confirms. Resolves once both follow. */
    async loseStandby(ms: number): Promise<void> {
      const lost = NAMES.find((name) => name !== primary) ?? primary
      await control(lost, ['-m', 'immediate', 'stop'])
      await pause(ms)
      await start(lost)
      await untilFollowed(2)
    },
    async end(): Promise<void> {
      for (const name of NAMES) {
        // It may not be running.
        await control(name, ['-m', 'immediate', 'stop']).catch(() => undefined)
        cables[name].stop()
      }
      network?.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
