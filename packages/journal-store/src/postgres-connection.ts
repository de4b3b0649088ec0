/**
 * Statements and transactions on a connection through the door. It is made when it is needed, and again after a loss; a failed
 * connection is never used again.
 */

import type { LineLimits, PostgresDoor } from './postgres-door.ts'
import { IDLE_MS, isLostConnection, type PostgresLine } from './postgres-line.ts'
import type { SqlQuery } from './sql-connection.ts'
import type { Durability, Rows } from './store.ts'
import { errorMessage } from './unavailable.ts'

/** A slow process is not a stalled one: after a transaction lost its connection, the next attempt gets this many times as long. */
const IDLE_FACTOR = 4
/** 16 seconds. */
const IDLE_GROWTHS_MAX = 2

/** Limits how long a transaction may be idle, by how often its connection was lost before. */
const limitIdle = (losses: number): string =>
  `SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS * IDLE_FACTOR ** Math.min(losses, IDLE_GROWTHS_MAX)};`

/** How a transaction begins whose connection was lost this often before. */
export const beginPostgres = ({
  durability,
  losses,
}: {
  readonly durability: Durability
  readonly losses: number
}): string =>
  `BEGIN ISOLATION LEVEL READ COMMITTED;${durability === 'relaxed' ? ' SET LOCAL synchronous_commit = off;' : ''}${losses > 0 ? limitIdle(losses) : ''}`

/** Rows of a statement, in whatever transaction the connection is in. */
export type PostgresQuery = SqlQuery

/** Runs in a transaction; `rows` asks for rows as arrays. */
export type PostgresRun<Result> = (query: PostgresQuery, rows: Rows) => Promise<Result>

/** Marks what the run of a transaction threw itself. */
class RunFailed extends Error {
  constructor(cause: unknown) {
    super('a run threw', { cause })
  }
}

/**
 * Finds out, by its name, what became of a connection that was given up at its COMMIT. It may commit as long as it is there, so it
 * is ended; but not if it waits for a standby, since what has no second copy would be seen.
 */
const LEFT = `SELECT coalesce(wait_event, '') AS wait, CASE WHEN wait_event IS DISTINCT FROM 'SyncRep' THEN pg_terminate_backend(pid, 1000) END AS is_ended
  FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()`

/** A commit of one's own returns only once a standby has it, and everything before it. */
export const MAKE_OWN = "SELECT pg_logical_emit_message(true, 'tallystick', '')"

type ConnectionOptions = LineLimits & {
  /** The schema of table names that have none. */
  readonly schema?: string | undefined
  readonly onConnected?: (line: PostgresLine) => Promise<void>
}

/** A connection that is made on first use, and again after a loss. */
export class PostgresConnection {
  readonly #door: PostgresDoor
  readonly #options: ConnectionOptions
  readonly #asked = new Set<Promise<unknown>>()
  #line: Promise<PostgresLine> | undefined
  /** The name of a connection that ended before its COMMIT was answered. */
  #left: string | undefined
  #lastTransaction: Promise<unknown> = Promise.resolve()
  /** The last time that no server was found. */
  #missed: { readonly error: unknown } | undefined
  #isEnded = false

  constructor(door: PostgresDoor, options: ConnectionOptions) {
    this.#door = door
    this.#options = options
  }

