// The keys of chains (C31): each chain's entries are sealed under the chain's own key, which a key of the ring wraps. Wrapped
// keys are kept in a place of their own, which no backup of the records copies: a file (chain-keys-file.ts) or a PostgreSQL
// (chain-keys-postgres.ts). They are wrapped under the first key of the ring; a process whose ring begins with another key
// rewraps them when it opens the records. A key is durable before anything is sealed under it, and each use asks the place:
// neither a commit that failed (S12) nor another process that destroyed a key leaves one that still seals or opens.
import { createSecretKey, KeyObject, randomBytes } from 'node:crypto'
import {
  isSealed,
  type KeyRing,
  openValue,
  SEAL_ALGORITHM,
  type SealingKey,
  sealedKeyId,
  sealHeader,
  sealValue,
} from '@tallystick/hashchain'
import { sharedRuns, type WriteTrouble } from '@tallystick/journal-store'
import { BoundedMap } from '@tallystick/service-kit'
import {
  ChainKeyLost,
  type ErasedName,
  type KeptErasure,
  RecordStoreUnavailable,
  type SealReceipt,
} from '../../domain/record-store.ts'

/** Unwrapped keys in memory, a few megabytes; unwrapping another one takes some microseconds. */
const KEYS_HELD_MAX = 10_000
/** AES-256. */
const CHAIN_KEY_BYTES = 32
/** Of the place's own key: the records name it, so another or an empty place is noticed. */
export const PLACE_KEY_CHAIN = ''

/** A chain's key, as a place keeps it. */
export type WrappedKey = readonly [chain: string, keyId: string, wrapped: Uint8Array]

/** What a place holds at one moment. */
export type ChainKeysCopy = {
  readonly keys: readonly WrappedKey[]
  readonly erasures: readonly KeptErasure[]
}

type OnProblem = (error: unknown) => void

/** Where wrapped keys and erasures are kept; chain-keys.contract.ts is the suite of every place. Failures are RecordStoreUnavailable. */
export type ChainKeysPlace = {
  find(chains: readonly string[]): Promise<readonly WrappedKey[]>
  /** Those whose wrapping does not begin with these bytes. */
  findOthers(header: Uint8Array): Promise<readonly WrappedKey[]>
  /** Keeps keys, except of chains that have one or were erased; each of these chains' keys is durable when it answers. */
  add(keys: readonly WrappedKey[]): Promise<unknown>
  /** Puts other wrappings in the place of those of the same keys, of which nothing stays readable here. */
  rewrap(keys: readonly WrappedKey[]): Promise<unknown>
  erasures(): Promise<readonly KeptErasure[]>
  /** Destroys a chain's key for good, of which nothing stays readable here, and notes who did so. Repeating it changes nothing. */
  destroy(erasure: KeptErasure): Promise<unknown>
  copy(): Promise<ChainKeysCopy>
  /** Takes up a copy; refuses it if the place has keys of chains or erasures. */
  fill(copy: ChainKeysCopy): Promise<unknown>
  /** Asks, for `/ready`, why a key would not be kept now. */
  openProbe(onProblem: OnProblem): () => Promise<WriteTrouble | undefined>
  /** The process stops: soon nothing waits for the place any more. */
  stopping(onProblem: OnProblem): void
  close(): Promise<void>
}

/**
 * A chain's name in places and in erasures: patient and domain hold no `|`. A chain that begins where its topic was freed has
 * a name, and so a key, of its own: those of the freed one stay as they are.
 */
export const chainName = ({ patient, domain, turn }: ErasedName): string =>
  turn === 0 ? `${patient}|${domain}` : `${patient}|${domain}|${turn}`

export function namesOfChain(chain: string): ErasedName {
  const [patient = '', domain = '', turn = '0'] = chain.split('|', 3)
  return { patient, domain, turn: Number(turn) }
}

/** An erasure as records and places keep it. */
export type ErasureRow = readonly [chain: string, at: string, actor: string, reason: string]

export const erasureOfRow = ([chain, at, actor, reason]: ErasureRow): KeptErasure => ({
  ...namesOfChain(chain),
  at,
  actor,
  reason,
})

