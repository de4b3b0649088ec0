/**
 * The one door to PostgreSQL: every connection of a process to a database goes through its door, so that hosts, timelines
 * and the end of all waiting are judged here and nowhere else.
 */
import { readFileSync } from 'node:fs'
import type { PostgresFigures } from './postgres-figures.ts'
import { ANSWER_MS, CONNECT_MS, PostgresLine, Unanswered } from './postgres-line.ts'
import { besideDatabase, errorCode, replaceFileNow } from './private-file.ts'
import { errorMessage, type UnavailableError } from './unavailable.ts'

/** One address for each host of a connection string `postgres://user@host:port,host:port/database`. */
function postgresAddresses(url: string): readonly string[] {
  const [, before = '', hosts = '', behind = ''] =
    /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?]*)(.*)$/.exec(url) ?? []
  return hosts.split(',').map((host) => before + host + behind)
}

/** A connection string names this, without who enters and by what password. */
function describeTarget(url: string): string {
  const [, hosts = '', database = ''] = /^\w+:\/\/(?:[^@/]*@)?([^/?]*)\/?([^?]*)/.exec(url) ?? []
  const named = hosts.split(',').map((host) => (/:\d+$/.test(host) ? host : `${host}:5432`))
  return decodeURIComponent(`${named.join(',')}/${database}`)
}

/** How long a host that takes writes is looked for before giving up, milliseconds: a promotion at once takes a second or two. */
const FIND_MS = 5_000
/** Pause before all hosts are asked again, milliseconds. */
const ROUND_PAUSE_MS = 50

/**
 * How long one attempt waits at a host that lets nobody in, milliseconds: a packet that a network swallowed is sent again every
 * four seconds then, at the latest.
 */
const KNOCK_MS = 10_000

export type PostgresOptions = {
  /** Names what lies there, for the operator; by default `the store`. */
  readonly noun?: string | undefined
  /** Several hosts are separated by commas. */
  readonly url: string
  readonly Unavailable: UnavailableError
  /** Resolves after so many milliseconds. */
  readonly pause: (ms: number) => Promise<void>
  /** Beside it the newest timeline is kept, so that the next process knows it, too. */
  readonly databasePath?: string | undefined
  readonly findMs?: number | undefined
  /** How long an answer may take, milliseconds. */
  readonly answerMs?: number | undefined
}

/** A connection may have these for itself. */
export type LineLimits = Pick<PostgresOptions, 'answerMs' | 'findMs'>

/**
 * A promotion begins a new timeline: the first eight hex digits of a WAL file's name. A standby tells the one that it follows,
 * some minutes late.
 */
const STATE = `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS is_read_only,
  (SELECT system_identifier::text FROM pg_control_system()) AS system,
  CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
    ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline`

type ServerState = {
  readonly is_read_only: boolean
  /** Of the cluster: its primary and standbys share it. */
  readonly system: string
  readonly timeline: number
}

type FoundServer = { readonly line: PostgresLine; readonly state: ServerState }

const TIMELINE_ENDING = '.timeline'

/** The newest timelines that were seen, by cluster, in a file beside the checkpoints. */
class SeenTimelines {
  readonly #path: string | undefined
  #seen: Readonly<Record<string, number>>

  constructor(databasePath: string | undefined, Unavailable: UnavailableError) {
    this.#path = databasePath && besideDatabase(databasePath, TIMELINE_ENDING)
    try {
      this.#seen = this.#read()
    } catch (cause) {
      throw new Unavailable(`${this.#path} cannot be read: ${errorMessage(cause)}`, { cause })
    }
  }

  newest(system: string): number {
    return this.#seen[system] ?? 0
  }

