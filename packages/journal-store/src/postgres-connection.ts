/**
 * Connections to whichever of several hosts takes writes. `pg` knows neither several hosts nor `target_session_attrs`, so each
 * is asked in turn. A connection that failed is never used again, and a server of an older timeline is none: it was the
 * primary before a standby was promoted.
 */
import { Client, type ClientConfig, DatabaseError, type QueryResultRow, types } from 'pg'
import { type Durability, messageOf, type UnavailableError } from './journal-store.ts'

/** int8 comes as text; sizes and indexes stay far below 2^53. */
const INT8_OID = 20

/** One address for each host of a connection string `postgres://user@host:port,host:port/database`. */
function postgresAddresses(url: string): readonly string[] {
  const [, before = '', hosts = '', behind = ''] =
    /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?]*)(.*)$/.exec(url) ?? []
  return hosts.split(',').map((host) => before + host + behind)
}

/** How long a host may take to answer, milliseconds. */
const CONNECT_MS = 1_000
/** Pause before all hosts are asked again, milliseconds: a promotion takes a second at least. */
const ROUND_PAUSE_MS = 50

export type PostgresOptions = {
  /** Several hosts are separated by commas. */
  readonly url: string
  readonly Unavailable: UnavailableError
  /** Resolves after so many milliseconds. */
  readonly pause: (ms: number) => Promise<void>
  /** Rounds over all hosts before a connection is given up. */
  readonly roundsMax?: number
  /** The newest timeline that connections of one store have met; shared by all of them. */
  readonly timeline?: { newest: number }
}

/** Some 5 seconds where hosts refuse at once. */
const ROUNDS_MAX = 100

/** For whoever holds the head: a process that stalls must not hold up all others. Nothing here may cancel a COMMIT. */
const TIMEOUTS: ClientConfig = { idle_in_transaction_session_timeout: 1_000, lock_timeout: 5_000 }

/** A promotion begins a new timeline: the first eight hex digits of a WAL file's name. */
const STATE = `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS is_read_only,
  CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline`

type ServerState = { readonly is_read_only: boolean; readonly timeline: string | null }

async function tryAddress(
  address: string,
  timeline: { newest: number } | undefined,
): Promise<Client | Error> {
  const client = new Client({
    connectionString: address,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_MS,
    pipeline: true,
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === INT8_OID ? Number : types.getTypeParser(oid, format),
    },
    ...TIMEOUTS,
  })
  // Without a listener a lost connection ends the process; queries of it reject by themselves.
  client.on('error', () => undefined)
  try {
    await client.connect()
    const [state] = (await client.query<ServerState>(STATE)).rows
    const refusal = refusalOf(state, timeline)
    if (refusal === undefined) return client
    await client.end()
    return new Error(refusal)
  } catch (error) {
    client.end().catch(() => undefined)
    return error instanceof Error ? error : new Error(String(error))
  }
}

function refusalOf(
  state: ServerState | undefined,
  timeline: { newest: number } | undefined,
): string | undefined {
  if (state?.is_read_only !== false) return 'the server takes no writes'
  if (timeline === undefined) return undefined
  const found = Number.parseInt(state.timeline ?? '', 16)
  if (found < timeline.newest)
    return `the server is on timeline ${found}, and ${timeline.newest} was seen: another was promoted since`
  timeline.newest = found
  return undefined
}

/** A connection to the host that takes writes. Rejects with the service's error when none does for so many rounds. */
export async function connectPostgres(options: PostgresOptions): Promise<Client> {
  const { pause, roundsMax = ROUNDS_MAX, timeline, Unavailable, url } = options
  let last = new Error('no host is named')
  for (let round = 0; round < roundsMax; round += 1) {
    for (const address of postgresAddresses(url)) {
      const found = await tryAddress(address, timeline)
      if (!(found instanceof Error)) return found
      last = found
    }
    await pause(ROUND_PAUSE_MS)
  }
  throw new Unavailable(`no server takes writes: ${messageOf(last)}`, { cause: last })
}

/**
 * Whether an error of a statement ended its connection, rather than the statement. What the server did not say is of the
 * connection.
 */
export function isLostConnection(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return true
  // Of the connection; the server shuts down or comes up; a transaction was idle for too long.
  const { code = '' } = error
  return code.startsWith('08') || code.startsWith('57P') || code === '25P03'
}

/** pg takes bytes as Buffers only. */
const valueOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(valueOf)
  return value instanceof Uint8Array && !Buffer.isBuffer(value) ? Buffer.from(value) : value
}

/** Names of statements, so that a connection plans each once: their texts are few, and stand in code. */
const names = new Map<string, string>()

function nameOf(text: string): string {
  const name = names.get(text) ?? `s${names.size}`
  names.set(text, name)
  return name
}

/** Asks on a connection, by a statement that is planned once. Several may be on their way at the same time. */
export async function askPostgres<Row extends QueryResultRow>(
  client: Client,
  text: string,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const { rows } = await client.query<Row>({
    name: nameOf(text),
    text,
    values: values.map(valueOf),
  })
  return rows
}

/** How a transaction begins. */
export const beginPostgres = (durability: Durability): string =>
  `BEGIN ISOLATION LEVEL READ COMMITTED;${durability === 'relaxed' ? ' SET LOCAL synchronous_commit = off;' : ''}`