export const rowOfErasure = (erasure: KeptErasure): ErasureRow => [
  chainName(erasure),
  erasure.at,
  erasure.actor,
  erasure.reason,
]

/** A place that is filled may have its own key: whoever opens it makes one. */
export function requireEmpty({ erasures, keys }: ChainKeysCopy): void {
  if (erasures.length > 0 || keys.some(([chain]) => chain !== PLACE_KEY_CHAIN))
    throw new RecordStoreUnavailable('there are chain keys already; a copy overwrites nothing')
}

/** The chain in a slot's text, `patient|domain|version|audience`, with `|turn` if that is not 0. */
function chainOfSlot(slot: string): string {
  const namesEnd = slot.indexOf('|', slot.indexOf('|') + 1)
  const turnStart = slot.indexOf('|', slot.indexOf('|', namesEnd + 1) + 1)
  return slot.slice(0, namesEnd) + (turnStart < 0 ? '' : slot.slice(turnStart))
}

/** The additional data of a wrapped key: it binds the key to the chain and to the key's id. */
const wrapSlot = (chain: string, keyId: string): string => `chain-key|${keyId}|${chain}`

/** Puts entries into rows, as clear text or sealed and bound to their slot, and takes them out again. */
export type BodySeal = {
  close(entry: string, slot: string): string | Uint8Array
  /** The entry's text; undefined if sealed bytes do not open in that slot. */
  open(body: unknown, slot: string): string | undefined
}

/** Opens and seals the bodies of the chains that it was asked for. */
export type ChainSeal = BodySeal & {
  /** What stored bytes say of their sealing, and under which configured key ultimately. */
  readonly receipt: (body: unknown, chain: string) => SealReceipt
}

/** The first and the newest stored body of a chain that is not erased; none of one that is not there. */
type ReadEnds = (name: ErasedName) => Promise<readonly unknown[]>

/** Seals for chains. */
export type ChainSeals = {
  sealFor(chains: readonly string[]): Promise<ChainSeal>
  /** The same for who passes every chain once: those keys take nobody's place in memory. */
  sealOnce(chains: readonly string[]): Promise<ChainSeal>
  /**
   * The same, and makes keys that are missing. An erased chain gets none; nor does one whose own key is lost: throws
   * ChainKeyLost.
   */
  sealToWrite(chains: readonly string[], readEnds: ReadEnds): Promise<ChainSeal>
}

/** The first 128 bytes are enough. */
function sealReceipt(body: unknown): SealReceipt {
  if (!(body instanceof Uint8Array) || !isSealed(body))
    return { encrypted: false, algorithm: 'none' }
  const keyId = sealedKeyId(body)
  return { encrypted: true, algorithm: SEAL_ALGORITHM, ...(keyId === undefined ? {} : { keyId }) }
}

const CLEAR: ChainSeal = {
  close: (entry) => entry,
  open: (body) => (typeof body === 'string' ? body : undefined),
  receipt: sealReceipt,
}
/** For records in the clear. */
export const CLEAR_SEALS: ChainSeals = {
  sealFor: async () => CLEAR,
  sealOnce: async () => CLEAR,
  sealToWrite: async () => CLEAR,
}

/** A stored key; without `key`, the ring does not unwrap it. */
type ChainKey = { readonly wrapped: WrappedKey; readonly key: SealingKey | undefined }
type KeysByChain = ReadonlyMap<string, ChainKey>

/** Opens the keys in a place, and makes the place's own key. Fails if the ring is not theirs. */
export async function openChainKeys(place: ChainKeysPlace, ring: KeyRing): Promise<ChainKeys> {
  const keys = new ChainKeys(place, ring)
  await keys.readOwn()
  return keys
}

