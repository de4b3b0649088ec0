// What the gate itself costs: the same paid call as in x402-paid, at a facilitator and a node that answer at once.
import type { Figure } from '../figure.ts'
import { compare, LANES, measureTurnAbout, toDollars } from '../paid-cost.ts'
import { startPaidServer } from '../payment-network.ts'
import type { PaymentNetworkFacts } from '../server/payment-network-facts.ts'
import { ServerProcess } from '../server-process.ts'

/** Half a second of the faster server. */
const CALLS = 800

/** A paid call where the network costs nothing, against @x402/express in both of its flows. */
export async function measureX402Gate(): Promise<readonly Figure[]> {
  const network = await ServerProcess.start('instant-network-server.ts', [String(LANES)])
  const facts = JSON.parse(network.details) as PaymentNetworkFacts
  const servers = [
    await startPaidServer({ facts }, 'ours'),
    await startPaidServer({ facts }, 'express'),
    await startPaidServer({ facts }, 'express-upfront'),
  ] as const
  const [ours, express, upfront] = servers
  const sign = toDollars(facts.evmPayerKeys)
  try {
    const costs = await measureTurnAbout(
      {
        ours: { server: ours, sign },
        express: { server: express, sign },
        upfront: { server: upfront, sign },
      },
      CALLS,
    )
    const paid = { name: 'paid call, the network answering at once', ours: costs.ours }
    const aimed = (times: number) => ({ ...paid, aim: { kind: 'ratio', times } as const })
    return [
      ...compare(aimed(3), '@x402/express', costs.express),
      ...compare(aimed(1.5), '@x402/express, upfront', costs.upfront),
    ]
  } finally {
    for (const server of servers) await server.stop()
    await network.stop()
  }
}
