/**
 * Finds the host that takes writes. `pg` supports neither several hosts nor `target_session_attrs`, so each is asked in turn.
 * A server on an older timeline does not count: it was the primary before a standby was promoted.
 */
import { Client, type ClientConfig, types } from 'pg'
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
  /** The schema of table names that have none. */
  readonly schema?: string | undefined
  readonly Unavailable: UnavailableError
  /** Resolves after so many milliseconds. */
  readonly pause: (ms: number) => Promise<void>
  /** Rounds over all hosts before giving up. */
  readonly roundsMax?: number
  /** The newest timeline that any connection of the store has seen; all of them share it. */
  readonly timeline?: { newest: number }
}

/** About 5 seconds if hosts refuse at once. */
const ROUNDS_MAX = 100

/** How long a transaction that holds the head may be idle, milliseconds: a stalled process must not hold up all others. */
const IDLE_MS = 1_000
/** A slow process is not a stalled one: after a transaction lost its connection, the next attempt gets this many times as long. */
const IDLE_FACTOR = 4
/** 16 seconds. */
const IDLE_GROWTHS_MAX = 2

/** Limits how long a transaction may be idle, by how often its connection was lost before. */
export const limitIdle = (losses: number): string =>
  `SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS * IDLE_FACTOR ** Math.min(losses, IDLE_GROWTHS_MAX)};`

/** Nothing here may cancel a COMMIT. */
const TIMEOUTS: ClientConfig = {
  idle_in_transaction_session_timeout: IDLE_MS,
  lock_timeout: 5_000,
}

/** A promotion begins a new timeline: the first eight hex digits of a WAL file's name. */
const STATE = `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS is_read_only,
  CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline,
  set_config('search_path', $1, false)`

type ServerState = { readonly is_read_only: boolean; readonly timeline: string | null }

async function tryAddress(
  address: string,
  { schema = 'public', timeline }: Pick<PostgresOptions, 'schema' | 'timeline'>,
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
  // Without a listener a lost connection would end the process. Its queries reject by themselves.
  client.on('error', () => undefined)
  try {
    await client.connect()
    const [state] = (await client.query<ServerState>(STATE, [schema])).rows
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

/** A connection to the host that takes writes. Rejects with the service's error if none does within that many rounds. */
export async function connectPostgres(options: PostgresOptions): Promise<Client> {
  const { pause, roundsMax = ROUNDS_MAX, Unavailable, url } = options
  let last = new Error('no host is named')
  for (let round = 0; round < roundsMax; round += 1) {
    for (const address of postgresAddresses(url)) {
      const found = await tryAddress(address, options)
      if (!(found instanceof Error)) return found
      last = found
    }
    await pause(ROUND_PAUSE_MS)
  }
  throw new Unavailable(`no server takes writes: ${messageOf(last)}`, { cause: last })
}
