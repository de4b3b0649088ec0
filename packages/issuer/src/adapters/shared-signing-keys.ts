/**
 * Signing keys that several processes share, in the database of the grants. A new key is published by all before one signs with
 * it: whoever asks any process for the keys then finds the key of every token.
 */
import type { Clock } from '@tallystick/service-kit'
import type { GrantDatabase } from './grant-database.ts'
import {
  type DroppedKey,
  KEYS_KEPT,
  newSigningKey,
  readSigningKeys,
  type SigningKeys,
} from './signing-keys.ts'

/** Between two looks at the keys, milliseconds. */
const LOOK_MS = 10_000
/** From when on a key signs, seconds: several looks later, since one may fail. Whoever cannot look cannot serve either. */
const PUBLISHED_SECONDS = 60

/** The newest that is old enough; while there is none, the oldest. */
const FIND = `SELECT kid, jwk FROM signing_keys,
    LATERAL (SELECT added_at > now() - interval '${PUBLISHED_SECONDS} s' AS is_new) AS age
  ORDER BY is_new, CASE WHEN is_new THEN added_at END, added_at DESC, kid`
const ADD = 'INSERT INTO signing_keys (kid, jwk) VALUES ($1, $2) ON CONFLICT DO NOTHING'
const TRIM = `DELETE FROM signing_keys WHERE kid NOT IN
  (SELECT kid FROM signing_keys ORDER BY added_at DESC, kid LIMIT ${KEYS_KEPT})`

/** The keys as they are now, the one that signs first. Rejects with `GrantStoreUnavailable`. */
export async function readSharedKeys(database: Pick<GrantDatabase, 'read'>): Promise<SigningKeys> {
  const keys = await database.read(FIND)
  const cookieKeys = await database.read('SELECT secret FROM cookie_keys')
  return readSigningKeys({
    keys: keys.map(({ jwk }) => JSON.parse(String(jwk)) as unknown),
    cookieKeys: cookieKeys.map(({ secret }) => secret),
  })
}

/** Adds a key, which every process publishes within seconds and signs with after a minute. */
export async function rotateSharedKeys(database: GrantDatabase): Promise<void> {
  const key = newSigningKey()
  await database.write(ADD, [key.kid, JSON.stringify(key)])
  await database.write(TRIM)
}

/** Removes a key from every process, within seconds; if it signs, another one does from then on. */
export async function dropSharedKey(database: GrantDatabase, kid: string): Promise<DroppedKey> {
  const before = await database.read('SELECT kid FROM signing_keys')
  const kids = before.map((row) => String(row['kid']))
  if (!kids.includes(kid)) return { kind: 'unknown', kids }
  // First the next one: no process may find none.
  if (kids.length === 1) await rotateSharedKeys(database)
  await database.write('DELETE FROM signing_keys WHERE kid = $1', [kid])
  return { kind: 'dropped' }
}

/** Looks at the keys every few seconds and hands on those that changed; returns how to end it. */
export function followSharedKeys(
  database: Pick<GrantDatabase, 'read'>,
  {
    clock,
    keys,
    onChange,
    onProblem,
  }: {
    readonly clock: Clock
    /** Those that are used now. */
    readonly keys: SigningKeys
    readonly onChange: (keys: SigningKeys) => void
    readonly onProblem: (error: unknown) => void
  },
): () => void {
  let used = JSON.stringify(keys)
  let isEnded = false
  const look = async (): Promise<void> => {
    const found = await readSharedKeys(database)
    const text = JSON.stringify(found)
    if (isEnded || text === used) return
    used = text
    onChange(found)
  }
  let cancel: (() => void) | undefined
  const lookAgain = (): void => {
    cancel = clock.after(LOOK_MS, () => {
      look()
        .catch(onProblem)
        .finally(() => isEnded || lookAgain())
    })
  }
  lookAgain()
  return () => {
    isEnded = true
    cancel?.()
  }
}
