import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { DevnetAccount } from '@tallystick/devnet'
import { systemClock } from '@tallystick/x402'
import { type Address, createPublicClient, type Hex, http } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AccessAgent, createAccessAgent } from './access-agent.ts'
import type { TopUpOutcome } from './access-contract.ts'
import { agentSigner } from './agent-signer.ts'
import { NODE_ENVIRONMENT, type RealStack, startRealStack } from './real-stack.fixture.ts'

/** More than two windows hold. */
const CALLS = 12
/** 600 HBAR, 200 periods. */
const KEPT_OPEN_TINYBAR = 60_000_000_000n
/** Leaves the account's nonce at 0, for tests that are about nonces. */
const PAY_ALONE = ['pay', '--max-hbar', '12', '--unguarded']

let stack: RealStack

beforeAll(async () => {
  stack = await startRealStack()
})

afterAll(async () => {
  await stack.stop()
})

/** The library's agent of an account, for its own window unless stated. Without a maximum: it never pays. */
function libraryAgent({ privateKey, accountId }: DevnetAccount, agent?: Address): AccessAgent {
  return createAccessAgent({
    baseUrl: stack.environment['ACCESS_URL'] ?? '',
    serviceName: 'svc',
    signer: agentSigner({ privateKey, accountId }),
    ledger: { rpcUrl: stack.devnet.rpcUrl, chainId: stack.devnet.chainId },
    contract: stack.contract,
    clock: systemClock,
    ...(agent === undefined ? {} : { agent }),
  })
}

/** Funds half an hour: however slow the machine, the window is open. */
async function keepOpen(account: DevnetAccount, agent?: Address): Promise<void> {
  const outcome = await libraryAgent(account, agent).topUp(KEPT_OPEN_TINYBAR)
  expect(outcome).toMatchObject({ kind: 'topped-up' })
}

/** Nonces of the transactions that these top-ups became, in the order in which they were asked for. */
async function readNonces(outcomes: readonly PromiseSettledResult<TopUpOutcome>[]) {
  const client = createPublicClient({ transport: http(stack.devnet.rpcUrl) })
  const hashes = outcomes.flatMap((outcome): readonly Hex[] =>
    outcome.status === 'fulfilled' && outcome.value.kind === 'topped-up'
      ? [outcome.value.transaction]
      : [],
  )
  const transactions = await Promise.all(hashes.map((hash) => client.getTransaction({ hash })))
  return transactions.map(({ nonce }) => nonce)
}

test('A16: the command pays once, is served for free, sees the window renew, tops up, cancels and is refunded', async () => {
  const account = await stack.newAgent('buyer')
  const { privateKey, accountId, evmAddress } = account
  const run = async (...line: string[]) => await stack.agent(privateKey, line)

  const stranger = await run('status')
  expect(stranger).toMatchObject({ code: 0, err: '' })
  expect(stranger.out.toLowerCase()).toContain(`no window is open for ${evmAddress}`)

  const unpaid = await run('pay')
  expect(unpaid).toMatchObject({ code: 3, err: '' })
  expect(unpaid.out).toContain('pay --max-hbar 12')

  const paid = await stack.agentProcess(privateKey, ['pay', '--max-hbar', '12'])
  expect(paid).toMatchObject({ code: 0, err: '' })
  expect(paid.out).toContain(`Paid 12 HBAR from ${accountId}: 0.0.`)
  expect(paid.out).toMatch(/recorded on the ledger by 0x[0-9a-f]{64}/)
  await keepOpen(account)

  const free = await run('pay', '--max-hbar', '12')
  expect(free).toMatchObject({ code: 0 })
  expect(free.out).toContain('no payment was signed and nothing was paid')

  const watch = await run('watch', '--until-renewals', '1')
  expect(watch).toMatchObject({ code: 0, err: '' })
  expect(watch.out).toContain('Renewed itself: until')

  const toppedUp = await run('topup', '--hbar', '9')
  expect(toppedUp).toMatchObject({ code: 0, err: '' })
  expect(toppedUp.out).toContain('Added 9 HBAR')

  const cancelled = await run('cancel', '--json')
  expect(cancelled).toMatchObject({ code: 0, err: '' })
  const outcome = JSON.parse(cancelled.out) as { kind: string; refundTinybar: string }
  expect(outcome.kind).toBe('cancelled')
  const refundTinybar = BigInt(outcome.refundTinybar)
  // 621 HBAR paid in whole periods of 3: those begun, two at least, are the seller's, the rest came back
  expect(refundTinybar % 300_000_000n).toBe(0n)
  expect(refundTinybar).toBeGreaterThan(0n)
  expect(refundTinybar).toBeLessThanOrEqual(61_500_000_000n)

  expect(await run('cancel')).toMatchObject({ code: 6 })
})

test('A16: a gift opens the window of another agent, and the payer has none', async () => {
  const giver = await stack.newAgent('giver')
  const friend = `0x${'fe'.repeat(20)}` as const
  const gift = await stack.agent(giver.privateKey, ['pay', '--max-hbar', '12', '--for', friend])
  expect(gift).toMatchObject({ code: 0, err: '' })
  await keepOpen(giver, friend)
  const theirs = await stack.agent(giver.privateKey, ['status', '--for', friend, '--json'])
  expect(JSON.parse(theirs.out)).toMatchObject({ status: { hasAccess: true } })
  const own = await stack.agent(giver.privateKey, ['status', '--json'])
  expect(JSON.parse(own.out)).toMatchObject({ status: { hasAccess: false } })
})

