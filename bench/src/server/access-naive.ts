// The baselines for metering, over the same contract with their own recorder key: what an application would write first.
// `/unmetered` reads the window and records nothing. `/in-turn` records each call in its own transaction and answers when
// the receipt arrives, one call at a time, as one key's nonces require. `/overlapping` counts the nonce itself, so that
// calls wait side by side. First argument: the addresses it needs, as JSON.
import { accessWindowAbi } from '@tallystick/contracts'
import fastify from 'fastify'
import { createPublicClient, encodeFunctionData, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { answerProbe } from './answer-probe.ts'

/** What this server needs to know. */
export type NaivePlan = {
  readonly ledgerUrl: string
  readonly chainId: number
  readonly contract: Hex
  readonly recorderKey: Hex
}

/** Twice what one call's record takes. */
const RECORD_GAS = 120_000n
/** How often to look for a receipt. viem's default of four seconds would make a poor baseline. */
const RECEIPT_POLL_MS = 10

const plan = JSON.parse(process.argv[2] ?? '') as NaivePlan
const { chainId, contract: address } = plan
const abi = accessWindowAbi
const client = createPublicClient({
  transport: http(plan.ledgerUrl),
  pollingInterval: RECEIPT_POLL_MS,
})
const account = privateKeyToAccount(plan.recorderKey)
const gasPrice = (await client.getGasPrice()) * 2n
let nextNonce = await client.getTransactionCount({ address: account.address })

async function readWindow(agent: Hex) {
  const args = [agent, BigInt(Math.floor(Date.now() / 1000))] as const
  const window = await client.readContract({ address, abi, functionName: 'windowOf', args })
  if (!window.isOpen) throw new Error(`${agent} has no window`)
  return window
}

/** Runs what it is given one after another. */
function createTurns() {
  let last: Promise<unknown> = Promise.resolve()
  return <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = last.then(work)
    last = done.catch(() => undefined)
    return done
  }
}

const inTurn = createTurns()
/** A relay refuses a nonce ahead of the next one, and two connections do not keep their order. */
const sendInTurn = createTurns()

async function record(agent: Hex, windowExpiresAt: bigint): Promise<Hex> {
  const nonce = nextNonce
  nextNonce += 1
  const serializedTransaction = await account.signTransaction({
    type: 'legacy',
    chainId,
    nonce,
    gasPrice,
    gas: RECORD_GAS,
    to: address,
    data: encodeFunctionData({
      abi,
      functionName: 'recordUsage',
      args: [agent, 1, windowExpiresAt],
    }),
  })
  const hash = await sendInTurn(() => client.sendRawTransaction({ serializedTransaction }))
  const { status } = await client.waitForTransactionReceipt({ hash })
  if (status !== 'success') throw new Error(`${hash} reverted`)
  return hash
}

type Call = { Querystring: { agent: Hex } }
const app = fastify()
app.get<Call>('/unmetered', async ({ query: { agent } }) => {
  const { callsUsed } = await readWindow(agent)
  return { callsUsed }
})
app.get<Call>('/in-turn', async ({ query: { agent } }) => {
  const { expiresAt } = await readWindow(agent)
  return { recordedOnChain: await inTurn(() => record(agent, expiresAt)) }
})
app.get<Call>('/overlapping', async ({ query: { agent } }) => {
  const { expiresAt } = await readWindow(agent)
  return { recordedOnChain: await record(agent, expiresAt) }
})
answerProbe({
  url: await app.listen({ host: '127.0.0.1', port: 0 }),
  async stop() {
    await app.close()
  },
})
