/** What is sold, its price, and what a challenge tells an agent about it; `/openapi.json` has the full bodies. */
import type { OperationForSale } from '@tallystick/service-kit'
import { describeCall, type JsonSchema, type PaymentTerms, sellerFields } from '@tallystick/x402'
import { type EvmAsset, evmRequirement, type Hex } from '@tallystick/x402/evm'
import { auditExample, gradeExample } from '../wire/examples.ts'
import { SALE_KINDS, type SaleDoor, type SaleKind, salePath } from './sale-job.ts'

/** A grade is $0.01: 1 cent, 10000 at six decimals. An audit is $0.20: 20 cents, 200000. */
export const PRICE_CENTS: Readonly<Record<SaleKind, bigint>> = { grade: 1n, audit: 20n }

/** What the sales are called as tools of MCP. */
export const TOOL_NAMES = { grade: 'grade_pick', audit: 'audit_picks' } as const

/** A price in base units of a token with at least two decimals. */
export const priceUnits = (kind: SaleKind, { decimals }: Pick<EvmAsset, 'decimals'>): bigint =>
  PRICE_CENTS[kind] * 10n ** BigInt(decimals - 2)

/** What catalogues show. */
const SELLER = sellerFields({
  serviceName: 'Tallystick Grading',
  tags: ['betting', 'closing line'],
})

/** What is on sale at each door; built once, because a challenge's bytes are cached with it. */
export function saleTerms(options: {
  readonly asset: EvmAsset
  readonly payTo: Hex
  readonly baseUrl: string
}): Readonly<Record<SaleDoor, Readonly<Record<SaleKind, PaymentTerms>>>> {
  const { asset, baseUrl, payTo } = options
  const findTerms = (kind: SaleKind, door: SaleDoor): PaymentTerms => ({
    requirements: [evmRequirement({ asset, payTo, amount: priceUnits(kind, asset) })],
    resource: {
      url: `${baseUrl}${door === 'mcp' ? '/mcp' : salePath(kind)}`,
      description: SALES[kind].description,
      mimeType: 'application/json',
      ...SELLER,
    },
    discovery: describeCall({ input: describeInput(kind, door), output: SALES[kind].output }),
    takesIdentifier: true,
  })
  const doorTerms = (door: SaleDoor) => ({
    grade: findTerms('grade', door),
    audit: findTerms('audit', door),
  })
  return { http: doorTerms('http'), mcp: doorTerms('mcp') }
}

/** The sales as machines find them (X24); none while the token is not known to be the right one. */
export const describeSales = ({
  findTerms,
}: {
  readonly findTerms: (kind: SaleKind, door: SaleDoor) => PaymentTerms | undefined
}): readonly OperationForSale[] =>
  SALE_KINDS.flatMap((kind) => {
    const terms = findTerms(kind, 'http')
    const cents = String(PRICE_CENTS[kind]).padStart(3, '0')
    return terms === undefined
      ? []
      : {
          method: 'POST',
          path: salePath(kind),
          resource: terms.resource.url,
          description: SALES[kind].description,
          // The token stands for the dollar.
          price: { amount: `${cents.slice(0, -2)}.${cents.slice(-2)}`, currency: 'USD' },
          accepts: terms.requirements,
        }
  })

const PICK: JsonSchema = { type: 'object', required: ['market', 'selection', 'odds'] }

type Described = Parameters<typeof describeCall>[0]

const [firstPick] = auditExample.picks

/** What a challenge says of each sale. */
const SALES = {
  grade: {
    description: 'One pick graded against its recorded closing line.',
    example: gradeExample,
    schema: { type: 'object', properties: { pick: PICK }, required: ['pick'] },
    output: { example: { outcome: 'GRADED', grade: 'F' } },
  },
  audit: {
    description: 'Up to 1,000 picks audited: ROI beside a Sharp Score.',
    example: { picks: [firstPick] },
    schema: {
      type: 'object',
      properties: { picks: { type: 'array', items: PICK } },
      required: ['picks'],
    },
    output: { example: { coverage: { picks: 1 } } },
  },
}

function describeInput(kind: SaleKind, door: SaleDoor): Described['input'] {
  const { example, schema } = SALES[kind]
  return door === 'mcp'
    ? { toolName: TOOL_NAMES[kind], example, schema }
    : { method: 'POST', body: example, schema }
}
