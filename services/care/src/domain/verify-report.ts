// The two forms of what `/verify` answers (care.md, Verification payload). Neither holds a value, a version hash, an
// author or a time of a record (C9).

import type { VerifyRun } from './chain-verifier.ts'
import type { AtRestReceipt, ChainVerification } from './record-store.ts'
import { chainUri } from './record-uri.ts'

/** One chain as it is judged. */
export type ChainVerdict = {
  readonly uri: string
  readonly versions: number
  readonly intact: boolean
  readonly brokenAt?: number
}

/**
 * How a chain's newest version is stored, as anyone may know it. Not how long its bytes are: of a few known sentences the
 * length would tell which it is.
 */
export type PublicReceipt = Omit<AtRestReceipt, 'storedBytes'>

/** The JSON without a `uri` filter. */
export type VerifyPayload = {
  readonly resource: string
  readonly checkedAt: string
  readonly atRest: string
  readonly chains: readonly ChainVerdict[]
  readonly receipts: readonly PublicReceipt[]
  readonly versions: number
  readonly intact: boolean
}

/** What stands in a report besides the chains. */
export type ReportPlace = {
  /** The MCP endpoint's URL. */
  readonly resource: string
  /** The at-rest status line. */
  readonly atRest: string
}

const TITLE = 'Tallystick care: hash chains replayed from stored bytes'

function chainVerdict(chain: ChainVerification): ChainVerdict {
  const { slot, versions, intact, brokenAt } = chain
  return {
    uri: chainUri(slot),
    versions,
    intact,
    ...(brokenAt === undefined ? {} : { brokenAt }),
  }
}

function publicReceipt({ receipt }: ChainVerification): PublicReceipt {
  const { storedBytes: _, ...known } = receipt
  return known
}

/** The payload of a whole run. */
export function verifyPayload(run: VerifyRun, place: ReportPlace): VerifyPayload {
  return {
    resource: place.resource,
    checkedAt: run.checkedAt,
    atRest: place.atRest,
    chains: run.chains.map(chainVerdict),
    receipts: run.chains.map(publicReceipt),
    versions: run.versions,
    intact: run.intact,
  }
}

/** The payload with a `uri` filter: the verdict on one chain and the receipt of its stored bytes. */
export function chainPayload(
  chain: ChainVerification,
): ChainVerdict & { readonly atRest: PublicReceipt } {
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
    TITLE,
    `resource : ${place.resource}`,
    `checked : ${run.checkedAt}`,
    place.atRest,
    ...run.chains.map(chainLine),
    run.intact ? `all chains intact, ${run.versions} version(s)` : 'CHAIN BROKEN',
    `${sealed}/${run.chains.length} latest version(s) sealed at rest`,
    '',
  ].join('\n')
}
