/** Says what is for sale to machines that look for it (X24): per operation in the API reference, and at `/.well-known/x402`. */
import { sendError } from './error-handler.ts'
import type { ServiceApp } from './service-app.ts'

/** An operation that is paid for, at the price that holds now. */
export type OperationForSale = {
  /** As the API reference has it. */
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Its address. */
  readonly resource: string
  readonly description: string
  /**
   * For people and their budgets: `{ amount: '0.01', currency: 'USD' }`. Discovery clients take a currency of three letters
   * alone, and dollars without one.
   */
  readonly price: { readonly amount: string; readonly currency: string }
  /** The x402 requirements that a payment may meet, the preferred one first. */
  readonly accepts: readonly PaymentAccepted[]
}

/** The part of an x402 payment requirement that is the same for every buyer. */
type PaymentAccepted = {
  readonly scheme: string
  readonly network: string
  /** In base units of the asset. */
  readonly amount: string
  readonly asset: string
  readonly payTo: string
}

/** Rejects while the price cannot be read; empty if nothing is sold now. */
export type ReadForSale = () => Promise<readonly OperationForSale[]>

type Documented = {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>
}

/**
 * The API reference with `x-payment-info` at each operation for sale, as the discovery profile of `@agentcash/discovery` 1.7.5
 * reads it.
 *
 * @example
 * // "x-payment-info": { "price": { "mode": "fixed", "currency": "USD", "amount": "0.01" },
 * //   "protocols": [{ "x402": { "scheme": "exact", "network": "eip155:196", "asset": "0x…", "amount": "10000" } }] }
 */
export function priceDocument<Document extends Documented>(
  document: Document,
  operations: readonly OperationForSale[],
): Document {
  const paths = { ...document.paths }
  for (const { accepts, method, path, price } of operations) {
    const item = paths[path]
    const name = method.toLowerCase()
    const operation = item?.[name]
    if (typeof operation !== 'object' || operation === null) continue
    const info = { price: { mode: 'fixed', ...price }, protocols: accepts.map(describeProtocol) }
    paths[path] = { ...item, [name]: { ...operation, 'x-payment-info': info } }
  }
  return { ...document, paths }
}

const describeProtocol = ({ amount, asset, network, payTo, scheme }: PaymentAccepted) => ({
  x402: { scheme, network, asset, amount, payTo },
})

/** Serves `/.well-known/x402`: every resource, by its address for older readers and as an item with its terms for newer ones. */
export function addWellKnownX402(app: ServiceApp, forSale: ReadForSale): void {
  const schema = { hide: true } as const
  app.get('/.well-known/x402', { schema, exposeHeadRoute: true }, async (_request, reply) => {
    void reply.header('cache-control', 'no-cache')
    const operations = await forSale().catch(() => undefined)
    if (operations === undefined) return sendError(reply, { status: 503, error: 'price_unknown' })
    return {
      version: 1,
      x402Version: 2,
      resources: operations.map(({ resource }) => resource),
      items: operations.map(({ accepts, description, method, resource }) => ({
        resource,
        type: 'http',
        method,
        description,
        accepts,
      })),
    }
  })
}
