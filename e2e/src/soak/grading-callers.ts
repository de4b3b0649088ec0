import { ExactEvmClient, evmSigner } from '@tallystick/x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { z } from 'zod'
import type { StackDescription } from '../../../scripts/stack/stack-file.ts'
import { type LoadAccount, note, type SoakCaller } from './soak-load.ts'

const AUDIT_BASE_UNITS = '200000'
const GRADE_PAUSE_MS = 300
const AUDIT_PAUSE_MS = 5_000
const FREE_PAUSE_MS = 100
const AUDIT_PICKS = 25

const Coverage = z.object({
  candidates: z.array(z.object({ markets: z.array(z.object({ market: z.string() })) })),
})

const posted = (body: unknown) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

function payingFetch(stack: StackDescription, privateKey: string): typeof fetch {
  const network = `eip155:${stack.xlayer.chainId}` as const
  const signer = evmSigner({ privateKey })
  const client = new x402Client().register('eip155:*', new ExactEvmClient({ signer }))
  client.setSpendControls({
    allowedAssets: [
      { network, asset: stack.xlayer.stablecoin, maxAmountPerPayment: AUDIT_BASE_UNITS },
    ],
  })
  return wrapFetchWithPayment(fetch, client)
}

/** Markets in the ledger whose close is recorded or will be. */
async function listMarkets(baseUrl: string): Promise<readonly string[]> {
  const answer = await fetch(`${baseUrl}/api/coverage`, posted({ text: 'synthetic' }))
  const { candidates } = Coverage.parse(await answer.json())
  return candidates.flatMap(({ markets }) => markets.map(({ market }) => market))
}

/** Bettors who pay for grades and audits, and readers of the free routes. */
export async function gradingCallers(stack: StackDescription): Promise<readonly SoakCaller[]> {
  const { baseUrl } = stack.grading
  const markets = (await listMarkets(baseUrl)).filter((market) => market.includes('1x2'))
  let turn = 0
  const pick = () => {
    turn += 1
    const market = markets[turn % markets.length]
    return { market, selection: 'home', odds: (1.5 + (turn % 400) / 100).toFixed(2) }
  }
  const paid = stack.agents.slice(0, 4).map(({ name, privateKey }): SoakCaller => {
    const fetchPaid = payingFetch(stack, privateKey)
    return {
      name: `bettor ${name}`,
      pauseMs: GRADE_PAUSE_MS,
      async act(account) {
        const answer = await fetchPaid(`${baseUrl}/api/grade`, posted({ pick: pick() }))
        await answer.arrayBuffer()
        note(account, { call: 'grade', status: answer.status, expected: [200] })
      },
    }
  })
  const auditorKey = stack.agents[4]?.privateKey ?? ''
  const fetchAudit = payingFetch(stack, auditorKey)
  const auditor: SoakCaller = {
    name: 'follower of a tipster',
    pauseMs: AUDIT_PAUSE_MS,
    async act(account) {
      const picks = Array.from({ length: AUDIT_PICKS }, pick)
      const answer = await fetchAudit(`${baseUrl}/api/audit`, posted({ picks }))
      await answer.arrayBuffer()
      note(account, { call: 'audit', status: answer.status, expected: [200] })
    },
  }
  const unpaid = (call: string, path: string, sale: { body(): unknown; status: number }) => ({
    name: call,
    pauseMs: FREE_PAUSE_MS,
    async act(account: LoadAccount) {
      const answer = await fetch(baseUrl + path, posted(sale.body()))
      await answer.arrayBuffer()
      note(account, { call, status: answer.status, expected: [sale.status] })
    },
  })
  return [
    ...paid,
    auditor,
    unpaid('calibration', '/api/calibration', { body: () => ({}), status: 200 }),
    unpaid('coverage', '/api/coverage', { body: () => ({ text: 'rovers' }), status: 200 }),
    unpaid('unpaid grade', '/api/grade', { body: () => ({ pick: pick() }), status: 402 }),
    unpaid('bad grade', '/api/grade', { body: () => ({ pick: { odds: 1 } }), status: 400 }),
  ]
}
