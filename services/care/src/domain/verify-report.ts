/** The two forms of what `/verify` answers without a `uri`, streamed page by page from kept verdicts and the store's names. */
import { SEAL_ALGORITHM } from '@tallystick/hashchain'
import { chainUri, type NamedChain } from '../wire/record-uri.ts'
import type { ChainPayload, ChainVerdict } from '../wire/verify.ts'
import { type KeptChain, keptChain } from './chain-verdicts.ts'
import type { AudienceVerdict } from './kept-verdict.ts'
import { isNamedAsToday } from './known-names.ts'
import type { ChainVerification, RecordStore } from './record-store.ts'
import type { ReportCounts, ReportList, ReportPage } from './report-texts.ts'

/** Chains in a page: about half a millisecond of work, and 50 KB of text. */
const PAGE_CHAINS = 256

/** Pages that were kept and are sent in one go: a millisecond or two of work. */
const KEPT_PAGES_PER_TURN = 64

/** Chains of an audience, or of one patient there, and the verdicts on them. */
type ReportPart = AudienceVerdict & { readonly patient?: string | undefined }

export type VerifyReport = {
  readonly parts: readonly ReportPart[]
  readonly store: Pick<RecordStore, 'chains'>
  /** Runs the work of a page when it is this reader's turn. */
  readonly turn: <Result>(work: () => Promise<Result>) => Promise<Result>
}

/** What a report contains besides the chains. */
type ReportPlace = {
  /** The MCP endpoint's URL. */
  readonly resource: string
  readonly atRest: string
}

/** The at-rest status line (care.md), without a label; it says plaintext if nothing is sealed. */
export const atRestLine = (sealKeyId: string | undefined): string =>
  sealKeyId === undefined
    ? 'plaintext at rest: no sealing is configured'
    : `sealed at rest with ${SEAL_ALGORITHM} under key ${sealKeyId}, each value bound to patient|domain|version|audience`

/** When the oldest replay of a report began, and how old that may be. */
function reportAge({ parts }: VerifyReport) {
  const checkedAt = parts.map((part) => part.checkedAt).toSorted()[0] ?? ''
  const intervals = parts.flatMap(({ intervalMs }) => intervalMs ?? [])
  const replayIntervalSeconds =
    intervals.length === 0 ? undefined : Math.ceil(Math.max(...intervals) / 1_000)
  return { checkedAt, replayIntervalSeconds }
}

/** How a chain stands in each list, and what is before all but the first. */
const LISTS: {
  readonly [List in ReportList]: {
    readonly write: (uri: string, chain: KeptChain, oldName: true | undefined) => string
    readonly before: string
  }
} = {
  chains: {
    write: (uri, { verdict }, oldName) => JSON.stringify({ uri, ...verdict, oldName }),
    before: ',',
  },
  receipts: { write: (uri, { receipt }) => JSON.stringify({ uri, ...receipt }), before: ',' },
  lines: { write: (uri, { verdict }) => formatLine({ uri, ...verdict }), before: '' },
}

const NO_COUNTS: ReportCounts = {
  chains: 0,
  broken: 0,
  sealed: 0,
  versions: 0,
  erased: 0,
  oldNames: 0,
}

function countChain(counts: ReportCounts, { chain, oldName }: NamedVerdict): void {
  const { receipt, verdict } = chain
  const { erased = 0, intact, versions } = verdict
  counts.chains += 1
  counts.broken += intact ? 0 : 1
  counts.sealed += receipt.encrypted ? 1 : 0
  counts.versions += versions - erased
  counts.erased += erased
  counts.oldNames += oldName ? 1 : 0
}

type NamedVerdict = {
  readonly uri: string
  readonly chain: KeptChain
  /** Set for a name that no write may have today. */
  readonly oldName?: true | undefined
}

const isOldName = (slot: NamedChain): true | undefined => (isNamedAsToday(slot) ? undefined : true)

function writePage(list: ReportList, chains: readonly NamedVerdict[]): Omit<ReportPage, 'last'> {
  const { before, write } = LISTS[list]
  const counts = { ...NO_COUNTS }
  for (const chain of chains) countChain(counts, chain)
  return {
    bytes: Buffer.from(
      chains.map(({ chain, oldName, uri }) => before + write(uri, chain, oldName)).join(''),
    ),
    counts,
  }
}

