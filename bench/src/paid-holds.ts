// How long one request of a running grading service holds its event loop: audits paid over both doors and asked for again,
// and the free reads beside them. The service, and the network that settles at once, are processes of their own.
import type { PaymentRequired } from '@x402/core/types'
import { type Figure, judgeFigure } from './figure.ts'
import { median } from './quantile.ts'
import type { PaymentNetworkFacts } from './server/payment-network-facts.ts'
import { ServerProcess } from './server-process.ts'
import { signDollars } from './sign-payments.ts'

const ROUNDS = 7
/** The service's rules for one address allow fewer reads in a minute than are measured: each has an address of its own. */
const HOPS = 1

/** No request may hold the event loop for longer, ms. */
const HOLD_MS_MAX = 20

/** The median of several rounds beside the limit: what an idle loop takes is too little to compare with. */
export const holdFigure = (what: string, holdsMs: readonly number[]): Figure =>
  judgeFigure({
    name: `longest hold of the event loop, ${what}`,
    value: median(holdsMs),
    unit: 'ms of CPU',
    baseline: { name: 'the limit', value: HOLD_MS_MAX },
    aim: { kind: 'at-most', value: HOLD_MS_MAX },
  })

type Answer = { readonly text: string; readonly holdMs: number }
type Ask = (path: string, body?: object, headers?: Record<string, string>) => Promise<Response>

type WireAudit = { readonly picks: readonly object[] }

const readJson = async (answer: Promise<Response>): Promise<unknown> => (await answer).json()

function listDoors(ask: Ask) {
  return {
    HTTP: {
      offer: async (body: WireAudit) =>
        (await readJson(ask('/api/audit', body))) as PaymentRequired,
      pay: (body: WireAudit, payment: string) =>
        ask('/api/audit', body, { 'payment-signature': payment }),
    },
    MCP: {
      async offer(body: WireAudit) {
        const { result } = (await readJson(ask('/mcp', toolCall(body)))) as {
          readonly result: { readonly structuredContent: PaymentRequired }
        }
        return result.structuredContent
      },
      pay: (body: WireAudit, payment: string) =>
        ask('/mcp', toolCall(body, { 'x402/payment': payment })),
    },
  }
}

const toolCall = (body: WireAudit, meta: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'audit_picks', arguments: body, _meta: meta },
})

/** Asks as a new address each time. */
function makeRequest(server: ServerProcess): Ask {
  let requests = 0
  return (path, body, headers) => {
    requests += 1
    const all = {
      'content-type': 'application/json',
      'x-forwarded-for': `10.0.${requests >> 8}.${requests & 255}`,
      ...headers,
    }
    const posted = body && { method: 'POST', body: JSON.stringify(body) }
    return fetch(`${server.url}${path}`, { ...posted, headers: all })
  }
}

async function watched(server: ServerProcess, serve: () => Promise<Response>): Promise<Answer> {
  await server.figures('watch-holds')
  const answer = await serve()
  const text = await answer.text()
  const { holdCpuMs: holdMs } = await server.figures()
  if (answer.status !== 200) throw new Error(`status ${answer.status}: ${text.slice(0, 300)}`)
  // The next request pays only for its own garbage.
  await server.figures('collect')
  return { text, holdMs }
}

async function measureRounds(
  server: ServerProcess,
  payerKeys: readonly string[],
  audit: WireAudit,
): Promise<Map<string, readonly number[]>> {
  const ask = makeRequest(server)
  const holds = new Map<string, number[]>()
  const note = async (name: string, serve: () => Promise<Response>): Promise<string> => {
    const { holdMs, text } = await watched(server, serve)
    holds.set(name, [...(holds.get(name) ?? []), holdMs])
    return text
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    let receipt = ''
    for (const [name, door] of Object.entries(listDoors(ask))) {
      const key = payerKeys[round % payerKeys.length] ?? ''
      const payment = await signDollars(await door.offer(audit), key)
      const text = await note(`warm: a paid audit of 1,000 picks over ${name}`, () =>
        door.pay(audit, payment),
      )
      await note(`warm: its kept answer over ${name}`, () => door.pay(audit, payment))
      receipt = /"receipt":"(\w+)"/.exec(text)?.[1] ?? receipt
    }
    await note('warm: that audit by its receipt', () => ask(`/api/audits/${receipt}`))
    await note('warm: a look at 1,000 picks', () => ask('/api/coverage', audit))
    await note('warm: a page of the ledger', () => ask('/api/ledger'))
  }
  return holds
}

/** Of a service in that network. */
export const gradingEnvironment = (
  { evmPayTo, evmUrl, facilitatorUrl }: PaymentNetworkFacts,
  own: { readonly DATABASE_PATH: string; readonly DATABASE_URL?: string },
): Readonly<Record<string, string>> => ({
  PORT: '0',
  PAY_TO: evmPayTo,
  LEDGER_RPC_URL: evmUrl,
  FACILITATOR_URL: facilitatorUrl,
  CHECKPOINT_KEY: Buffer.alloc(32, 7).toString('base64'),
  TRUST_PROXY_HOPS: String(HOPS),
  ...own,
})

/** Runs `work` on the service over that ledger, in a network that settles at once and has so many payers. */
export async function withGradingService<Result>(
  { databasePath, payers }: { readonly databasePath: string; readonly payers: number },
  work: (server: ServerProcess, payerKeys: readonly string[]) => Promise<Result>,
): Promise<Result> {
  const network = await ServerProcess.start('instant-network-server.ts', [String(payers)])
  const facts = JSON.parse(network.details) as PaymentNetworkFacts
  const environment = gradingEnvironment(facts, { DATABASE_PATH: databasePath })
  const server = await ServerProcess.start('grading-server.ts', [JSON.stringify(environment)])
  try {
    return await work(server, facts.evmPayerKeys)
  } finally {
    await server.stop()
    await network.stop()
  }
}

/** The service over that ledger serves that audit. */
export const paidHoldFigures = (
  databasePath: string,
  audit: WireAudit,
): Promise<readonly Figure[]> =>
  withGradingService({ databasePath, payers: ROUNDS }, async (server, payerKeys) => {
    const holds = await measureRounds(server, payerKeys, audit)
    return [...holds].map(([name, values]) => holdFigure(name, values))
  })
