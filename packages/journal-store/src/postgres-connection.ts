/**
 * Statements and transactions on a connection to PostgreSQL. It is made when it is needed, and again after a loss; a failed
 * connection is never used again.
 */
import { type Client, DatabaseError, type QueryResultRow } from 'pg'
import { connectPostgres, limitIdle, type PostgresOptions } from './connect-postgres.ts'
import { type Durability, messageOf } from './journal-store.ts'
import type { SqlConnection, SqlQuery } from './sql-connection.ts'

/**
 * Whether a statement's error ended its connection, not only the statement. Any error that the server did not report is the
 * connection's.
 */
export function isLostConnection(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return true
  // The connection failed; the server shuts down or starts up; a transaction was idle for too long.
  const { code = '' } = error
  return code.startsWith('08') || code.startsWith('57P') || code === '25P03'
}

/** pg takes bytes as Buffers only. */
const valueOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(valueOf)
  return value instanceof Uint8Array && !Buffer.isBuffer(value) ? Buffer.from(value) : value
}

/** Names of statements, so that a connection plans each once: their texts are few, and all in code. */
const names = new Map<string, string>()

function statementOf(text: string, values: readonly unknown[]) {
  const name = names.get(text) ?? `s${names.size}`
  names.set(text, name)
  return { name, text, values: values.map(valueOf) }
}

/** Runs a statement that is planned once per connection. Several may be under way at the same time. */
export async function askPostgres<Row extends QueryResultRow>(
  client: Client,
  text: string,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  return (await client.query<Row>(statementOf(text, values))).rows
}

/** The same with rows as arrays. */
export async function askPostgresTuples<Row extends readonly unknown[]>(
  client: Client,
  text: string,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const asked = { ...statementOf(text, values), rowMode: 'array' } as const
  return (await client.query<unknown[]>(asked)).rows as unknown as readonly Row[]
}

/** How a transaction begins whose connection was lost this often before. */
export const beginPostgres = (durability: Durability, losses: number): string =>
  `BEGIN ISOLATION LEVEL READ COMMITTED;${durability === 'relaxed' ? ' SET LOCAL synchronous_commit = off;' : ''}${losses > 0 ? limitIdle(losses) : ''}`

/** Commits; rejects if that is not confirmed. */
export async function commitPostgres(client: Client): Promise<void> {
  let isWarned = false
  // If a COMMIT's wait for the standby is cancelled, the server still reports success, with a warning.
  const warn = ({ severity }: { readonly severity: string | undefined }): void => {
    isWarned ||= severity === 'WARNING'
  }
  client.on('notice', warn)
  try {
    const { command } = await client.query('COMMIT')
    // COMMIT of a failed transaction is no error: the server answers ROLLBACK.
    if (command !== 'COMMIT' || isWarned) throw new Error('the commit was not confirmed')
  } finally {
    client.off('notice', warn)
  }
}

/** Rows of a statement, in whatever transaction the connection is in. */
export type PostgresQuery = SqlQuery

/** What the run of a transaction threw itself. */
class RunFailed extends Error {
  constructor(cause: unknown) {
    super('a run threw', { cause })
  }
}

type ConnectionOptions = PostgresOptions & {
  readonly onConnected?: (client: Client) => Promise<void>
}

/** A connection that is made on first use, and again after a loss. */
export class PostgresConnection implements SqlConnection {
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

  /** Ends the connection without waiting for its work. A connection made in the meantime stays. */
  async drop(lost?: Client): Promise<void> {
    const held = this.#client
    const made = await held?.catch(() => undefined)
    if (lost !== undefined && made !== lost) return
    if (this.#client === held) this.#client = undefined
    made?.connection.stream.destroy()
  }

  /** Asks, and asks once more on a new connection if one was lost: only for what may be repeated. */
  readonly read: PostgresQuery = <Row extends Readonly<Record<string, unknown>>>(
    text: string,
    values: readonly unknown[] = [],
  ) => this.#tracked(this.#twice((held) => askPostgres<Row>(held, text, values)))

  /** The same with rows as arrays. */
  readonly tuples = <Row extends readonly unknown[]>(
    text: string,
    values: readonly unknown[] = [],
  ) => this.#tracked(this.#twice((held) => askPostgresTuples<Row>(held, text, values)))

  /**
   * Runs statements in a transaction of their own, one transaction after another. It runs once more if the connection was
   * lost, even if only the answer of its COMMIT was: only for what may be repeated. What the run itself throws passes
   * unchanged. Not to be mixed with `read` on one connection.
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

  /** Waits for what was asked, and takes no more. */
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

  /** Runs once more on a new connection if one was lost. */
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
        // After a refused statement, a run that throws only passes that on, in whatever words.
        throw refused === undefined ? new RunFailed(error) : refused.error
      }
    }
    try {
      await held.query(beginPostgres(of.durability, of.isAgain ? 1 : 0))
      const result = await ran()
      // What the first attempt committed may not have reached the standby. A commit that writes returns only once it has.
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
