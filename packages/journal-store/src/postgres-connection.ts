/**
 * Connections to whichever of several hosts takes writes. `pg` knows neither several hosts nor `target_session_attrs`, so each
 * is asked in turn. A connection that failed is never used again.
 */
import { Client, type ClientConfig, DatabaseError, type QueryResultRow, types } from 'pg'
import { messageOf, type UnavailableError } from './journal-store.ts'

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
}

/** Some 5 seconds where hosts refuse at once. */
const ROUNDS_MAX = 100

/** For whoever holds the head: a process that stalls must not hold up all others. Nothing here may cancel a COMMIT. */
const TIMEOUTS: ClientConfig = { idle_in_transaction_session_timeout: 1_000, lock_timeout: 5_000 }

async function tryAddress(address: string): Promise<Client | Error> {
  const client = new Client({
    connectionString: address,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_MS,
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
    const { rows } = await client.query<{ readonly is_read_only: boolean }>(
      "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS is_read_only",
    )
    if (rows[0]?.is_read_only === false) return client
    await client.end()
    return new Error('the server takes no writes')
  } catch (error) {
    client.end().catch(() => undefined)
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** A connection to the host that takes writes. Rejects with the service's error when none does for so many rounds. */
export async function connectPostgres(options: PostgresOptions): Promise<Client> {
  const { pause, roundsMax = ROUNDS_MAX, Unavailable, url } = options
  let last = new Error('no host is named')
  for (let round = 0; round < roundsMax; round += 1) {
    for (const address of postgresAddresses(url)) {
      const found = await tryAddress(address)
      if (!(found instanceof Error)) return found
      last = found
    }
    await pause(ROUND_PAUSE_MS)
  }
  throw new Unavailable(`no server takes writes: ${messageOf(last)}`, { cause: last })
}

/** Whether an error ended its connection, rather than one statement. What the server did not say is of the connection. */
export function isLostConnection(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return true
  // Of the connection; the server shuts down or comes up; a transaction was idle for too long.
  const { code = '' } = error
  return code.startsWith('08') || code.startsWith('57P') || code === '25P03'
}

/** One connection that is made when it is first used, and made again after it was lost. */
export function openPostgresConnection(
  options: PostgresOptions & { readonly onConnected?: (client: Client) => Promise<void> },
) {
  let client: Promise<Client> | undefined
  let isEnded = false
  const connect = async (): Promise<Client> => {
    const made = await connectPostgres(options)
    await options.onConnected?.(made)
    return made
  }
  const use = (): Promise<Client> => {
    if (isEnded) return Promise.reject(new options.Unavailable('the store is closed'))
    const held = client ?? connect()
    client = held
    // The next use tries again.
    held.catch(() => forget(held))
    return held
  }
  const forget = (held: Promise<Client>): void => {
    if (client === held) client = undefined
  }
  /** Ends the connection without waiting for what it is doing. */
  const drop = async (): Promise<void> => {
    const held = client
    client = undefined
    const made = await held?.catch(() => undefined)
    made?.connection.stream.destroy()
  }
  let last: Promise<unknown> = Promise.resolve()

  async function ask<Row extends QueryResultRow>(
    text: string,
    values: readonly unknown[],
  ): Promise<readonly Row[]> {
    for (let tries = 0; ; tries += 1) {
      try {
        return (await (await use()).query<Row>(text, [...values])).rows
      } catch (error) {
        if (error instanceof options.Unavailable) throw error
        if (isLostConnection(error)) await drop()
        if (tries === 0 && isLostConnection(error)) continue
        throw new options.Unavailable(`the store cannot be used: ${messageOf(error)}`, {
          cause: error,
        })
      }
    }
  }

  return {
    use,
    drop,
    /** Asks in turn, and once more on a new connection where one was lost: for what may be repeated. */
    read<Row extends QueryResultRow>(
      text: string,
      values: readonly unknown[] = [],
    ): Promise<readonly Row[]> {
      const asked = last.then(() => ask<Row>(text, values))
      last = asked.catch(() => undefined)
      return asked
    },
    /** Waits for what was asked, and takes nothing more. */
    async end(): Promise<void> {
      await last
      isEnded = true
      const held = await client?.catch(() => undefined)
      await held?.end().catch(() => undefined)
    },
  }
}
