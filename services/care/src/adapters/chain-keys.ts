// The keys of chains (C31): each chain's entries are sealed under the chain's own key. A key of the ring wraps that key, in a
// file that no backup of the records copies. Destroying a chain's key makes its entries unreadable for good, here and in every
// copy. The file also lists erasures, so that erased records stay erased after a restore.
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { type KeyRing, openValue, sealedKeyId, sealValue } from '@tallystick/hashchain'
import {
  type BodySeal,
  createBodySeal,
  openSqliteFile,
  prepareQuery,
  type SealPlan,
  type SqliteQuery,
  sealReceipt,
  sqliteAtOnce,
} from '@tallystick/journal-store'
import { BoundedMap } from '@tallystick/service-kit'
import { type KeptErasure, RecordStoreUnavailable } from '../domain/record-store.ts'
import { CHAIN_KEYS, chainName, erasureOfRow, FILE_KEY_CHAIN } from './chain-keys-file.ts'
import { CHAIN_KEY_ID, guardedNow } from './sqlite-record-database.ts'

/** Unwrapped keys in memory, a few megabytes; unwrapping another one takes some microseconds. */
const KEYS_HELD_MAX = 10_000
/** AES-256. */
const CHAIN_KEY_BYTES = 32

/** The chain in a slot's text, `patient|domain|version|audience`. */
const chainOfSlot = (slot: string): string => slot.split('|', 2).join('|')

/** The additional data of a wrapped key: it binds the key to the chain and to the key's id. */
const wrapSlot = (chain: string, keyId: string): string => `chain-key|${keyId}|${chain}`

type KeyRow = readonly [chain: string, keyId: string, wrapped: Uint8Array]

/** Opens or creates the file of chain keys. Throws RecordStoreUnavailable. */
export function openChainKeys(path: string, ring: KeyRing): ChainKeys {
  const database = openSqliteFile(path, CHAIN_KEYS)
  try {
    return guardedNow(() => new ChainKeys(database, ring))
  } catch (error) {
    database.close()
    throw error
  }
}

/** The seal of a store whose chains have their own keys. */
export class ChainKeys {
  readonly #database: DatabaseSync
  readonly #ring: KeyRing
  #keys = new BoundedMap<string, KeyObject>(KEYS_HELD_MAX)
  #idByChain = new BoundedMap<string, string>(KEYS_HELD_MAX)
  readonly #byChain: SqliteQuery<KeyRow>
  readonly #byId: SqliteQuery<KeyRow>
  readonly #erasure: SqliteQuery<readonly [string]>
  readonly #version: SqliteQuery<readonly [number]>
  readonly #insert: ReturnType<DatabaseSync['prepare']>
  #seenVersion: number | undefined
  #isFresh = false
  /** The key that belongs to the file. */
  readonly fileKeyId: string
  /** The configured keys, and those of chains by their ids. */
  readonly ring: KeyRing
  readonly seal: BodySeal

