/** Grading's pages and scripts as served. */
import { readFileSync } from 'node:fs'
import { GRADE_BANDS } from '@tallystick/odds'
import {
  browserModules,
  filledMarkup,
  framedPage,
  html,
  type Page,
  type PageFile,
  pageFrame,
} from '@tallystick/service-kit/pages'
import type { EvmAsset } from '@tallystick/x402/evm'
import type { SaleKind } from '../routes/sale-job.ts'
import { priceUnits } from '../routes/sale-terms.ts'
import { exampleCard } from './example-card.ts'
import { dollarText } from './figures.ts'
import { firstRequestCode } from './first-request.ts'
import { methodPage } from './method-page.ts'

/** The facts that the pages receive; every other figure comes from the public API, in the reader's browser. */
export type PagesOptions = {
  /** The service's address without a trailing slash, for the requests that readers copy. */
  readonly baseUrl: string
  /** The payment token. */
  readonly asset: EvmAsset
  /** A JSON-RPC address for a wallet that does not know the network; if absent, none is offered. */
  readonly rpcUrl?: string | undefined
}

export const priceText = (kind: SaleKind, asset: EvmAsset): string =>
  dollarText(priceUnits(kind, asset), asset.decimals)

const FRAME: Pick<Page, 'brand' | 'isWide' | 'nav' | 'notice'> = {
  brand: 'Tallystick grading',
  isWide: true,
  nav: [
    { href: '/', label: 'Overview' },
    { href: '/calibration', label: 'Calibration' },
    { href: '/try', label: 'Try it' },
    { href: '/ledger', label: 'Ledger' },
    { href: '/method', label: 'Method' },
  ],
  notice:
    'Odds are data here: nothing on these pages is betting advice. For people aged 18 and over.',
}

/** The value of each `{{name}}` in the pages' files. */
function placeValues({ asset, baseUrl }: PagesOptions) {
  const bandTiles = GRADE_BANDS.map(
    ({ band }) =>
      html`<li data-band="${band}"><span class="letter" data-band="${band}">${band}</span><strong>–</strong><small></small></li>`,
  )
  return {
    baseUrl,
    network: asset.network,
    tokenName: asset.name,
    gradePrice: priceText('grade', asset),
    auditPrice: priceText('audit', asset),
    bandTiles: html`${bandTiles}`,
    firstRequest: firstRequestCode(baseUrl, asset),
  }
}

/** What the forms page needs before its first request. */
const tryFacts = ({ asset, rpcUrl = '' }: PagesOptions): Readonly<Record<string, string>> => ({
  'payment-network': asset.network,
  'payment-asset': asset.address,
  'payment-name': asset.name,
  'payment-decimals': String(asset.decimals),
  'payment-gradeAmount': String(priceUnits('grade', asset)),
  'payment-auditAmount': String(priceUnits('audit', asset)),
  'payment-rpcUrl': rpcUrl,
})

/** Reads everything; `{{…}}` in a page becomes the value of that name. `hasAudit` says whether a receipt is an audit's. */
export function readPageFiles(
  options: PagesOptions,
  hasAudit: (receipt: string) => Promise<boolean>,
): readonly PageFile[] {
  const values = placeValues(options)
  const example = { 'example-card': JSON.stringify(exampleCard()) }
  const page = (
    name: string,
    paths: readonly [string, ...string[]],
    words: Omit<Page, 'body' | 'script'>,
  ): PageFile => {
    const markup = readFileSync(new URL(`${name}.html`, import.meta.url), 'utf8')
    const body = filledMarkup(markup, values)
    return framedPage(paths, { ...FRAME, ...words, body, script: `/pages/${name}.js` })
  }
  return [
    page('home', ['/', '/index.html'], {
      title: 'Tallystick grading',
      description: 'Grades bets against the closing line, not the final score. Paid per call.',
      heading: 'Was it a good price, or a lucky bet?',
      lead: `A bet can win at a bad price and lose at a good one. This service grades the price: what you took, against the last price before the start with the bookmaker’s margin taken out. A grade costs ${values.gradePrice}, an audit of a whole record ${values.auditPrice}; the evidence that grades mean something is public and free.`,
      facts: example,
    }),
    page('calibration', ['/calibration'], {
      title: 'Calibration – Tallystick grading',
      description: 'What each grade promised and what came back, with intervals.',
      heading: 'Do the grades come true?',
      lead: 'Every settled price in the ledger has a grade, and the grade promises a return. Here is what came back. A grade on the line returned exactly what it promised.',
    }),
    page('try', ['/try'], {
      title: 'Try it – Tallystick grading',
      description: 'Grade a pick or audit a record, and see the card.',
      heading: 'Try a grade',
      lead: 'Look up a market, enter the price you took, and see both results on one card: the scoreboard’s and the closing line’s.',
      facts: { ...tryFacts(options), ...example },
    }),
    page('ledger', ['/ledger'], {
      title: 'Ledger – Tallystick grading',
      description: 'Every close, result and committed pick, checked in your browser.',
      heading: 'What every grade rests on',
      lead: 'Closes, results and committed picks are entries of a ledger that only grows. Open one, and check in your own browser that it is part of what the checkpoint signs.',
    }),
    {
      ...page('audit', ['/audit/:receipt'], {
        title: 'Audit – Tallystick grading',
        description: 'A record against the closing line: every card, and the evidence for it.',
        heading: 'A record, audited',
        lead: 'Raw return beside the Sharp Score, with every card they are made of. Whoever has this address can read it and check it.',
      }),
      hasSecretPath: true,
      missing: {
        body: pageFrame({
          ...FRAME,
          title: 'No audit – Tallystick grading',
          heading: 'No audit here',
          lead: 'There is no audit under this address: a character of its receipt may be missing.',
        }).toString(),
        isMissing: async ({ receipt = '' }) => !(await hasAudit(receipt)),
      },
    },
    framedPage(['/method'], { ...FRAME, ...methodPage() }),
    ...browserModules({
      root: new URL('browser/', import.meta.url),
      entries: ['home.ts', 'calibration.ts', 'try.ts', 'ledger.ts', 'audit.ts'],
    }),
  ]
}