export class ChainKeys implements ChainSeals {
  readonly place: ChainKeysPlace
  readonly #ring: KeyRing
  /** Spares unwrapping again what the place still has. */
  readonly #unwrapped = new BoundedMap<string, ChainKey>(KEYS_HELD_MAX)
  #own: { readonly wrapped: WrappedKey; readonly key: KeyObject } | undefined
  /** Ids of keys behind which this process has committed: a key that is only seen may be lost in a failover. */
  readonly #sure = new BoundedMap<string, true>(KEYS_HELD_MAX)
  #unsure = new Set<string>()
  /** Chains that are begun in one iteration of the event loop share a commit. */
  readonly #makeUnsure = sharedRuns(async () => {
    const chains = [...this.#unsure]
    this.#unsure = new Set()
    await this.#make(chains)
  })

  constructor(place: ChainKeysPlace, ring: KeyRing) {
    this.place = place
    this.#ring = ring
  }

  /** Reads the place's own key, and makes it in a new place. Fails if the ring does not unwrap it, and so no other (C16). */
  async readOwn(): Promise<void> {
    const own = (await this.#keysToWrite([PLACE_KEY_CHAIN])).get(PLACE_KEY_CHAIN)
    const wrappedBy = own && sealedKeyId(own.wrapped[2])
    if (!(own?.key instanceof KeyObject))
      throw new RecordStoreUnavailable(
        this.#ring.key(wrappedBy ?? '') === undefined
          ? `the keys of chains are wrapped under the key "${wrappedBy}", which SEAL_KEYS does not have`
          : `the key "${wrappedBy}" in SEAL_KEYS is not the one that the keys of chains were wrapped under`,
      )
    this.#own = { wrapped: own.wrapped, key: own.key }
  }

  /** The key that belongs to the place. */
  get ownKeyId(): string {
    return this.#own?.wrapped[1] ?? ''
  }

  /** The key of SEAL_KEYS under which keys are wrapped. */
  get ringKeyId(): string {
    return this.#ring.activeId
  }

  /** The place's own key, which the records name. */
  get ownRing(): KeyRing {
    return this.#ringWith(this.#own)
  }

  readonly sealFor = async (chains: readonly string[]): Promise<ChainSeal> =>
    this.#sealWith(await this.#findKeys(chains))

  readonly sealOnce = async (chains: readonly string[]): Promise<ChainSeal> =>
    this.#sealWith(await this.#findKeys(chains, 'once'))

  readonly sealToWrite = async (
    chains: readonly string[],
    readEnds: ReadEnds,
  ): Promise<ChainSeal> => {
    const keys = await this.#findKeys(chains)
    const unsure = this.#listUnsure(chains, keys)
    if (unsure.length === 0) return this.#sealWith(keys)
    const missing = unsure.filter((chain) => !keys.has(chain))
    const [lost] = await this.#listLost(missing, readEnds)
    if (lost !== undefined)
      throw new ChainKeyLost(
        `the key of the chain ${lost} is lost, and no other is made: restore the newest copy of the chain keys that has it (care restore-keys), or erase the chain`,
      )
    for (const chain of unsure) this.#unsure.add(chain)
    await this.#makeUnsure()
    return this.#sealWith(await this.#findSureKeys(chains))
  }

  /**
   * Brings every key under the active key of the ring, those too that a process with another one in front made since the last
   * time. A key that does not open stays as it is: its chain is lost, the others are not.
   */
  async rewrap(): Promise<void> {
    await this.readOwn()
    const ring = this.#ring
    const others = await this.place.findOthers(sealHeader(ring.activeId))
    const rewrapped = others.flatMap(([chain, keyId, sealed]): WrappedKey[] => {
      const slot = wrapSlot(chain, keyId)
      const opened = openValue({ ring, sealed, slot })
      if (opened.kind !== 'opened') return []
      return [[chain, keyId, sealValue({ ring, value: opened.value, slot })]]
    })
    if (rewrapped.length > 0) await this.place.rewrap(rewrapped)
  }

  async close(): Promise<void> {
    await this.place.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #findKeys(chains: readonly string[], use?: 'once'): Promise<KeysByChain> {
    const keys = new Map<string, ChainKey>()
    for (const wrapped of await this.place.find([...new Set(chains)])) {
      const key = this.#findUnwrapped(wrapped) ?? this.#unwrap(wrapped, use)
      keys.set(wrapped[0], key)
    }
    return keys
  }

  /** Those of chains without a key that have versions, which are sealed under one. */
  async #listLost(missing: readonly string[], readEnds: ReadEnds): Promise<readonly string[]> {
    if (missing.length === 0) return []
    const ends = await Promise.all(missing.map((chain) => readEnds(namesOfChain(chain))))
    const sealed = missing.filter((_, at) => (ends[at]?.length ?? 0) > 0)
    if (sealed.length === 0) return []
    // One that was begun meanwhile has its key since before its first version.
    const keys = await this.#findKeys(sealed)
    return sealed.filter((chain) => !keys.has(chain))
  }

  async #keysToWrite(chains: readonly string[]): Promise<KeysByChain> {
    const keys = await this.#findKeys(chains)
    const unsure = this.#listUnsure(chains, keys)
    if (unsure.length === 0) return keys
    await this.#make(unsure)
    return this.#findSureKeys(chains)
  }

  /** Chains without a key, or whose key another process may have committed in vain. */
  #listUnsure(chains: readonly string[], keys: KeysByChain): readonly string[] {
    return [...new Set(chains)].filter((chain) => {
      const keyId = keys.get(chain)?.wrapped[1]
      return keyId === undefined || this.#sure.get(keyId) === undefined
    })
  }

  /** Keys behind which a commit was just made. */
  async #findSureKeys(chains: readonly string[]): Promise<KeysByChain> {
    const keys = await this.#findKeys(chains)
    for (const { wrapped } of keys.values()) this.#sure.set(wrapped[1], true)
    return keys
  }

  async #make(chains: readonly string[]): Promise<void> {
    await this.place.add(
      chains.map((chain) => {
        const keyId = `c.${randomBytes(16).toString('hex')}`
        const value = randomBytes(CHAIN_KEY_BYTES).toString('base64')
        const wrapped = sealValue({ ring: this.#ring, value, slot: wrapSlot(chain, keyId) })
        return [chain, keyId, wrapped]
      }),
    )
  }

  #findUnwrapped([chain, , sealed]: WrappedKey): ChainKey | undefined {
    const known = this.#unwrapped.get(chain)
    return known !== undefined && Buffer.compare(known.wrapped[2], sealed) === 0 ? known : undefined
  }

  #unwrap(wrapped: WrappedKey, use?: 'once'): ChainKey {
    const [chain, keyId, sealed] = wrapped
    const opened = openValue({ ring: this.#ring, sealed, slot: wrapSlot(chain, keyId) })
    const bytes = opened.kind === 'opened' ? Buffer.from(opened.value, 'base64') : undefined
    // A KeyObject outlives what V8 collects at once: those of a whole store would fill 140 MB.
    if (use === 'once') return { wrapped, key: bytes }
    const made = { wrapped, key: bytes && createSecretKey(bytes) }
    this.#unwrapped.set(chain, made)
    return made
  }

  /** A ring of one key; its random bytes are the configured ring's. */
  #ringWith<Key extends SealingKey>(
    own: { readonly wrapped: WrappedKey; readonly key: Key | undefined } | undefined,
  ): KeyRing<Key> {
    const activeId = own?.wrapped[1] ?? ''
    return { ...this.#ring, activeId, key: (id) => (id === activeId ? own?.key : undefined) }
  }

  #sealWith(keys: KeysByChain): ChainSeal {
    const none = this.#ringWith(undefined)
    const rings = new Map([...keys].map(([chain, own]) => [chain, this.#ringWith(own)]))
    return {
      close: (value, slot) => {
        const ring = rings.get(chainOfSlot(slot))
        if (ring === undefined) throw new RecordStoreUnavailable('the chain was erased')
        if (ring.key(ring.activeId) === undefined)
          throw new RecordStoreUnavailable('no key of SEAL_KEYS opens the key of this chain')
        return sealValue({ ring, value, slot })
      },
      open: (sealed, slot) => {
        if (!(sealed instanceof Uint8Array)) return CLEAR.open(sealed, slot)
        const ring = rings.get(chainOfSlot(slot)) ?? none
        const opened = openValue({ ring, sealed, slot })
        return opened.kind === 'opened' ? opened.value : undefined
      },
      receipt: (body, chain) => {
        const { keyId, ...receipt } = sealReceipt(body)
        const own = keys.get(chain)?.wrapped
        const wrappedBy = own?.[1] === keyId && own ? sealedKeyId(own[2]) : undefined
        return wrappedBy === undefined ? receipt : { ...receipt, keyId: wrappedBy }
      },
    }
  }
}
