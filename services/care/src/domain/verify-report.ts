/** The two forms of what `/verify` answers without a `uri`, streamed page by page from kept verdicts and the store's names. */
import { SEAL_ALGORITHM } from '@tallystick/hashchain'
import { chainUri } from '../wire/record-uri.ts'
import type { ChainPayload, ChainVerdict } from '../wire/verify.ts'
import { type KeptChain, keptChain } from './chain-verdicts.ts'
import type { AudienceVerdict } from './kept-verdict.ts'
import type { ChainVerification, RecordStore } from './record-store.ts'

/** Chains in a page: about half a millisecond of work, and 50 KB of text. */
const PAGE_CHAINS = 256

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

type ReportCounts = {
  chains: number
  /** Chains that do not hold. */
  broken: number
  /** Chains whose newest version is sealed. */
  sealed: number
  /** Versions replayed. */
  versions: number
  /** Versions whose values were erased, which nothing can replay (C31). */
  erased: number
}

/** The at-rest status line (care.md), without a label; it says plaintext if nothing is sealed. */
export const atRestLine = (sealKeyId: string | undefined): string =>
  sealKeyId === undefined
    ? 'plaintext at rest: no sealing is configured'
    : `sealed at rest with ${SEAL_ALGORITHM} under key ${sealKeyId}, each value bound to patient|domain|version|audience`

/** When the oldest replay of a report began, and how old that may be. */
function ageOf({ parts }: VerifyReport) {
  const checkedAt = parts.map((part) => part.checkedAt).toSorted()[0] ?? ''
  const intervals = parts.flatMap(({ intervalMs }) => intervalMs ?? [])
  const replayIntervalSeconds =
    intervals.length === 0 ? undefined : Math.ceil(Math.max(...intervals) / 1_000)
  return { checkedAt, replayIntervalSeconds }
}

type Write = (uri: string, chain: KeptChain) => string

/** The texts of a part's chains, a page at a time. */
async function* pagesOf(report: VerifyReport, write: Write): AsyncGenerator<readonly string[]> {
  const { store, turn } = report
  for (const { audience, patient, verdicts } of report.parts) {
    for (let after: number | undefined = 0; after !== undefined; ) {
      const query = { audience, patient, after, limit: PAGE_CHAINS }
      const page = await turn(async () => {
        const chains = await store.chains(query)
        const texts = chains.flatMap(({ number, slot }) => {
          const kept = verdicts.get(number)
          return kept === undefined ? [] : [write(chainUri(slot), kept)]
        })
        return { texts, last: chains.length < PAGE_CHAINS ? undefined : chains.at(-1)?.number }
      })
      yield page.texts
      after = page.last
    }
    if (patient === undefined)
      yield verdicts.strays.map((found) => write(found.receipt.uri, keptChain(found)))
  }
}

/** The items of a JSON list. */
async function* listed(report: VerifyReport, write: Write): AsyncGenerator<string> {
  let comma = ''
  for await (const texts of pagesOf(report, write)) {
    if (texts.length === 0) continue
    yield comma + texts.join(',')
    comma = ','
  }
}

function createCounts() {
  const counts: ReportCounts = { chains: 0, broken: 0, sealed: 0, versions: 0, erased: 0 }
  return {
    counts,
    count: ({ receipt, verdict: { erased = 0, intact, versions } }: KeptChain): void => {
      counts.chains += 1
      counts.broken += intact ? 0 : 1
      counts.sealed += receipt.encrypted ? 1 : 0
      counts.versions += versions - erased
      counts.erased += erased
    },
  }
}

/** The JSON of all chains (`VerifyPayload`). */
export async function* verifyJson(
  report: VerifyReport,
  { atRest, resource }: ReportPlace,
): AsyncGenerator<string> {
  const { count, counts } = createCounts()
  const head = JSON.stringify({ resource, ...ageOf(report), atRest })
  yield `${head.slice(0, -1)},"chains":[`
  yield* listed(report, (uri, chain) => {
    count(chain)
    return JSON.stringify({ uri, ...chain.verdict })
  })
  yield '],"receipts":['
  yield* listed(report, (uri, { receipt }) => JSON.stringify({ uri, ...receipt }))
  const { broken, erased, versions } = counts
  const end = { versions, erased: erased || undefined, intact: broken === 0 }
  yield `],${JSON.stringify(end).slice(1)}`
}

function lineOf({ uri, versions, intact, brokenAt, erased }: ChainVerdict): string {
  const gone = erased === undefined ? '' : `, ${erased} erased: values gone, leaves hold`
  const end = brokenAt === undefined ? gone : `, broken at version ${brokenAt}`
  return `${intact ? 'INTACT' : 'BROKEN'} ${uri} ${versions} version(s)${end}\n`
}

const textHead = ({ atRest, resource }: ReportPlace, checked: string): string =>
  `Tallystick care: hash chains replayed from stored bytes\nresource : ${resource}\nchecked : ${checked}\n${atRest}\n`

function textEnd({ broken, chains, erased, sealed, versions }: ReportCounts): string {
  const gone = erased === 0 ? '' : `, ${erased} erased`
  const summary = broken === 0 ? `all chains intact, ${versions} version(s)${gone}` : 'CHAIN BROKEN'
  return `${summary}\n${sealed}/${chains} latest version(s) sealed at rest\n`
}

/** The plain text of all chains. */
export async function* verifyText(
  report: VerifyReport,
  place: ReportPlace,
): AsyncGenerator<string> {
  const { count, counts } = createCounts()
  const { checkedAt, replayIntervalSeconds: seconds } = ageOf(report)
  yield textHead(
    place,
    checkedAt + (seconds === undefined ? '' : ` (replayed at least every ${seconds} s)`),
  )
  const lines = pagesOf(report, (uri, chain) => {
    count(chain)
    return lineOf({ uri, ...chain.verdict })
  })
  for await (const page of lines) yield page.join('')
  yield textEnd(counts)
}

/** One chain that was just replayed. */
export type ReplayedChain = { readonly chain: ChainVerification; readonly checkedAt: string }

/** The JSON with a `uri` filter: the verdict on one chain, and the receipt of its stored bytes. */
export function chainJson({ chain }: ReplayedChain): string {
  const { uri } = chain.receipt
  const { receipt, verdict } = keptChain(chain)
  return JSON.stringify({ uri, ...verdict, atRest: { uri, ...receipt } } satisfies ChainPayload)
}

/** The plain text of it. */
export function chainText({ chain, checkedAt }: ReplayedChain, place: ReportPlace): string {
  const { count, counts } = createCounts()
  const kept = keptChain(chain)
  count(kept)
  const line = lineOf({ uri: chain.receipt.uri, ...kept.verdict })
  return textHead(place, checkedAt) + line + textEnd(counts)
}
