// What a paid call costs on a plain route: our gate beside @x402/express at the same facilitator and chain, plus
// `/access`, which forwards the payment into its contract. The facilitator and the chains run in a separate process.
import { randomBytes } from 'node:crypto'
import type { Figure } from '../figure.ts'
import { likeTestnet } from '../ledger-control.ts'
import {
  compare,
  LANES,
  measurePaid,
  measureTurnAbout,
  paidName,
  type Sign,
  toDollars,
} from '../paid-cost.ts'
import {
  accessPath,
  deployOffer,
  inPaymentNetwork,
  type PaymentNetwork,
  startAccess,
  startPaidServer,
} from '../payment-network.ts'
import { getRequest } from '../raw-load.ts'
import { readOffer, signHbar } from '../sign-payments.ts'
import type { FigureValues } from '../suite-result.ts'

const CALLS = 120
/** Where each takes ten to twenty seconds. */
const SLOW_CALLS = { calls: 2 * LANES, single: 3, resentStatus: 502 }
const ACCESS = 'paid call of /access, HBAR'

/** Purchases, each for a new agent. */
const makePurchases =
  ({ facts }: PaymentNetwork): Sign =>
  async (server, count) =>
    await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const agent = `0x${randomBytes(20).toString('hex')}`
        const path = accessPath(agent)
        const url = new URL(path, server.url)
        const payer = facts.hederaPayers[index % facts.hederaPayers.length]
        if (payer === undefined) throw new Error('the network has no payers')
        const header = await signHbar(await readOffer(url), { agent, payer })
        return getRequest(url, path, { 'payment-signature': header })
      }),
    )

/** A purchase alone: no other server settles on this ledger. */
export function paidLikeTestnet(): Promise<FigureValues> {
  return inPaymentNetwork(LANES, async (network) => {
    const server = await startAccess(network, await deployOffer(network))
    try {
      const target = { server, sign: makePurchases(network) }
      await measurePaid(target, { calls: CALLS, single: 1 }) // warms up
      const cost = await likeTestnet(network.facts.ledgerUrl, () => measurePaid(target, SLOW_CALLS))
      return {
        [paidName(ACCESS, 'cpuMicros')]: cost.cpuMicros,
        [paidName(ACCESS, 'perSecond')]: cost.perSecond,
        [paidName(ACCESS, 'singleMs')]: cost.singleMs,
      }
    } finally {
      await server.stop()
    }
  })
}

/** A paid call of a plain route, and of `/access`, against @x402/express. */
export function measureX402Paid(): Promise<readonly Figure[]> {
  return inPaymentNetwork(LANES, async (network) => {
    const contract = await deployOffer(network)
    const servers = [
      await startPaidServer(network, 'ours'),
      await startPaidServer(network, 'express'),
      await startPaidServer(network, 'express-upfront'),
      await startAccess(network, contract),
    ] as const
    const [ours, express, upfront, access] = servers
    const dollars = toDollars(network.facts.evmPayerKeys)
    try {
      const costs = await measureTurnAbout(
        {
          ours: { server: ours, sign: dollars },
          express: { server: express, sign: dollars },
          upfront: { server: upfront, sign: dollars },
          access: { server: access, sign: makePurchases(network) },
        },
        CALLS,
      )
      const plain = { name: 'paid call of a plain route', ours: costs.ours }
      const none = { kind: 'none' } as const
      return [
        ...compare({ ...plain, aim: { kind: 'ratio', times: 3 } }, '@x402/express', costs.express),
        ...compare({ ...plain, aim: none }, '@x402/express, upfront', costs.upfront),
        ...compare({ name: ACCESS, ours: costs.access, aim: none }, '@x402/express', costs.express),
      ]
    } finally {
      for (const server of servers) await server.stop()
    }
  })
}
