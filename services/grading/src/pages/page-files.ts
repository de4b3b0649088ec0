/** The files of grading's pages. */
import { readFileSync } from 'node:fs'
import { GRADE_BANDS } from '@tallystick/odds'
import {
  type Html,
  html,
  PAGE_TYPES,
  type PageFile,
  pageFile,
  Html as SafeHtml,
} from '@tallystick/service-kit/pages'
import { MARKET_TYPES, marketShape } from '../domain/markets.ts'
import { firstRequestCode } from './first-request.ts'
import { readLibraryModules, withServedSpecifiers } from './library-modules.ts'
import { methodBody } from './method-page.ts'
import type { PagesOptions } from './page-options.ts'
import { type PageShell, pageShell } from './page-shell.ts'

/** Modules of the browser's side, served under `/pages/`. */
const SCRIPTS = [
  'audit-view.js',
  'band-scale.js',
  'calibration-page.js',
  'calibration-plot.js',
  'calibration-words.js',
  'card-view.js',
  'card-words.js',
  'challenge.js',
  'development-key.js',
  'figures.js',
  'find-market.js',
  'hex.js',
  'home-page.js',
  'market-words.js',
  'offer-copies.js',
  'page-api.js',
  'page-element.js',
  'pay-request.js',
  'payment-words.js',
  'plot-scale.js',
  'read-checkpoint.js',
  'read-picks.js',
  'show-issues.js',
  'take-fragment.js',
  'transfer-digest.js',
  'transfer-typed-data.js',
  'try-page.js',
  'try-payer.js',
  'try-sale.js',
  'wallet.js',
] as const
/** What signs with a development key. */
const LIBRARIES = ['@noble/curves/secp256k1.js', '@noble/hashes/sha3.js']

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')

/** Base units of a dollar token as dollars: `$0.01`. */
export function dollarText(amount: bigint, decimals: number): string {
  const digits = String(amount).padStart(decimals + 1, '0')
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return `$${digits.slice(0, digits.length - decimals)}.${fraction.padEnd(2, '0')}`
}

/** What stands for `{{name}}` in the pages' files. */
function placeValues({ baseUrl, payment }: PagesOptions): Readonly<Record<string, Html>> {
  const { asset, auditAmount, decimals, gradeAmount, name, network } = payment
  const bandTiles = GRADE_BANDS.map(
    ({ band }) =>
      html`<li data-band="${band}"><span class="letter" data-band="${band}">${band}</span><strong>–</strong><small></small></li>`,
  )
  return {
    baseUrl: html`${baseUrl}`,
    network: html`${network}`,
    tokenName: html`${name}`,
    gradePrice: html`${dollarText(gradeAmount, decimals)}`,
    auditPrice: html`${dollarText(auditAmount, decimals)}`,
    bandTiles: html`${bandTiles}`,
    firstRequest: html`${firstRequestCode({ baseUrl, network, asset, amountMax: auditAmount })}`,
  }
}

/** What the page with the forms needs to know before it asks anybody. */
function tryFacts({ payment }: PagesOptions): Readonly<Record<string, string>> {
  const { asset, auditAmount, decimals, gradeAmount, name, network, rpcUrl } = payment
  return {
    'payment-network': network,
    'payment-asset': asset,
    'payment-token': name,
    'payment-decimals': String(decimals),
    'payment-grade': String(gradeAmount),
    'payment-audit': String(auditAmount),
    'payment-rpc': rpcUrl ?? '',
    'market-selections': JSON.stringify(
      Object.fromEntries(MARKET_TYPES.map((type) => [type, marketShape(type).selections ?? []])),
    ),
  }
}

function page(paths: readonly [string, ...string[]], shell: Omit<PageShell, 'path'>): PageFile {
  return pageFile(paths, PAGE_TYPES.html, String(pageShell({ path: paths[0], ...shell })))
}

/** Reads the pages, their scripts, styles and icon; `{{…}}` in a page becomes the value of that name. */
export function readPageFiles(options: PagesOptions): readonly PageFile[] {
  const values = placeValues(options)
  const body = (name: string): Html =>
    new SafeHtml(
      read(name).replaceAll(/\{\{(\w+)\}\}/g, (whole, key: string) => String(values[key] ?? whole)),
    )
  return [
    page(['/', '/index.html'], {
      title: 'Tallystick grading',
      description: 'Grades bets against the closing line, not the final score. Paid per call.',
      script: 'home-page.js',
      body: body('home.html'),
    }),
    page(['/calibration'], {
      title: 'Calibration – Tallystick grading',
      description: 'What each grade promised and what came back, with intervals.',
      script: 'calibration-page.js',
      body: body('calibration.html'),
    }),
    page(['/try'], {
      title: 'Try it – Tallystick grading',
      description: 'Grade a pick or audit a record, and see the card.',
      script: 'try-page.js',
      facts: tryFacts(options),
      body: body('try.html'),
    }),
    page(['/method'], {
      title: 'Method – Tallystick grading',
      description: 'How a price is graded against the close, one case worked through.',
      body: methodBody(),
    }),
    pageFile(['/pages/grading.css'], PAGE_TYPES.css, read('browser/grading.css')),
    ...SCRIPTS.map((name) =>
      pageFile([`/pages/${name}`], PAGE_TYPES.js, withServedSpecifiers(read(`browser/${name}`))),
    ),
    ...readLibraryModules(LIBRARIES).map((module) =>
      pageFile([module.path], PAGE_TYPES.js, module.body),
    ),
  ]
}
