/** Grants and signing keys, in files of one process or in a PostgreSQL of many. */
import { type Clock, pause } from '@tallystick/service-kit'
import type { IssuerConfig } from '../config.ts'
import type { GrantDatabase } from './grant-database.ts'
import type { PostgresGrants } from './postgres-grants.ts'
import { followSharedKeys, readSharedKeys } from './shared-signing-keys.ts'
import { openSigningKeys, type SigningKeys } from './signing-keys.ts'
import { openSqliteGrants } from './sqlite-grants.ts'

export type OpenGrants = {
  readonly database: GrantDatabase
  readonly keys: SigningKeys
  /** Hands on keys that another process changed, until the end. */
  readonly followKeys: (onChange: (keys: SigningKeys) => void) => () => void
  /** None of a file. */
  readonly postgres: PostgresGrants | undefined
}

/** The database alone. Rejects with `GrantStoreUnavailable`. */
export async function openGrantDatabase(
  { DATABASE_PATH, DATABASE_URL }: Pick<IssuerConfig, 'DATABASE_PATH' | 'DATABASE_URL'>,
  clock: Clock,
): Promise<{ readonly file: GrantDatabase } | { readonly postgres: PostgresGrants }> {
  if (DATABASE_URL === undefined) return { file: openSqliteGrants(DATABASE_PATH) }
  // Whoever keeps a file loads no `pg`.
  const { openPostgresGrants } = await import('./postgres-grants.ts')
  const postgres = await openPostgresGrants({
    url: DATABASE_URL.reveal(),
    databasePath: DATABASE_PATH,
    pause: (ms) => pause(clock, ms),
  })
  return { postgres }
}

/** Rejects with `PrivateFileUnusable` or `GrantStoreUnavailable`. */
export async function openGrants(
  config: IssuerConfig,
  { clock, onProblem }: { readonly clock: Clock; readonly onProblem: (error: unknown) => void },
): Promise<OpenGrants> {
  const opened = await openGrantDatabase(config, clock)
  if ('file' in opened) {
    const keys = openSigningKeys(config.KEYS_PATH)
    return { database: opened.file, keys, followKeys: () => () => undefined, postgres: undefined }
  }
  const { postgres } = opened
  const keys = await readSharedKeys(postgres)
  return {
    database: postgres,
    keys,
    postgres,
    followKeys: (onChange) => followSharedKeys(postgres, { clock, keys, onChange, onProblem }),
  }
}
