import { setTimeout } from 'node:timers/promises'

/** Longer than reads lag there, milliseconds: what a suite has set up is seen by then. A leap would set the services' clocks wrong. */
const SEEN_MS = 5_000

/** What the network does to access, but for two things: its free limits, which the loads here exceed, and lost answers. */
const LIKE_TESTNET = { requestLimits: {}, answerLoss: { rpc: 0, mirror: 0, consensus: 0 } }

/** A control of the ledger in another process. Throws if it is refused. */
export async function control(
  ledgerUrl: string,
  name: string,
  ...params: readonly unknown[]
): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: `devnet_${name}`, params })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(ledgerUrl, { method: 'POST', headers, body })
  if ('error' in ((await answer.json()) as object)) throw new Error(`${name} was refused`)
}

/** Runs `work` while the ledger is as slow and as late as the public network. */
export async function likeTestnet<Result>(
  ledgerUrl: string,
  work: () => Promise<Result>,
): Promise<Result> {
  await setTimeout(SEEN_MS)
  await control(ledgerUrl, 'likeTestnet', LIKE_TESTNET)
  try {
    return await work()
  } finally {
    await control(ledgerUrl, 'answerPromptly')
  }
}

/** Runs work in a network of some kind. */
export type InNetwork = typeof likeTestnet

export const promptly: InNetwork = (_ledgerUrl, work) => work()