  use(): Promise<PostgresLine> {
    if (this.#isEnded) return Promise.reject(new this.#door.Unavailable('the store is closed'))
    if (this.#line !== undefined) return this.#line
    const connecting = this.#connect()
    this.#line = connecting
    // The next use tries again.
    connecting.catch(() => {
      if (this.#line === connecting) this.#line = undefined
    })
    return connecting
  }

  /** Ends the connection without waiting for its work. A connection made in the meantime stays. */
  async drop(lost?: PostgresLine): Promise<void> {
    const connecting = this.#line
    const made = await connecting?.catch(() => undefined)
    if (lost !== undefined && made !== lost) return
    if (this.#line === connecting) this.#line = undefined
    made?.destroy(new Error('the connection was given up'))
  }

  /** Asks, and asks once more on a new connection if one was lost: only for what may be repeated. */
  readonly read: PostgresQuery = <Row extends Readonly<Record<string, unknown>>>(
    text: string,
    values: readonly unknown[] = [],
  ) => this.#tracked(this.#twice((line) => line.ask<Row>(text, values)))

  /** The same with rows as arrays. */
  readonly tuples = <Row extends readonly unknown[]>(
    text: string,
    values: readonly unknown[] = [],
  ) => this.#tracked(this.#twice((line) => line.tuples<Row>(text, values)))

  /**
   * Runs statements in a transaction of their own, one transaction after another. It runs once more if the connection was
   * lost, even if only the answer of its COMMIT was: only for what may be repeated. What the run itself throws passes
   * unchanged. What waits when no server is found is refused with the one that found none, which it would only repeat. Not to be
   * mixed with `read` on one connection.
   */
  transaction<Result>(
    run: PostgresRun<Result>,
    durability: Durability = 'synced',
  ): Promise<Result> {
    const missed = this.#missed
    const running = this.#lastTransaction.then(() => {
      if (this.#missed !== undefined && this.#missed !== missed) throw this.#missed.error
      return this.#twice((line, isAgain) => this.#inTransaction(line, { run, durability, isAgain }))
    })
    this.#lastTransaction = running.catch(() => undefined)
    return this.#tracked(running)
  }

  /** Waits for what was asked, and takes no more. */
  async end(): Promise<void> {
    await Promise.allSettled(this.#asked)
    this.#isEnded = true
    const line = await this.#line?.catch(() => undefined)
    await line?.end()
  }

  async #connect(): Promise<PostgresLine> {
    const { onConnected, schema = 'public' } = this.#options
    const line = await this.#door.find(this.#options).catch((error: unknown) => {
      this.#missed = { error }
      throw error
    })
    try {
      await line.ask("SELECT set_config('search_path', $1, false)", [schema])
      await onConnected?.(line)
      return line
    } catch (error) {
      line.destroy(new Error('the connection was not made', { cause: error }))
      throw error
    }
  }

  /** Runs once more on a new connection if one was lost. */
  async #twice<Result>(
    run: (line: PostgresLine, isAgain: boolean) => Promise<Result>,
  ): Promise<Result> {
    const { Unavailable } = this.#door
    for (let tries = 0; ; tries += 1) {
      let line: PostgresLine | undefined
      try {
        line = await this.use()
        return await run(line, tries > 0)
      } catch (error) {
        if (error instanceof RunFailed) throw error.cause
        if (error instanceof Unavailable) throw error
        const isLost = isLostConnection(error)
        if (isLost) await this.drop(line)
        if (isLost && tries === 0) continue
        throw new Unavailable(`${this.#door.name} cannot be used: ${errorMessage(error)}`, {
          cause: error,
        })
      }
    }
  }

  /** Rejects as long as a connection that was given up at its COMMIT may still commit. */
  async #requireFinal(line: PostgresLine): Promise<void> {
    if (this.#left === undefined) return
    const { Unavailable } = this.#door
    const [left] = await line.ask<{ readonly wait: string; readonly is_ended: boolean | null }>(
      LEFT,
      [this.#left],
    )
    if (left?.wait === 'SyncRep') throw new Unavailable(`${this.#door.name}: ${COMMITS_WAIT}`)
    if (left?.is_ended === false)
      throw new Unavailable(
        `${this.#door.name}: a connection that was given up at its COMMIT does not end`,
      )
    this.#left = undefined
  }

  async #inTransaction<Result>(
    line: PostgresLine,
    {
      durability,
      isAgain,
      run,
    }: {
      readonly run: PostgresRun<Result>
      readonly durability: Durability
      readonly isAgain: boolean
    },
  ): Promise<Result> {
    await this.#requireFinal(line)
    let refused: { readonly error: unknown } | undefined
    const noted = <Answer>(asking: Promise<Answer>): Promise<Answer> =>
      asking.catch((error: unknown) => {
        refused ??= { error }
        throw error
      })
    const query: PostgresQuery = (text, values) => noted(line.ask(text, values))
    const rows: Rows = (text, values) => noted(line.tuples(text, values))
    const ran = async (): Promise<Result> => {
      try {
        return await run(query, rows)
      } catch (error) {
        // After a refused statement, a run that throws only passes that on, in whatever words.
        throw refused === undefined ? new RunFailed(error) : refused.error
      }
    }
    try {
      // Before all else: behind a BEGIN that the server refused, say because somebody cancelled it, each statement commits by itself.
      await line.run(beginPostgres({ durability, losses: isAgain ? 1 : 0 }))
      const result = await ran()
      // What the first attempt committed may not have reached the standby.
      if (isAgain) await line.ask(MAKE_OWN)
      await line.commit()
      return result
    } catch (error) {
      if (error instanceof RunFailed || !isLostConnection(error))
        await line.run('ROLLBACK').catch(() => this.drop(line))
      if (line.isInDoubt) this.#left = line.name
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

/** Why writing waits, for the operator. */
export const COMMITS_WAIT =
  'commits wait: none of the standbys that synchronous_standby_names asks for confirms them'
