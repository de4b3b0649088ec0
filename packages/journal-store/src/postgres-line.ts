/**
 * A connection to one PostgreSQL server; nothing else here uses the driver. Nothing on it waits without a limit (S12): a
 * statement that is not answered in time ends it, socket and all, since a server that hangs never says so.
 */
import { randomUUID } from 'node:crypto'
import { Client, DatabaseError, types } from 'pg'

/** int8 comes as text; sizes and indexes stay far below 2^53. */
const INT8_OID = 20

/** How long a host may take to let somebody in, milliseconds: a server that is stopped takes connections and says nothing. */
export const CONNECT_MS = 1_000

/** How long an answer may take, milliseconds: many times that of a busy disk, and short enough to be elsewhere within 5 s. */
export const ANSWER_MS = 3_000

/** For an operator's command, which may make an index or read everything, milliseconds: ten minutes. */
export const UPKEEP_ANSWER_MS = 600_000

/** The longest wait for a lock, milliseconds; two thirds of an answer's where that is less, so that the server refuses first. */
const LOCK_MS_MAX = 5_000

/** How long a transaction that holds the head may be idle, milliseconds: a stalled process must not hold up all others. */
export const IDLE_MS = 1_000

/** The server notices within some 25 s that a client is gone without a word, and gives up what that one held. */
const KEEP_ALIVE =
  '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3'

/** No answer in time. The connection is gone; what the server did is not known. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered'
}

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

/** The server's code of an error, such as `40001`; empty for any other error. */
export const sqlCode = (error: unknown): string =>
  error instanceof DatabaseError ? (error.code ?? '') : ''

/** pg takes bytes as Buffers only. */
const encodeValue = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(encodeValue)
  return value instanceof Uint8Array && !Buffer.isBuffer(value) ? Buffer.from(value) : value
}

/** Names of statements, so that a connection plans each once: their texts are few, and all in code. */
const names = new Map<string, string>()

function makeStatement(text: string, values: readonly unknown[]) {
  const name = names.get(text) ?? `s${names.size}`
  names.set(text, name)
  return { name, text, values: values.map(encodeValue) }
}

type Row = Readonly<Record<string, unknown>>

type LineOptions = {
  /** How long an answer may take, milliseconds. */
  readonly answerMs: number
  /** How long it may take to be let in, milliseconds; by default a second. */
  readonly connectMs?: number | undefined
  /** Called once it is over. */
  readonly onEnd: (line: PostgresLine) => void
  /** Ends it. */
  readonly signal?: AbortSignal | undefined
}

export class PostgresLine {
  /** Unique, and what the server's operator sees: a later connection finds by it what this one left behind. */
  readonly name = `tallystick ${randomUUID()}`
  readonly #client: Client
  readonly #options: LineOptions
  #end: Error | undefined
  #isGathering = false
  /** Statements that were sent and are not answered. */
  unansweredCount = 0
  /** Whether a COMMIT was sent and is not answered. */
  isCommitting = false
  /** Whether it ended before its COMMIT was answered. */
  isInDoubt = false
  /** Whether it was given up because a statement had no answer. */
  get wasSilent(): boolean {
    return this.#end instanceof Unanswered
  }

