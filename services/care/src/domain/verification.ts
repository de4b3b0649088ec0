/**
 * Replays of chains on request (C18), and the two forms of their answer. One replay runs at a time; requests that would
 * see the same result share it. A run is never older than the last write that this process accepted before the request.
 */
import { SEAL_ALGORITHM } from '@tallystick/hashchain'
import { chainUri } from '../wire/record-uri.ts'
import type { ChainPayload, ChainVerdict, PublicReceipt, VerifyPayload } from '../wire/verify.ts'
import type { ChainVerification, RecordStore } from './record-store.ts'

export type VerifyRun = {
  /** ISO 8601 time at which it began. */
  readonly checkedAt: string
  readonly chains: readonly ChainVerification[]
  /** Versions replayed. */
  readonly versions: number
  readonly intact: boolean
}

type VerifyQuery = Parameters<RecordStore['verify']>[0]

/** A run that others may join until a write follows its start. */
type SharedRun = { readonly run: Promise<VerifyRun>; hasBegun: boolean }

type VerifierDeps = {
  readonly store: Pick<RecordStore, 'verify'>
  readonly isoNow: () => string
}

/** A run takes microseconds to seconds; queueing more than this only makes others wait. */
const WAITING_RUNS_MAX = 64

async function replay({ store, isoNow }: VerifierDeps, query: VerifyQuery): Promise<VerifyRun> {
  const checkedAt = isoNow()
  const chains: ChainVerification[] = []
  let versions = 0
  for await (const chain of store.verify(query)) {
    chains.push(chain)
    versions += chain.versions
  }
  return { checkedAt, chains, versions, intact: chains.every(({ intact }) => intact) }
}

export type ChainVerifier = ReturnType<typeof createChainVerifier>

export function createChainVerifier(deps: VerifierDeps) {
  const shared = new Map<string, SharedRun>()
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  let runs = 0

  const begin = (query: VerifyQuery): SharedRun => {
    waiting += 1
    const run = last.then(() => {
      waiting -= 1
      runs += 1
      begun.hasBegun = true
      return replay(deps, query)
    })
    const begun: SharedRun = { run, hasBegun: false }
    last = run.catch(() => undefined)
    return begun
  }
  return {
    /** Rejects with `RecordStoreUnavailable`; resolves to undefined when too many runs are waiting. */
    async verify(query: VerifyQuery): Promise<VerifyRun | undefined> {
      const key = `${query.audiences.join()} ${query.slot === undefined ? '' : chainUri(query.slot)}`
      const known = shared.get(key)
      if (known !== undefined) return await known.run
      if (waiting >= WAITING_RUNS_MAX) return undefined
      const mine = begin(query)
      shared.set(key, mine)
      try {
        return await mine.run
      } finally {
        if (shared.get(key) === mine) shared.delete(key)
      }
    },
    /** A write was accepted; runs already under way do not include it. */
    noteWrite: (): void => {
      for (const [key, { hasBegun }] of shared) if (hasBegun) shared.delete(key)
    },
    /** Replays begun since start. */
    runs: () => runs,
  }
}

/** What a report contains besides the chains. */
export type ReportPlace = {
  /** The MCP endpoint's URL. */
  readonly resource: string
  /** The at-rest status line. */
  readonly atRest: string
}

/** The at-rest status line (care.md), without a label; it says plaintext if nothing is sealed. */
export function atRestLine(sealing: ReturnType<RecordStore['sealing']>): string {
  return sealing.isSealed
    ? `sealed at rest with ${SEAL_ALGORITHM} under key ${sealing.keyId ?? '(unnamed)'}, each value bound to patient|domain|version|audience`
    : 'plaintext at rest: no sealing is configured'
}

function chainVerdict({ slot, versions, intact, brokenAt }: ChainVerification): ChainVerdict {
  return { uri: chainUri(slot), versions, intact, brokenAt }
}

/** Without the length of the stored bytes, which would identify one of a few known sentences. */
function publicReceipt({ receipt }: ChainVerification): PublicReceipt {
  const { storedBytes: _, ...known } = receipt
  return known
}

/** The JSON of a full run. */
export function verifyPayload(run: VerifyRun, place: ReportPlace): VerifyPayload {
  const { checkedAt, versions, intact } = run
  return {
    resource: place.resource,
    checkedAt,
    atRest: place.atRest,
    chains: run.chains.map(chainVerdict),
    receipts: run.chains.map(publicReceipt),
    versions,
    intact,
  }
}

/** The JSON with a `uri` filter: the verdict on one chain, and the receipt of its stored bytes. */
export function chainPayload(chain: ChainVerification): ChainPayload {
  return { ...chainVerdict(chain), atRest: publicReceipt(chain) }
}

function chainLine(chain: ChainVerification): string {
  const { uri, versions, intact, brokenAt } = chainVerdict(chain)
  const end = brokenAt === undefined ? '' : `, broken at version ${brokenAt}`
  return `${intact ? 'INTACT' : 'BROKEN'} ${uri} ${versions} version(s)${end}`
}

/** The plain-text report. */
export function verifyText(run: VerifyRun, place: ReportPlace): string {
  const sealed = run.chains.filter(({ receipt }) => receipt.encrypted).length
  return [
    'Tallystick care: hash chains replayed from stored bytes',
    `resource : ${place.resource}`,
    `checked : ${run.checkedAt}`,
    place.atRest,
    ...run.chains.map(chainLine),
    run.intact ? `all chains intact, ${run.versions} version(s)` : 'CHAIN BROKEN',
    `${sealed}/${run.chains.length} latest version(s) sealed at rest`,
    '',
  ].join('\n')
}
