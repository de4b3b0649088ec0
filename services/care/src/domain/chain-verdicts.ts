// The verdicts on an audience's chains, kept by the chains' numbers in some twenty bytes each: a million chains fit in memory. Names
// are not kept: the store lists them.
import { SEAL_ALGORITHM } from '@tallystick/hashchain'
import type { ChainVerdict, PublicReceipt } from '../wire/verify.ts'
import type { ChainFinding } from './record-store.ts'

/** Versions without a chain that are named; a store whose chains were removed could have as many as it has versions. */
const STRAYS_MAX = 1_000
/** Chains for which there is room at first. */
const ROOM_MIN = 1_024
/** Numbers of chains whose verdicts count as changed together. */
const BLOCK_NUMBERS = 256

/** How a chain's newest version is stored: a sealed one by the place of its key's id, from here on. */
const [NONE, CLEAR, SEALED] = [0, 1, 2]

/** A verdict without its chain's name, and how the newest version is stored. */
export type KeptChain = {
  readonly verdict: Omit<ChainVerdict, 'uri'>
  readonly receipt: Pick<PublicReceipt, 'encrypted' | 'algorithm'> & { readonly keyId?: string }
}

export const keptChain = (found: ChainFinding): KeptChain => {
  const { versions, intact, brokenAt, erased } = found
  const { algorithm, encrypted, keyId } = found.receipt
  return {
    verdict: { versions, intact, brokenAt, erased },
    receipt: { encrypted, algorithm, ...(keyId !== undefined && { keyId }) },
  }
}

const blockNumber = (number: number): number => Math.floor(number / BLOCK_NUMBERS)

const grown = <Numbers extends { set(from: Numbers): void }>(made: Numbers, from: Numbers) => {
  made.set(from)
  return made
}

export class ChainVerdicts {
  #versions = new Float64Array(ROOM_MIN)
  /** The first version that does not hold; 0 for a chain that holds. */
  #brokenAt = new Float64Array(ROOM_MIN)
  #isErased = new Uint8Array(ROOM_MIN)
  #storedAs = new Uint16Array(ROOM_MIN)
  /** A few: those of SEAL_KEYS. */
  readonly #keyIds: (string | undefined)[] = [undefined]
  /** By number of the missing chain and version. */
  readonly #strays = new Map<string, ChainFinding>()
  /** Counts changes; for each block of numbers, which one was its last. */
  #changes = 0
  readonly #changedAt: number[] = []

  put(found: ChainFinding): void {
    const { brokenAt = 0, erased, number, receipt, versions } = found
    if (number === undefined) {
      if (this.#strays.size < STRAYS_MAX) this.#strays.set(`${receipt.uri} ${brokenAt}`, found)
      return
    }
    this.#makeRoom(number)
    const storedAs = receipt.encrypted ? SEALED + this.#keyAt(receipt.keyId) : CLEAR
    const isErased = erased === undefined ? 0 : 1
    const isSame =
      this.#versions[number] === versions &&
      this.#brokenAt[number] === brokenAt &&
      this.#isErased[number] === isErased &&
      this.#storedAs[number] === storedAs
    // A scrub finds most chains as they were.
    if (isSame) return
    this.#noteChange(number)
    this.#versions[number] = versions
    this.#brokenAt[number] = brokenAt
    this.#isErased[number] = isErased
    this.#storedAs[number] = storedAs
  }

  /** Undefined for a chain that was not replayed. */
  get(number: number): KeptChain | undefined {
    const storedAs = this.#storedAs[number] ?? NONE
    if (storedAs === NONE) return undefined
    const versions = this.#versions[number] ?? 0
    const brokenAt = this.#brokenAt[number] ?? 0
    const verdict = {
      versions,
      intact: brokenAt === 0,
      ...(brokenAt > 0 && { brokenAt }),
      ...(this.#isErased[number] === 1 && { erased: versions }),
    }
    if (storedAs === CLEAR) return { verdict, receipt: { encrypted: false, algorithm: 'none' } }
    const keyId = this.#keyIds[storedAs - SEALED]
    const sealed = { encrypted: true, algorithm: SEAL_ALGORITHM }
    return { verdict, receipt: keyId === undefined ? sealed : { ...sealed, keyId } }
  }

  /** Puts verdicts in the place of all on chains from one number up to another, which is left out. */
  replace(from: number, to: number, found: readonly ChainFinding[]): void {
    const numbers = new Set(found.map(({ number }) => number))
    const end = Math.min(to, this.#storedAs.length)
    for (let number = Math.max(from, 0); number < end; number += 1)
      if (this.#storedAs[number] !== NONE && !numbers.has(number)) {
        this.#storedAs[number] = NONE
        this.#noteChange(number)
      }
    for (const [name, { strayOf = 0 }] of this.#strays)
      if (strayOf >= from && strayOf < to) this.#strays.delete(name)
    for (const chain of found) this.put(chain)
  }

  /** Changes so far. */
  get changes(): number {
    return this.#changes
  }

  /** Whether a verdict on a chain of a number from one up to another has changed after so many changes; rather yes than no. */
  hasChanged(from: number, to: number, changes: number): boolean {
    const end = Math.min(blockNumber(to - 1) + 1, this.#changedAt.length)
    for (let block = blockNumber(from); block < end; block += 1)
      if ((this.#changedAt[block] ?? 0) > changes) return true
    return false
  }

  /** Versions that belong to no chain. */
  get strays(): readonly ChainFinding[] {
    return [...this.#strays.values()]
  }

  #noteChange(number: number): void {
    this.#changes += 1
    this.#changedAt[blockNumber(number)] = this.#changes
  }

  #keyAt(keyId: string | undefined): number {
    const known = this.#keyIds.indexOf(keyId)
    return known < 0 ? this.#keyIds.push(keyId) - 1 : known
  }

  #makeRoom(number: number): void {
    const { length } = this.#versions
    if (number < length) return
    const room = Math.max(number + 1, length * 2)
    this.#versions = grown(new Float64Array(room), this.#versions)
    this.#brokenAt = grown(new Float64Array(room), this.#brokenAt)
    this.#isErased = grown(new Uint8Array(room), this.#isErased)
    this.#storedAs = grown(new Uint16Array(room), this.#storedAs)
  }
}