/** The pages of a list, in each part those that were kept, and the others anew. */
async function* writePages(
  { parts, store, turn }: VerifyReport,
  list: ReportList,
): AsyncGenerator<Omit<ReportPage, 'last'>> {
  let keptPages = 0
  for (const { audience, patient, texts, verdicts } of parts) {
    const known = patient === undefined ? texts : undefined
    for (let after: number | undefined = 0; after !== undefined; ) {
      const query = { audience, patient, after, limit: PAGE_CHAINS }
      const asBefore = known?.find(list, after)
      keptPages += asBefore === undefined ? 0 : 1
      if (asBefore !== undefined && keptPages % KEPT_PAGES_PER_TURN === 0)
        await turn(async () => asBefore)
      const page: ReportPage =
        asBefore ??
        (await turn(async () => {
          const { changes } = verdicts
          const chains = await store.chains(query)
          const found = chains.flatMap(({ number, slot }) => {
            const chain = verdicts.get(number)
            return chain === undefined
              ? []
              : [{ uri: chainUri(slot), chain, oldName: isOldName(slot) }]
          })
          const last = chains.length < PAGE_CHAINS ? undefined : chains.at(-1)?.number
          const written = { ...writePage(list, found), last }
          known?.keep(list, { ...written, after: query.after, changes })
          return written
        }))
      yield page
      after = page.last
    }
    const strays = patient === undefined ? verdicts.strays : []
    yield writePage(
      list,
      strays.map((found) => ({ uri: found.receipt.uri, chain: keptChain(found) })),
    )
  }
}

/** A list, page by page; `counts` grows by what they count. */
async function* listed(
  report: VerifyReport,
  list: ReportList,
  counts: ReportCounts,
): AsyncGenerator<Buffer> {
  let isFirst = true
  for await (const page of writePages(report, list)) {
    for (const name of Object.keys(NO_COUNTS) as (keyof ReportCounts)[])
      counts[name] += page.counts[name]
    if (page.bytes.length === 0) continue
    yield isFirst ? page.bytes.subarray(LISTS[list].before.length) : page.bytes
    isFirst = false
  }
}

/** The JSON of all chains (`VerifyPayload`). */
export async function* verifyJson(
  report: VerifyReport,
  { atRest, resource }: ReportPlace,
): AsyncGenerator<string | Buffer> {
  const counts = { ...NO_COUNTS }
  const head = JSON.stringify({ resource, ...reportAge(report), atRest })
  yield `${head.slice(0, -1)},"chains":[`
  yield* listed(report, 'chains', counts)
  yield '],"receipts":['
  yield* listed(report, 'receipts', { ...NO_COUNTS })
  const { broken, erased, versions } = counts
  const end = { versions, erased: erased || undefined, intact: broken === 0 }
  yield `],${JSON.stringify(end).slice(1)}`
}

function formatLine({ uri, versions, intact, brokenAt, erased }: ChainVerdict): string {
  const gone = erased === undefined ? '' : `, ${erased} erased: values gone, leaves hold`
  const end = brokenAt === undefined ? gone : `, broken at version ${brokenAt}`
  return `${intact ? 'INTACT' : 'BROKEN'} ${uri} ${versions} version(s)${end}\n`
}

const textHead = ({ atRest, resource }: ReportPlace, checked: string): string =>
  `Tallystick care: hash chains replayed from stored bytes\nresource : ${resource}\nchecked : ${checked}\n${atRest}\n`

function textEnd({ broken, chains, erased, oldNames, sealed, versions }: ReportCounts): string {
  const gone = erased === 0 ? '' : `, ${erased} erased`
  const old =
    oldNames === 0 ? '' : `${oldNames} chain(s) under names of before: nobody adds to them\n`
  const summary = broken === 0 ? `all chains intact, ${versions} version(s)${gone}` : 'CHAIN BROKEN'
  return `${summary}\n${sealed}/${chains} latest version(s) sealed at rest\n${old}`
}

/** The plain text of all chains. */
export async function* verifyText(
  report: VerifyReport,
  place: ReportPlace,
): AsyncGenerator<string | Buffer> {
  const counts = { ...NO_COUNTS }
  const { checkedAt, replayIntervalSeconds: seconds } = reportAge(report)
  yield textHead(
    place,
    checkedAt + (seconds === undefined ? '' : ` (replayed at least every ${seconds} s)`),
  )
  yield* listed(report, 'lines', counts)
  yield textEnd(counts)
}

/** One chain that was just replayed. */
export type ReplayedChain = { readonly chain: ChainVerification; readonly checkedAt: string }

/** The JSON with a `uri` filter: the verdict on one chain, and the receipt of its stored bytes. */
export function chainJson({ chain }: ReplayedChain): string {
  const { uri } = chain.receipt
  const { receipt, verdict } = keptChain(chain)
  return JSON.stringify({
    uri,
    ...verdict,
    oldName: isOldName(chain.slot),
    atRest: { uri, ...receipt },
  } satisfies ChainPayload)
}

/** The plain text of it. */
export function chainText({ chain, checkedAt }: ReplayedChain, place: ReportPlace): string {
  const { bytes, counts } = writePage('lines', [
    { uri: chain.receipt.uri, chain: keptChain(chain), oldName: isOldName(chain.slot) },
  ])
  return textHead(place, checkedAt) + bytes.toString() + textEnd(counts)
}