  /** Takes note; returns whether it is newer than what was seen. */
  note({ system, timeline }: ServerState): boolean {
    if (timeline <= this.newest(system)) return false
    this.#seen = { ...this.#seen, [system]: timeline }
    // Nothing is older than a cluster's first.
    if (this.#path !== undefined && timeline > 1) this.#keep(this.#path)
    return true
  }

  /** Takes a server's word for what is newest: an operator has put back an older one on purpose. */
  accept({ system, timeline }: ServerState): void {
    this.#seen = { ...this.#seen, [system]: timeline }
    if (this.#path !== undefined) this.#keep(this.#path)
  }

  #read(): Readonly<Record<string, number>> {
    if (this.#path === undefined) return {}
    try {
      return JSON.parse(readFileSync(this.#path, 'utf8')) as Readonly<Record<string, number>>
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return {}
      throw error
    }
  }

  #keep(path: string): void {
    try {
      replaceFileNow(path, `${JSON.stringify(this.#seen)}\n`)
    } catch {
      // A full disk must not keep this process from the right server. The next one learns it from the servers.
    }
  }
}

/** How long what waits for the database may go on once the process is told to stop, milliseconds: half of what S6 gives it. */
const STOPPING_MS = 5_000

/** Every connection of a process to one database shares this. */
export class PostgresDoor {
  readonly #options: PostgresOptions
  readonly #addresses: readonly string[]
  readonly #timelines: SeenTimelines
  readonly #open = new Map<PostgresLine, ServerState>()
  /**
   * Hosts that left a statement unanswered, until they answer again. Their timeline is known, so that nothing newer than what was
   * seen is missed if another takes writes and they are not waited for.
   */
  readonly #silent = new Set<string>()
  /**
   * Hosts that let nobody in, with the one attempt that waits there for all of the process. A server that hangs and goes on lets
   * everybody in that was given up meanwhile, one after the other, before anybody new.
   */
  readonly #knocks = new Map<string, Promise<void>>()
  #knocking = new AbortController()
  #seekers = 0
  /** Names what lies behind it and where, for the operator. */
  readonly name: string
  #refusal: Error | undefined
  #doubtfulCommits = 0
  /** When each of those who watch others' commits last saw them, by a clock that is never set. */
  readonly looks = new Set<{ atMs: number }>()

  /** Throws the service's error if the file of timelines cannot be read. */
  constructor(options: PostgresOptions) {
    this.#options = options
    this.name = `${options.noun ?? 'the store'} (${describeTarget(options.url)})`
    this.#addresses = postgresAddresses(options.url)
    this.#timelines = new SeenTimelines(options.databasePath, options.Unavailable)
  }

  get Unavailable(): UnavailableError {
    return this.#options.Unavailable
  }

  get pause(): PostgresOptions['pause'] {
    return this.#options.pause
  }

  /** A connection to the host that takes writes. Rejects with the service's error if none does in time. */
  async find(limits: LineLimits = {}): Promise<PostgresLine> {
    this.#seekers += 1
    try {
      return await this.#seek(limits)
    } finally {
      this.#seekers -= 1
      if (this.#seekers === 0) this.#stopKnocking()
    }
  }

  async #seek(limits: LineLimits): Promise<PostgresLine> {
    const { findMs = this.#options.findMs ?? FIND_MS } = limits
    const endMs = performance.now() + findMs
    for (;;) {
      if (this.#refusal !== undefined) throw this.#refusal
      const found = await this.#askHosts(limits)
      if (found instanceof PostgresLine) return found
      if (performance.now() > endMs) {
        const reason = `${this.name}: no server takes writes: ${errorMessage(found)}`
        throw new this.#options.Unavailable(reason, { cause: found })
      }
      await this.#options.pause(ROUND_PAUSE_MS)
    }
  }

  /** The identifier that a cluster gets once, by `initdb`: a base backup copies all its databases. Rejects as `find` does. */
  async clusterId(): Promise<string> {
    const line = await this.find()
    const state = this.#open.get(line)
    await line.end()
    if (state === undefined)
      throw new this.#options.Unavailable(`${this.name}: the connection ended`)
    return state.system
  }

  /** Asks nobody. */
  figures(): Omit<PostgresFigures, 'leaseEpoch' | 'processes'> {
    const lines = [...this.#open.keys()]
    const waiting = lines.map(({ unansweredCount }) => unansweredCount)
    const ages = [...this.looks].map(({ atMs }) => performance.now() - atMs)
    const writers = [...this.#open.values()].filter((state) => !state.is_read_only)
    return {
      connections: lines.length,
      busyConnections: waiting.filter((count) => count > 0).length,
      unansweredStatements: waiting.reduce((sum, count) => sum + count, 0),
      unansweredCommits: lines.filter((line) => line.isCommitting).length,
      doubtfulCommitsTotal: this.#doubtfulCommits,
      silentHosts: this.#silent.size,
      timeline: Math.max(0, ...writers.map(({ timeline }) => timeline)),
      // Whole ones: others' writes make this process look sooner, and no reader of figures shall see when (C30).
      lookAgeSeconds: Math.floor(Math.max(0, ...ages) / 1_000),
    }
  }

  /** Lets nothing more pass, and ends what is under way. */
  shut(reason: string): void {
    this.#refusal ??= new this.#options.Unavailable(reason)
    for (const line of this.#open.keys()) line.destroy(this.#refusal)
  }

  /** The same after a while: a process that stops waits for nothing longer. Says what is in doubt then. */
  stop(onProblem: (error: unknown) => void, ms = STOPPING_MS): void {
    const shut = (): void => {
      const inDoubt = [...this.#open.keys()].filter((line) => line.isCommitting).length
      if (inDoubt > 0)
        onProblem(
          new this.#options.Unavailable(
            `${inDoubt} COMMITs were sent and are not answered: it is not known what was written`,
          ),
        )
      this.shut('the process stops')
    }
    setTimeout(shut, ms).unref()
  }

  /** Takes the timeline of the server that takes writes for the newest: an operator has put an older one back on purpose. */
  async acceptTimeline(): Promise<void> {
    const servers = await this.#servers({})
    const writer = servers.find(({ state }) => !state.is_read_only)
    if (writer !== undefined) this.#timelines.accept(writer.state)
    await Promise.all(servers.map(({ line }) => line.end()))
  }

  /**
   * Asks all hosts, since more than one may take writes: the old primary that comes back is on an older timeline, and is
   * never taken.
   */
  async #askHosts(limits: LineLimits): Promise<PostgresLine | Error> {
    const reasons: Error[] = []
    const servers = await this.#servers(limits, (error) => reasons.push(error))
    let taken: FoundServer | undefined
    for (const server of servers) {
      const refusal = this.#findRefusal(server.state)
      if (refusal !== undefined) reasons.push(new Error(refusal))
      else if (taken === undefined && server.line.isOpen) taken = server
    }
    const others = servers.filter((server) => server !== taken)
    await Promise.all(others.map(({ line }) => line.end()))
    return taken?.line ?? reasons.at(-1) ?? new Error('no host is named')
  }

  async #servers(
    limits: LineLimits,
    onUnreachable: (error: Error) => void = () => undefined,
  ): Promise<readonly FoundServer[]> {
    const reach = (address: string) => this.#reach(address, { limits, onUnreachable })
    const isSilent = (address: string): boolean => this.#silent.has(address)
    const silent = this.#addresses.filter(isSilent).map(reach)
    const others = this.#addresses.filter((address) => !isSilent(address)).map(reach)
    const found = (await Promise.all(others)).flat()
    if (found.every(({ state }) => this.#findRefusal(state) !== undefined))
      return [...found, ...(await Promise.all(silent)).flat()]
    for (const late of silent) void late.then((servers) => servers.map(({ line }) => line.end()))
    return found
  }

  async #reach(
    address: string,
    {
      limits,
      onUnreachable,
    }: { readonly limits: LineLimits; readonly onUnreachable: (error: Error) => void },
  ): Promise<readonly FoundServer[]> {
    const { answerMs = this.#options.answerMs ?? ANSWER_MS } = limits
    const onEnd = (line: PostgresLine): void => {
      if (line.isInDoubt) this.#doubtfulCommits += 1
      if (this.#open.delete(line) && line.wasSilent) this.#silent.add(address)
    }
    try {
      await this.#untilLetIn(address)
      const line = await PostgresLine.connect(address, { answerMs, onEnd })
      const [state] = await line.ask<ServerState>(STATE)
      if (state === undefined) return []
      this.#silent.delete(address)
      if (line.isOpen) this.#open.set(line, state)
      if (this.#timelines.note(state)) this.#endOlder(state)
      return [{ line, state }]
    } catch (error) {
      if (error instanceof Unanswered && this.#seekers > 0 && !this.#knocks.has(address))
        this.#knocks.set(address, this.#knock(address))
      onUnreachable(error instanceof Error ? error : new Error(String(error)))
      return []
    }
  }

  /** Rejects if another attempt waits there and is not let in either. */
  async #untilLetIn(address: string): Promise<void> {
    const knock = this.#knocks.get(address)
    if (knock === undefined) return
    await Promise.race([knock, this.#options.pause(CONNECT_MS)])
    if (this.#knocks.has(address)) throw new Error('the server lets nobody in')
  }

  /** Resolves once the host lets somebody in, or says that it does not. */
  async #knock(address: string): Promise<void> {
    const { signal } = this.#knocking
    const limits = { answerMs: KNOCK_MS, connectMs: KNOCK_MS, onEnd: () => undefined, signal }
    let isUnanswered = true
    while (isUnanswered && !signal.aborted)
      isUnanswered = await PostgresLine.connect(address, limits).then(
        (line) => line.end().then(() => false),
        (error: unknown) => error instanceof Unanswered,
      )
    if (!signal.aborted) this.#knocks.delete(address)
  }

  #stopKnocking(): void {
    this.#knocking.abort()
    this.#knocking = new AbortController()
    this.#knocks.clear()
  }

  #findRefusal({ is_read_only: isReadOnly, system, timeline }: ServerState): string | undefined {
    if (isReadOnly) return 'the server takes no writes'
    const newest = this.#timelines.newest(system)
    return timeline < newest
      ? `the server is on timeline ${timeline}, and ${newest} was seen: another was promoted since`
      : undefined
  }

  /** Connections that were made before the promotion lead to the old primary. */
  #endOlder({ system, timeline }: ServerState): void {
    for (const [line, state] of this.#open)
      if (state.system === system && state.timeline < timeline)
        line.destroy(new Error('another server was promoted'))
  }
}