/** Commits; rejects where that is not confirmed. */
export async function commitPostgres(client: Client): Promise<void> {
  let isWarned = false
  // A COMMIT whose wait for the standby was cancelled is answered as done, with a warning.
  const warn = ({ severity }: { readonly severity: string | undefined }): void => {
    isWarned ||= severity === 'WARNING'
  }
  client.on('notice', warn)
  try {
    const { command } = await client.query('COMMIT')
    // COMMIT of a failed transaction is no error: its answer says ROLLBACK.
    if (command !== 'COMMIT' || isWarned) throw new Error('the commit was not confirmed')
  } finally {
    client.off('notice', warn)
  }
}

/** Rows by a statement, within whatever the connection is in. */
export type PostgresQuery = <Row extends QueryResultRow>(
  text: string,
  values?: readonly unknown[],
) => Promise<readonly Row[]>

/** What the run of a transaction threw by itself. */
class RunFailed extends Error {
  constructor(cause: unknown) {
    super('a run threw', { cause })
  }
}

type ConnectionOptions = PostgresOptions & {
  readonly onConnected?: (client: Client) => Promise<void>
}

/** One connection that is made when it is first used, and made again after it was lost. */
export class PostgresConnection {
  readonly #options: ConnectionOptions
  readonly #asked = new Set<Promise<unknown>>()
  #client: Promise<Client> | undefined
  #lastTransaction: Promise<unknown> = Promise.resolve()
  #isEnded = false

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  use(): Promise<Client> {
    if (this.#isEnded) return Promise.reject(new this.#options.Unavailable('the store is closed'))
    if (this.#client !== undefined) return this.#client
    const held = this.#connect()
    this.#client = held
    // The next use tries again.
    held.catch(() => {
      if (this.#client === held) this.#client = undefined
    })
    return held
  }

  /** Ends the connection without waiting for what it is doing; another one that was made meanwhile stays. */
  async drop(lost?: Client): Promise<void> {
    const held = this.#client
    const made = await held?.catch(() => undefined)
    if (lost !== undefined && made !== lost) return
    if (this.#client === held) this.#client = undefined
    made?.connection.stream.destroy()
  }

  /** Asks, and once more on a new connection where one was lost: for what may be repeated. */
  readonly read: PostgresQuery = <Row extends QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
  ) => this.#tracked(this.#twice((held) => askPostgres<Row>(held, text, values)))

  /**
   * Runs statements in a transaction of their own, one transaction after the other; once more where the connection was lost,
   * also when only the answer of its COMMIT was: for what may be repeated. What the run throws by itself leaves as it is.
   * Not beside `read` on one connection.
   */
  transaction<Result>(
    run: (query: PostgresQuery) => Promise<Result>,
    durability: Durability = 'synced',
  ): Promise<Result> {
    const running = this.#lastTransaction.then(() =>
      this.#twice((held, isAgain) => this.#inTransaction(held, { run, durability, isAgain })),
    )
    this.#lastTransaction = running.catch(() => undefined)
    return this.#tracked(running)
  }

  /** Waits for what was asked, and takes nothing more. */
  async end(): Promise<void> {
    await Promise.allSettled(this.#asked)
    this.#isEnded = true
    const held = await this.#client?.catch(() => undefined)
    await held?.end().catch(() => undefined)
  }

  async #connect(): Promise<Client> {
    const made = await connectPostgres(this.#options)
    await this.#options.onConnected?.(made)
    return made
  }

  /** Runs once more on a new connection where one was lost. */
  async #twice<Result>(run: (held: Client, isAgain: boolean) => Promise<Result>): Promise<Result> {
    const { Unavailable } = this.#options
    for (let tries = 0; ; tries += 1) {
      let held: Client | undefined
      try {
        held = await this.use()
        return await run(held, tries > 0)
      } catch (error) {
        if (error instanceof RunFailed) throw error.cause
        if (error instanceof Unavailable) throw error
        const isLost = isLostConnection(error)
        if (isLost) await this.drop(held)
        if (isLost && tries === 0) continue
        throw new Unavailable(`the store cannot be used: ${messageOf(error)}`, { cause: error })
      }
    }
  }

  async #inTransaction<Result>(
    held: Client,
    of: {
      readonly run: (query: PostgresQuery) => Promise<Result>
      readonly durability: Durability
      readonly isAgain: boolean
    },
  ): Promise<Result> {
    let refused: { readonly error: unknown } | undefined
    const query: PostgresQuery = async (text, values = []) => {
      try {
        return await askPostgres(held, text, values)
      } catch (error) {
        refused ??= { error }
        throw error
      }
    }
    const ran = async (): Promise<Result> => {
      try {
        return await of.run(query)
      } catch (error) {
        // Where a statement was refused, a run that throws passes that on, in whatever words.
        throw refused === undefined ? new RunFailed(error) : refused.error
      }
    }
    try {
      await held.query(beginPostgres(of.durability))
      const result = await ran()
      // What was found done may not have reached the standby; a commit that writes does not return before it has.
      if (of.isAgain) await held.query("SELECT pg_logical_emit_message(true, 'tallystick', '')")
      await commitPostgres(held)
      return result
    } catch (error) {
      if (error instanceof RunFailed || !isLostConnection(error))
        await held.query('ROLLBACK').catch(() => this.drop(held))
      throw error
    }
  }

  #tracked<Result>(running: Promise<Result>): Promise<Result> {
    this.#asked.add(running)
    const forget = (): void => void this.#asked.delete(running)
    running.then(forget, forget)
    return running
  }
}