test('A16: a spent quota has an exit code of its own, and a top-up without a window another', async () => {
  const account = await stack.newAgent('eager')
  const { privateKey } = account
  expect(await stack.agent(privateKey, ['topup', '--hbar', '3'])).toMatchObject({ code: 6 })
  expect(await stack.agent(privateKey, ['pay', '--max-hbar', '12'])).toMatchObject({ code: 0 })
  // by the library, all at once, wherever a window's end falls
  const agent = libraryAgent(account)
  const outcomes = await Promise.all(
    Array.from({ length: CALLS }, async () => (await agent.access()).kind),
  )
  expect(outcomes).toContain('granted')
  expect(outcomes).toContain('quota-spent')
  expect(new Set(outcomes).size).toBe(2)
})

test('A16: a refund comes back although the ledger’s reads and nonces lag behind the cancel', async () => {
  const account = await stack.newAgent('hasty')
  const { privateKey } = account
  expect(await stack.agent(privateKey, PAY_ALONE)).toMatchObject({ code: 0 })
  // by another account: this one's nonce is not to move before it lags
  await keepOpen(await stack.newAgent('patron'), account.evmAddress)
  stack.devnet.controls.setReadLagMs(500)
  stack.devnet.controls.setNonceLagMs(8_000)
  try {
    // While the lagging ledger shows nothing yet, the command signs nothing and says to try again.
    await expect
      .poll(() => stack.agent(privateKey, ['cancel']))
      .toMatchObject({
        code: 0,
        err: '',
        out: expect.stringMatching(/^[1-9]\d{0,2} HBAR came back: 0x/m),
      })
  } finally {
    stack.devnet.controls.setReadLagMs(0)
    stack.devnet.controls.setNonceLagMs(0)
  }
})

test('A16: one agent of the library tops up and cancels at once although nonces lag', async () => {
  const account = await stack.newAgent('brisk')
  const paid = await stack.agent(account.privateKey, PAY_ALONE)
  expect(paid).toMatchObject({ code: 0 })
  const agent = libraryAgent(account)
  stack.devnet.controls.setNonceLagMs(8_000)
  try {
    expect(await agent.topUp(300_000_000n)).toMatchObject({ kind: 'topped-up' })
    expect(await agent.cancel()).toMatchObject({ kind: 'cancelled' })
  } finally {
    stack.devnet.controls.setNonceLagMs(0)
  }
})

test('A16: what one agent of the library signs at once is sent one after the other, and a failure holds none up', async () => {
  const account = await stack.newAgent('busy')
  const paid = await stack.agent(account.privateKey, PAY_ALONE)
  expect(paid).toMatchObject({ code: 0 })
  const agent = libraryAgent(account)
  const more = 300_000_000n
  const everything = 1_000_000_000_000n
  const outcomes = await Promise.allSettled(
    [more, more, everything, more].map((amountTinybar) => agent.topUp(amountTinybar)),
  )
  const done = { status: 'fulfilled', value: { kind: 'topped-up', amountTinybar: more } }
  const failed = { status: 'rejected', reason: { name: 'LedgerUnavailable' } }
  expect(outcomes).toMatchObject([done, done, failed, done])
  expect(await readNonces(outcomes)).toEqual([0, 1, 2])
})

test.each(['eth_sendRawTransaction', 'eth_getTransactionReceipt', 'eth_call', 'eth_gasPrice'])(
  'A16: a lost answer to %s neither fails a top-up nor doubles it',
  async (method) => {
    const account = await stack.newAgent(`unheard ${method}`)
    expect(await stack.agent(account.privateKey, PAY_ALONE)).toMatchObject({ code: 0 })
    const agent = libraryAgent(account)
    const more = 300_000_000n
    const before = await agent.topUp(more)
    stack.devnet.controls.loseNextAnswers('rpc', 1, method)
    const after = await agent.topUp(more)
    if (before.kind !== 'topped-up' || after.kind !== 'topped-up') throw new Error(after.kind)
    expect(after.balanceTinybar).toBe(before.balanceTinybar + more)
  },
)

test('A16: a key whose address has no account yet is told so', async () => {
  const { code, err } = await stack.agent('1'.repeat(64), ['pay', '--max-hbar', '12'])
  expect(code).toBe(1)
  expect(err).toMatch(
    /^The network has no account for 0x[0-9a-fA-F]{40} yet: .*AGENT_ACCOUNT_ID\.\n$/,
  )
})

test('X13: the first request to copy in the README is a whole official client, and pays', async () => {
  const folder = fileURLToPath(new URL('..', import.meta.url))
  const readme = readFileSync(`${folder}/README.md`, 'utf8')
  const script = /```ts \S+\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''
  expect(script).toContain('setSpendControls')
  const { privateKey, accountId } = await stack.newAgent('reader')
  const line = ['--input-type=module-typescript', '--eval', script]
  const ended = await promisify(execFile)(process.execPath, line, {
    cwd: folder,
    env: {
      ...NODE_ENVIRONMENT,
      ...stack.environment,
      AGENT_KEY: privateKey,
      AGENT_ACCOUNT_ID: accountId,
    },
  })
  expect(ended.stdout).toContain('200')
  expect(ended.stdout).toMatch(/paidThisRequest: true/)
  expect(ended.stderr).toBe('')
})