  private constructor(address: string, options: LineOptions & { readonly connectMs: number }) {
    const { answerMs, connectMs, signal } = options
    this.#options = options
    this.#client = new Client({
      connectionString: address,
      application_name: this.name,
      keepAlive: true,
      connectionTimeoutMillis: connectMs,
      pipeline: true,
      options: KEEP_ALIVE,
      types: {
        getTypeParser: (oid: number, format?: 'text' | 'binary') =>
          oid === INT8_OID ? Number : types.getTypeParser(oid, format),
      },
      // Nothing on the server may cancel a COMMIT, so there is no statement_timeout.
      idle_in_transaction_session_timeout: IDLE_MS,
      lock_timeout: Math.min(LOCK_MS_MAX, Math.floor((answerMs * 2) / 3)),
    })
    // Without a listener a lost connection would end the process. Its queries reject by themselves.
    this.#client.on('error', (error) => this.destroy(error))
    this.#client.on('end', () => this.destroy(new Error('the connection ended')))
    signal?.addEventListener('abort', () => this.destroy(new Error('nobody waits for it')))
  }

  /** Connects, or rejects in time: with Unanswered if the server said nothing. */
  static async connect(address: string, options: LineOptions): Promise<PostgresLine> {
    const { answerMs, connectMs = Math.min(CONNECT_MS, answerMs) } = options
    const line = new PostgresLine(address, { ...options, connectMs })
    const endMs = performance.now() + connectMs
    try {
      await line.#client.connect()
      return line
    } catch (error) {
      line.destroy(new Error('the connection was not made', { cause: error }))
      if (performance.now() < endMs) throw error
      throw new Unanswered(`nobody was let in within ${connectMs} ms`, { cause: error })
    }
  }

  get isOpen(): boolean {
    return this.#end === undefined
  }

  /** Runs a statement that is planned once per connection. Several may be under way; they are answered in order. */
  async ask<Found extends Row>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<readonly Found[]> {
    const asking = (): Promise<{ readonly rows: unknown }> =>
      this.#client.query(makeStatement(text, values))
    return (await this.#answered(asking, text)).rows as readonly Found[]
  }

  /** The same with rows as arrays. */
  async tuples<Found extends readonly unknown[]>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<readonly Found[]> {
    const asking = (): Promise<{ readonly rows: unknown }> =>
      this.#client.query<unknown[]>({ ...makeStatement(text, values), rowMode: 'array' })
    return (await this.#answered(asking, text)).rows as readonly Found[]
  }

  /** Runs statements without values in one round trip; returns the rows of the last. */
  async run<Found extends Row>(text: string): Promise<readonly Found[]> {
    const results: unknown = await this.#answered(() => this.#client.query(text), text)
    const last: unknown = Array.isArray(results) ? results.at(-1) : results
    return (last as { readonly rows: readonly Found[] }).rows
  }

  /** Commits; rejects if that is not confirmed. */
  async commit(): Promise<void> {
    let isWarned = false
    // If a COMMIT's wait for the standby is cancelled, the server still reports success, with a warning.
    const warn = ({ severity }: { readonly severity: string | undefined }): void => {
      isWarned ||= severity === 'WARNING'
    }
    this.#client.on('notice', warn)
    this.isCommitting = true
    try {
      const { command } = await this.#answered(() => this.#client.query('COMMIT'), 'COMMIT')
      // COMMIT of a failed transaction is no error: the server answers ROLLBACK.
      if (command !== 'COMMIT' || isWarned) throw new Error('the commit was not confirmed')
    } finally {
      this.isCommitting = false
      this.#client.off('notice', warn)
    }
  }

  onNotification(listener: (payload: string | undefined) => void): void {
    this.#client.on('notification', ({ payload }) => listener(payload))
  }

  /** Ends it at once, whatever is under way. */
  destroy(error: Error): void {
    if (this.#end !== undefined) return
    this.#end = error
    this.isInDoubt = this.isCommitting
    this.#client.connection.stream.destroy()
    this.#options.onEnd(this)
  }

  /** Says goodbye to the server. */
  async end(): Promise<void> {
    if (this.#end !== undefined) return
    this.#end = new Error('the connection is closed')
    this.#options.onEnd(this)
    const closed = this.#client.end().catch(() => undefined)
    const timer = setTimeout(() => this.#client.connection.stream.destroy(), CONNECT_MS)
    await closed
    clearTimeout(timer)
  }

  /** What is asked before the next tick is sent in one write, since a write to a socket costs more than a statement. */
  #gather(): void {
    if (this.#isGathering) return
    this.#isGathering = true
    const { stream } = this.#client.connection
    stream.cork()
    process.nextTick(() => {
      this.#isGathering = false
      stream.uncork()
    })
  }

  /** Settles with the answer; if it is late, ends the connection. */
  async #answered<Answer>(asking: () => Promise<Answer>, text: string): Promise<Answer> {
    const { answerMs } = this.#options
    if (this.#end !== undefined) throw this.#end
    this.#gather()
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      const error = new Unanswered(`no answer within ${answerMs} ms to ${text.slice(0, 40)}`)
      this.destroy(error)
      late.reject(error)
    }, answerMs)
    this.unansweredCount += 1
    try {
      return await Promise.race([asking(), late.promise])
    } catch (error) {
      if (isLostConnection(error))
        this.destroy(error instanceof Error ? error : new Error(String(error)))
      throw this.#end ?? error
    } finally {
      this.unansweredCount -= 1
      clearTimeout(timer)
    }
  }
}
