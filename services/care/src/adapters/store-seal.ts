// How an entry lies in its row: text in the clear, or sealed under the ring's active key and bound to its slot. Also the
// proofs by which a store knows at its start that every key it needs is there and is the right one.

import type { DatabaseSync } from 'node:sqlite'
import {
  isSealed,
  type KeyRing,
  openValue,
  SEAL_ALGORITHM,
  sealedKeyId,
  sealValue,
} from '@tallystick/hashchain'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import type { ChainSlot } from '../wire/record-uri.ts'

/** What a row holds. */
type StoredBody = string | Uint8Array

/** Puts entries into rows and takes them out again. */
export type EntrySeal = {
  close(entry: string, slot: string): StoredBody
  /** The entry's text, or undefined where sealed bytes do not open in that slot. */
  open(body: unknown, slot: string): string | undefined
}

/** The additional authenticated data of a version, `patient|domain|version|audience`, for each version of a chain. */
export function slotTextOf({ patient, domain, audience }: ChainSlot): (version: number) => string {
  return (version) => `${patient}|${domain}|${version}|${audience}`
}

/** Seals under the ring's active key; without a ring entries stay in the clear. */
export function createEntrySeal(ring: KeyRing | undefined): EntrySeal {
  return {
    close: (entry, slot) => (ring === undefined ? entry : sealValue({ ring, value: entry, slot })),
    open: (body, slot) => {
      if (typeof body === 'string') return body
      if (ring === undefined || !(body instanceof Uint8Array)) return undefined
      const opened = openValue({ ring, sealed: body, slot })
      return opened.kind === 'opened' ? opened.value : undefined
    },
  }
}

/** What a receipt says of stored bytes; the first 128 of them are enough. */
export function receiptOf(body: unknown): {
  readonly encrypted: boolean
  readonly algorithm: string
  readonly keyId?: string
} {
  if (!(body instanceof Uint8Array) || !isSealed(body))
    return { encrypted: false, algorithm: 'none' }
  const keyId = sealedKeyId(body)
  return { encrypted: true, algorithm: SEAL_ALGORITHM, ...(keyId === undefined ? {} : { keyId }) }
}

const PROOF_TEXT = 'tallystick care seal key'
const proofSlot = (keyId: string): string => `seal-key|${keyId}`

/** Throws RecordStoreUnavailable unless the ring has every key that the store was sealed under, each the right one (C16). */
export function requireSealKeys(database: DatabaseSync, ring: KeyRing | undefined): void {
  const used = database.prepare('SELECT key_id, proof FROM seal_keys ORDER BY key_id').all()
  for (const { key_id: keyId, proof } of used) {
    const name = String(keyId)
    if (ring?.key(name) === undefined)
      throw new RecordStoreUnavailable(
        `the store holds values sealed under the key "${name}", which SEAL_KEYS does not have`,
      )
    const sealed = proof instanceof Uint8Array ? proof : new Uint8Array()
    const opened = openValue({ ring, sealed, slot: proofSlot(name) })
    if (opened.kind !== 'opened' || opened.value !== PROOF_TEXT)
      throw new RecordStoreUnavailable(
        `the key "${name}" in SEAL_KEYS is not the one that values were sealed under`,
      )
  }
}

/** Notes that values may from now on be sealed under the ring's active key. */
export function registerActiveKey(database: DatabaseSync, ring: KeyRing): void {
  const proof = sealValue({ ring, value: PROOF_TEXT, slot: proofSlot(ring.activeId) })
  database
    .prepare('INSERT OR IGNORE INTO seal_keys (key_id, proof) VALUES (?, ?)')
    .run(ring.activeId, proof)
}
