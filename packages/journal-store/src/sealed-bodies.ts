/**
 * How a row holds an entry: as clear text, or sealed under the ring's active key and bound to its slot. Also the proofs that
 * show a store at its start that it has every key it needs, and the right ones: table `seal_keys (key_id, proof)`.
 */
import {
  isSealed,
  type KeyRing,
  openValue,
  SEAL_ALGORITHM,
  sealedKeyId,
  sealValue,
} from '@tallystick/hashchain'
import type { Awaitable, UnavailableError } from './journal-store.ts'
import type { SqlQuery } from './sql-connection.ts'
import { whenAnswered } from './sql-dialect.ts'

/** What a row holds. */
type StoredBody = string | Uint8Array

/** Puts entries into rows and takes them out again. */
export type BodySeal = {
  close(entry: string, slot: string): StoredBody
  /** The entry's text; undefined if sealed bytes do not open in that slot. */
  open(body: unknown, slot: string): string | undefined
}

/** How resealing seals bodies, if not simply under the ring's active key. */
export type SealPlan = {
  /** What opens and seals the bodies in these slots; its keys are durable. `query` reads the store as it is now. */
  sealFor(slots: readonly string[], query: SqlQuery): Awaitable<PlannedSeal>
  /** Keys that the store needs besides the active one, whatever bodies name. */
  readonly needed: readonly string[]
  /** Called once every body is current. */
  finish(): Awaitable<unknown>
}

type PlannedSeal = BodySeal & {
  /** Whether a body under that key (undefined: in the clear) may stay as it is in that slot. */
  isCurrent(keyId: string | undefined, slot: string): boolean
}

/** Everything under the ring's active key. */
export const ringPlan = (ring: KeyRing): SealPlan => ({
  sealFor: () => ({
    ...createBodySeal(ring),
    isCurrent: (keyId) => keyId === ring.activeId,
  }),
  needed: [],
  finish: () => undefined,
})

/** Seals under the ring's active key; without a ring, entries stay in the clear. */
export function createBodySeal(ring: KeyRing | undefined): BodySeal {
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

/** What a receipt says about stored bytes; their first 128 are enough. */
export function sealReceipt(body: unknown): {
  readonly encrypted: boolean
  readonly algorithm: string
  readonly keyId?: string
} {
  if (!(body instanceof Uint8Array) || !isSealed(body))
    return { encrypted: false, algorithm: 'none' }
  const keyId = sealedKeyId(body)
  return { encrypted: true, algorithm: SEAL_ALGORITHM, ...(keyId === undefined ? {} : { keyId }) }
}

/** The column of a journal whose bodies may be sealed, and what binds each to its place. */
export type SealedColumn = {
  readonly body: string
  /** The columns of a slot's text, and the join that supplies them. */
  readonly slotColumns: string
  readonly join: string
  /** The slot's text from those columns; undefined if the row belongs nowhere. */
  readonly slotText: (cells: readonly unknown[]) => string | undefined
}

/** How a kind of store is sealed. */
export type SealKind = {
  /** A known text, sealed under each key, that exposes a wrong key at once. */
  readonly proofText: string
  /** What the operator calls the key ring, such as `SEAL_KEYS`. */
  readonly ringName: string
  /** Keys that are themselves kept under the ring's: their ids, and where the operator finds them. */
  readonly kept?: { readonly ids: RegExp; readonly name: string }
}

const proofSlot = (keyId: string): string => `seal-key|${keyId}`

/** A key that some body may be sealed under, and the known text sealed under it. */
type UsedKey = { readonly key_id: string; readonly proof: unknown }

/** A kind of store, as far as its bodies are sealed. */
type MaybeSealed = { readonly seal?: SealKind; readonly Unavailable: UnavailableError }

const USED_KEYS = 'SELECT key_id, proof FROM seal_keys ORDER BY key_id'

/** Throws the service's error unless the ring has every key that the store was sealed under, each the right one. */
function checkSealKeys(
  used: readonly UsedKey[],
  ring: KeyRing | undefined,
  { seal, Unavailable }: { readonly seal: SealKind; readonly Unavailable: UnavailableError },
): void {
  const { kept, proofText, ringName } = seal
  const isKept = ({ key_id: keyId }: UsedKey): boolean => kept?.ids.test(keyId) === true
  // Keys kept under others come last, so that a missing key is named itself.
  for (const one of used.toSorted((left, right) => Number(isKept(left)) - Number(isKept(right)))) {
    const { key_id: keyId, proof } = one
    if (ring?.key(keyId) === undefined)
      throw new Unavailable(
        `the store holds values sealed under the key "${keyId}", which ${isKept(one) ? kept?.name : ringName} does not have`,
      )
    const sealed = proof instanceof Uint8Array ? proof : new Uint8Array()
    const opened = openValue({ ring, sealed, slot: proofSlot(keyId) })
    if (opened.kind !== 'opened' || opened.value !== proofText)
      throw new Unavailable(
        `the key "${keyId}" in ${ringName} is not the one that values were sealed under`,
      )
  }
}

/** Fails with the service's error unless the ring has every key that the store was sealed under, each the right one. */
export function requireKeys(
  read: (text: string) => Awaitable<readonly unknown[]>,
  ring: KeyRing | undefined,
  { seal, Unavailable }: MaybeSealed,
): Awaitable<void> {
  if (seal === undefined) return
  return whenAnswered([read(USED_KEYS)], ([used]) =>
    checkSealKeys(used as readonly UsedKey[], ring, { seal, Unavailable }),
  )
}

/** Notes that values may from now on be sealed under the ring's active key: statement and values, on either engine. */
export const keyRegistration = (ring: KeyRing, { proofText }: SealKind) =>
  [
    'INSERT INTO seal_keys (key_id, proof) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [ring.activeId, sealValue({ ring, value: proofText, slot: proofSlot(ring.activeId) })],
  ] as const

/** A body whose column holds bytes only, as a row of its own engine would hold it. */
export const bodyOfBytes = (bytes: Uint8Array): StoredBody =>
  isSealed(bytes) ? bytes : Buffer.from(bytes).toString('utf8')

/** At least a nonce and a tag, so that the header reads like that of a sealed value. */
const PADDING_BYTES = 64

/** The key id in a header whose nonce and text were left behind. */
export function keyIdOfHead(head: Uint8Array): string | undefined {
  const padded = new Uint8Array(head.length + PADDING_BYTES)
  padded.set(head)
  return sealedKeyId(padded)
}
