/**
 * The proof that shows a store at its start that it has the key it needs, and the right one: table `seal_keys (key_id, proof)`.
 */
import { isSealed, type KeyRing, openValue, sealValue } from '@tallystick/hashchain'
import type { Rows, Statement } from './store.ts'
import type { UnavailableError } from './unavailable.ts'

/** How a kind of store is sealed. */
export type SealKind = {
  /** A known text, sealed under the key that the store names: it exposes a wrong key at once. */
  readonly proofText: string
  /** The operator calls the keys so: `SEAL_KEYS`, and the place of those under which values are sealed. */
  readonly ringName: string
  readonly keysPlace: string
}

const proofSlot = (keyId: string): string => `seal-key|${keyId}`

/** A kind of store, as far as its bodies are sealed. */
type MaybeSealed = {
  readonly journals: Readonly<Record<string, { readonly table: string }>>
  readonly seal?: SealKind
  readonly Unavailable: UnavailableError
}

/**
 * Fails with the service's error unless the ring has the key that the store names, and the right one. A store is sealed from
 * its first entry or never: with a ring, one that has entries and names no key is refused too.
 */
export async function requireKeys(
  rows: Rows,
  ring: KeyRing | undefined,
  { journals, seal, Unavailable }: MaybeSealed,
): Promise<void> {
  if (seal === undefined) return
  const anyEntry = Object.values(journals)
    .map(({ table }) => `EXISTS (SELECT 1 FROM ${table})`)
    .join(' OR ')
  const used = await rows<readonly [keyId: string, proof: unknown]>(
    'SELECT key_id, proof FROM seal_keys ORDER BY key_id',
  )
  const entries = await rows(`SELECT 1 WHERE ${anyEntry}`)
  if (ring !== undefined && used.length === 0 && entries.length > 0)
    throw new Unavailable(
      'the store holds entries in the clear, and is sealed from its first entry or never: export it without keys, and import that into a new store with them',
    )
  for (const [keyId, proof] of used) {
    if (ring === undefined)
      throw new Unavailable(`the store holds sealed values, and ${seal.ringName} is not set`)
    if (ring.key(keyId) === undefined)
      throw new Unavailable(
        `the store holds values sealed under the key "${keyId}", which ${seal.keysPlace} does not have`,
      )
    const sealed = proof instanceof Uint8Array ? proof : new Uint8Array()
    const opened = openValue({ ring, sealed, slot: proofSlot(keyId) })
    if (opened.kind !== 'opened' || opened.value !== seal.proofText)
      throw new Unavailable(
        `the key "${keyId}" in ${seal.keysPlace} is not the one that values were sealed under`,
      )
  }
}

/** The statement that names the ring's active key as that of the store; none if the kind seals no bodies. */
export function nameKey(
  { seal }: Pick<MaybeSealed, 'seal'>,
  ring: KeyRing | undefined,
): readonly Statement[] {
  if (seal === undefined || ring === undefined) return []
  const { activeId } = ring
  const proof = sealValue({ ring, value: seal.proofText, slot: proofSlot(activeId) })
  const text = 'INSERT INTO seal_keys (key_id, proof) VALUES ($1, $2) ON CONFLICT DO NOTHING'
  return [{ text, values: [activeId, proof] }]
}

/** A body whose column holds bytes only, as a row of its own engine would hold it. */
export const bodyOfBytes = (bytes: Uint8Array): string | Uint8Array =>
  isSealed(bytes) ? bytes : Buffer.from(bytes).toString('utf8')
