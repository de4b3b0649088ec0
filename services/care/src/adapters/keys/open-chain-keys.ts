// Which place keeps the keys of chains: the PostgreSQL of CHAIN_KEYS_URL, else a file.
import type { KeyRing } from '@tallystick/hashchain'
import { reachServer, type Secret } from '@tallystick/service-kit'
import { chainKeysPath } from '../schemas/sqlite-record-database.ts'
import { type ChainKeys, type ChainKeysPlace, openChainKeys } from './chain-keys.ts'
import { openChainKeysFile } from './chain-keys-file.ts'

/** The variables that say where. */
export type KeysPlace = {
  readonly DATABASE_PATH: string
  readonly CHAIN_KEYS_PATH?: string | undefined
  readonly CHAIN_KEYS_URL?: Secret | undefined
  /** Of the records. */
  readonly DATABASE_URL?: Secret | undefined
}

/** The server, and the file beside which its newest timeline is kept. */
const keysServer = (url: Secret, databasePath: string) => ({
  ...reachServer(url),
  databasePath: chainKeysPath(databasePath),
})

/** Accepts a keys' server that was put back to an older timeline. Rejects with RecordStoreUnavailable. */
export async function acceptKeysPlace({ CHAIN_KEYS_URL, DATABASE_PATH }: KeysPlace): Promise<void> {
  if (CHAIN_KEYS_URL === undefined) return
  const { acceptKeysTimeline } = await import('./chain-keys-postgres.ts')
  await acceptKeysTimeline(keysServer(CHAIN_KEYS_URL, DATABASE_PATH))
}

/** Opens the place, and makes it unless a file must exist. Rejects with RecordStoreUnavailable. */
async function openKeysPlace(
  { CHAIN_KEYS_PATH, CHAIN_KEYS_URL, DATABASE_PATH, DATABASE_URL }: KeysPlace,
  must?: 'exist',
): Promise<ChainKeysPlace> {
  if (CHAIN_KEYS_URL === undefined)
    return openChainKeysFile(CHAIN_KEYS_PATH ?? chainKeysPath(DATABASE_PATH), must)
  // A service whose keys are in a file loads no driver.
  const { openChainKeysDatabase } = await import('./chain-keys-postgres.ts')
  // Keys that are only copied out of a place are where they are: that must not need the records' server.
  const records =
    must === 'exist' || DATABASE_URL === undefined ? undefined : reachServer(DATABASE_URL)
  return openChainKeysDatabase(keysServer(CHAIN_KEYS_URL, DATABASE_PATH), records)
}

/** Opens the keys in it. Rejects with RecordStoreUnavailable. */
export async function openKeys(
  config: KeysPlace,
  ring: KeyRing,
  must?: 'exist',
): Promise<ChainKeys> {
  const place = await openKeysPlace(config, must)
  try {
    return await openChainKeys(place, ring)
  } catch (error) {
    await place.close()
    throw error
  }
}

/** Runs with the place of the keys, which exists unless it may be made, and closes it. Rejects with RecordStoreUnavailable. */
export async function withKeysPlace<Result>(
  config: KeysPlace,
  run: (place: ChainKeysPlace) => Promise<Result>,
  ifMissing: 'fail' | 'make' = 'fail',
): Promise<Result> {
  const place = await openKeysPlace(config, ifMissing === 'fail' ? 'exist' : undefined)
  try {
    return await run(place)
  } finally {
    await place.close()
  }
}