  constructor(database: DatabaseSync, ring: KeyRing) {
    this.#database = database
    this.#ring = ring
    // A destroyed key must not stay readable in the file.
    database.exec('PRAGMA secure_delete = ON')
    const columns = 'SELECT chain, key_id, wrapped FROM chain_keys WHERE'
    this.#byChain = prepareQuery(database, `${columns} chain = ?`)
    this.#byId = prepareQuery(database, `${columns} key_id = ?`)
    this.#erasure = prepareQuery(database, 'SELECT chain FROM erasures WHERE chain = ?')
    this.#version = prepareQuery(database, 'PRAGMA data_version')
    this.#insert = database.prepare('INSERT OR IGNORE INTO chain_keys VALUES (?, ?, ?)')
    this.ring = { ...ring, key: (id) => ring.key(id) ?? this.#keyOf(id) }
    const opening = createBodySeal(this.ring)
    this.seal = {
      close: (value, slot) => {
        const activeId = this.#idOf(chainOfSlot(slot))
        return sealValue({ ring: { ...this.ring, activeId }, value, slot })
      },
      open: (body, slot) => guardedNow(() => opening.open(body, slot)),
    }
    this.fileKeyId = this.#idOf(FILE_KEY_CHAIN)
    this.commit()
  }

  /** Makes new keys durable; a version is committed after its key. */
  commit(): void {
    if (this.#database.isTransaction) this.#database.exec('COMMIT')
  }

  /** Whether stored bytes are sealed, and under which configured key ultimately. */
  receipt(body: unknown): ReturnType<typeof sealReceipt> {
    const { keyId, ...receipt } = sealReceipt(body)
    if (keyId === undefined || this.#ring.key(keyId) !== undefined || !CHAIN_KEY_ID.test(keyId))
      return keyId === undefined ? receipt : { ...receipt, keyId }
    const wrapped = this.#byId.get(keyId)?.[2]
    const wrappedBy = wrapped === undefined ? undefined : sealedKeyId(wrapped)
    return wrappedBy === undefined ? receipt : { ...receipt, keyId: wrappedBy }
  }

  /** How `care reseal` brings every entry under its chain's key, and every chain's key under the active one. */
  plan(): SealPlan & { readonly rewrapped: () => number } {
    let rewrapped = 0
    return {
      seal: this.seal,
      isCurrent: (keyId, slot) => {
        if (keyId === undefined || !CHAIN_KEY_ID.test(keyId)) return false
        const chain = chainOfSlot(slot)
        return this.isErased(chain) || this.#byChain.get(chain)?.[1] === keyId
      },
      commit: () => this.commit(),
      finish: () => {
        rewrapped = this.#rewrap()
        return [this.fileKeyId]
      },
      rewrapped: () => rewrapped,
    }
  }

  isErased(chain: string): boolean {
    return this.#erasure.get(chain) !== undefined
  }

  erasures(): readonly KeptErasure[] {
    return guardedNow(() =>
      prepareQuery<readonly [string, string, string, string]>(
        this.#database,
        'SELECT chain, at, actor, reason FROM erasures ORDER BY at, chain',
      )
        .all()
        .map(erasureOfRow),
    )
  }

  /** Destroys a chain's key for good and records who did so, when and why. Repeating it changes nothing. */
  destroy({ patient, domain, at, actor, reason }: KeptErasure): void {
    const chain = chainName({ patient, domain })
    guardedNow(() => {
      this.commit()
      sqliteAtOnce(this.#database, (ask) => {
        void ask('INSERT OR IGNORE INTO erasures VALUES ($1, $2, $3, $4)', [
          chain,
          at,
          actor,
          reason,
        ])
        void ask('DELETE FROM chain_keys WHERE chain = $1', [chain])
      })
      // It must not stay readable in the write-ahead log either.
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    })
    this.#forget()
  }

  close(): void {
    this.commit()
    this.#database.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** The id of a chain's key, made if there is none. Throws RecordStoreUnavailable for an erased chain. */
  #idOf(chain: string): string {
    this.#refresh()
    const held = this.#idByChain.get(chain)
    if (held !== undefined) return held
    const keyId = this.#byChain.get(chain)?.[1] ?? this.#makeKey(chain)
    this.#idByChain.set(chain, keyId)
    return keyId
  }

  #makeKey(chain: string): string {
    if (!this.#database.isTransaction) {
      this.#database.exec('BEGIN IMMEDIATE')
      // Where no version follows.
      setImmediate(() => {
        if (this.#database.isOpen) this.commit()
      })
    }
    if (this.isErased(chain)) throw new RecordStoreUnavailable('the chain was erased')
    const keyId = `c.${randomBytes(16).toString('hex')}`
    const value = randomBytes(CHAIN_KEY_BYTES).toString('base64')
    const wrapped = sealValue({ ring: this.#ring, value, slot: wrapSlot(chain, keyId) })
    this.#insert.run(chain, keyId, wrapped)
    // Another process may have been first.
    return this.#byChain.get(chain)?.[1] ?? keyId
  }

  #keyOf(keyId: string): KeyObject | undefined {
    this.#refresh()
    const held = this.#keys.get(keyId)
    if (held !== undefined || !CHAIN_KEY_ID.test(keyId)) return held
    const row = this.#byId.get(keyId)
    const key = row === undefined ? undefined : this.#unwrap(row)
    if (key !== undefined) this.#keys.set(keyId, key)
    return key
  }

  #unwrap([chain, keyId, sealed]: KeyRow): KeyObject | undefined {
    const opened = openValue({ ring: this.#ring, sealed, slot: wrapSlot(chain, keyId) })
    return opened.kind === 'opened'
      ? createSecretKey(Buffer.from(opened.value, 'base64'))
      : undefined
  }

  /** Brings every key under the active key of the ring; returns how many were under another. */
  #rewrap(): number {
    const ring = this.#ring
    let count = 0
    this.commit()
    sqliteAtOnce(this.#database, (ask) => {
      const keys = prepareQuery<KeyRow>(
        this.#database,
        'SELECT chain, key_id, wrapped FROM chain_keys',
      )
      for (const [chain, keyId, sealed] of keys.all()) {
        if (sealedKeyId(sealed) === ring.activeId) continue
        const slot = wrapSlot(chain, keyId)
        const opened = openValue({ ring, sealed, slot })
        if (opened.kind !== 'opened')
          throw new RecordStoreUnavailable(
            `the key of a chain does not open; nothing was rewrapped`,
          )
        const wrapped = sealValue({ ring, value: opened.value, slot })
        void ask('UPDATE chain_keys SET wrapped = $1 WHERE key_id = $2', [wrapped, keyId])
        if (chain !== FILE_KEY_CHAIN) count += 1
      }
    })
    this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    return count
  }

  /** Once in each iteration of the event loop: another process may have destroyed keys. */
  #refresh(): void {
    if (this.#isFresh) return
    this.#isFresh = true
    setImmediate(() => {
      this.#isFresh = false
    })
    const version = this.#version.get()?.[0]
    if (version !== this.#seenVersion) this.#forget()
    this.#seenVersion = version
  }

  #forget(): void {
    this.#keys = new BoundedMap(KEYS_HELD_MAX)
    this.#idByChain = new BoundedMap(KEYS_HELD_MAX)
  }
}
