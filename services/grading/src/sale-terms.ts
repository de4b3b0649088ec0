import type { PaymentTerms } from '@tallystick/x402'
import { type EvmAsset, evmRequirement } from '@tallystick/x402/evm'
import type { SaleKind } from './routes/read-sale.ts'
import { saleDiscovery } from './sale-discovery.ts'
import { salePath } from './sale-job.ts'

/** A grade is $0.01: 1 cent, 10000 at six decimals. An audit is $0.20: 20 cents, 200000. */
const PRICE_CENTS: Readonly<Record<SaleKind, bigint>> = { grade: 1n, audit: 20n }

const DESCRIPTIONS: Readonly<Record<SaleKind, string>> = {
  grade: 'One pick graded against its recorded closing line, with the result beside it.',
  audit: 'Up to 1,000 picks audited: raw ROI beside a Sharp Score, with every card.',
}

/** A price in base units of a token with at least two decimals. */
export const priceUnits = (kind: SaleKind, { decimals }: Pick<EvmAsset, 'decimals'>): bigint =>
  PRICE_CENTS[kind] * 10n ** BigInt(decimals - 2)

/** What is on sale; made once, since a challenge's bytes are cached with it. */
export function saleTerms(options: {
  readonly asset: EvmAsset
  readonly payTo: string
  readonly baseUrl: string
}): Readonly<Record<SaleKind, PaymentTerms>> {
  const { asset, baseUrl, payTo } = options
  const termsOf = (kind: SaleKind): PaymentTerms => ({
    requirements: [evmRequirement({ asset, payTo, amount: priceUnits(kind, asset) })],
    resource: {
      url: `${baseUrl}${salePath(kind)}`,
      description: DESCRIPTIONS[kind],
      mimeType: 'application/json',
    },
    discovery: saleDiscovery[kind],
  })
  return { grade: termsOf('grade'), audit: termsOf('audit') }
}
