// The replay of one stored chain: every version is checked against its slot, its number, the journal's leaf, the previous
// version and its own hash. Adapters supply the bytes and open sealed ones.
import { createCompactRange, GENESIS_PREV_HASH } from '@tallystick/hashchain'
import type { ChainSlot } from '../wire/record-uri.ts'
import type { VersionFault } from '../wire/verify.ts'
import { createVersionCheck, type StoredVersion } from './journal-entry.ts'

type ReplayVerdict = {
  /** Every version added, whether it holds or not. */
  readonly versions: number
  readonly broken?: { readonly version: number; readonly fault: VersionFault }
}

/** A replay in progress: versions are added in order; memory does not grow with them. */
export type StoredChainReplay = {
  add(stored: StoredVersion): void
  /** Ends the replay by comparing with the recorded newest version of the chain, and gives the verdict. */
  end(head: {
    readonly version: number
    readonly versionHash: string
    /** Whether lists leave the chain out (C40); an export does not say. */
    readonly isWithdrawn?: boolean
  }): ReplayVerdict
  /** Versions so far. Not a getter: V8 keeps each object literal with one, and all that it reaches, until it collects everything. */
  count(): number
}

/**
 * The replay of an erased chain (C31): nothing opens any more, so it checks that versions have no gap, and that their leaves
 * have the root kept when the key was destroyed.
 */
export function createErasedChainReplay(erasedLeaves: string): StoredChainReplay {
  const leaves = createCompactRange()
  let versions = 0
  let broken: ReplayVerdict['broken']
  return {
    count: () => versions,
    add: ({ leafHash, version }) => {
      versions += 1
      if (version !== versions) broken ??= { version: versions, fault: 'missing' }
      leaves.append(Buffer.from(leafHash, 'hex'))
    },
    end: (head) => {
      if (broken !== undefined) return { versions, broken }
      if (versions < head.version)
        return { versions, broken: { version: versions + 1, fault: 'missing' } }
      const isSame = Buffer.from(leaves.rootHash()).toString('hex') === erasedLeaves
      return isSame ? { versions } : { versions, broken: { version: 1, fault: 'leaf' } }
    },
  }
}

/** How far a chain is known to hold. */
export type KnownPart = {
  readonly versions: number
  readonly headHash: string
  readonly isWithdrawn: boolean
}

const NOTHING_KNOWN: KnownPart = { versions: 0, headHash: GENESIS_PREV_HASH, isWithdrawn: false }

/** Starts the replay of the chain in `slot` after its known part. After a break, further versions are only counted. */
export function createStoredChainReplay(slot: ChainSlot, known = NOTHING_KNOWN): StoredChainReplay {
  const check = createVersionCheck(slot)
  let { headHash, isWithdrawn, versions } = known
  let broken: ReplayVerdict['broken']

  return {
    count: () => versions,
    add: (stored) => {
      versions += 1
      if (broken !== undefined) return
      if (stored.version !== versions) {
        broken = { version: versions, fault: 'missing' }
        return
      }
      const found = check(stored)
      if (found.kind === 'broken') broken = { version: versions, fault: found.fault }
      else if (found.prevHash !== headHash) broken = { version: versions, fault: 'link' }
      else {
        headHash = found.versionHash
        isWithdrawn = found.isWithdrawal
      }
    },
    end: (head) => {
      if (broken !== undefined) return { versions, broken }
      if (versions < head.version || versions === 0)
        return { versions, broken: { version: versions + 1, fault: 'missing' } }
      if (versions > head.version || headHash !== head.versionHash)
        return {
          versions,
          broken: { version: Math.min(versions, head.version + 1), fault: 'head' },
        }
      if (isWithdrawn !== (head.isWithdrawn ?? isWithdrawn))
        return { versions, broken: { version: versions, fault: 'head' } }
      return { versions }
    },
  }
}
