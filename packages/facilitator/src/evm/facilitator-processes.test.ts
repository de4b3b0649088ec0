/**
 * X19 with real processes: two facilitators over one chain, of which one is killed (SIGKILL), stopped (SIGSTOP) or lies in
 * the middle of a settlement. No buyer is charged twice for one thing, and nobody pays for nothing. The same with simulated
 * faults, by the thousand, is in packages/x402.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { startXLayer, type XLayer } from '@tallystick/devnet'
import { systemClock } from '@tallystick/service-kit'
import {
  createFacilitatorPool,
  createHttpFacilitator,
  createMemoryReservationStore,
  createPaymentGate,
  type PaymentGate,
  type PaymentTerms,
} from '@tallystick/x402'
import {
  createExactEvmScheme,
  createJsonRpcLedger,
  type EvmAsset,
  ExactEvmClient,
  evmRequirement,
  evmSigner,
} from '@tallystick/x402/evm'
import type { PaymentRequirements } from '@x402/core/types'
import { privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StartOptions } from '../service.ts'
import type { Lie, ToChild, ToParent } from '../testing/faulty-facilitator.fixture.ts'

/** Each waits up to 2 s for limits to pass. The long run has each fault 20 times, each time at another moment of up to 40 ms. */
const RUNS = process.env['TALLYSTICK_LONG'] === '1' ? 100 : 10

const FAULTS = [
  'killed',
  'stopped',
  'success without submitting',
  'refused, having submitted',
  'refused, and submits later',
] as const

const CHILD = new URL('../testing/faulty-facilitator.fixture.ts', import.meta.url).pathname
/** Wallets that pay gas: two facilitators must not share one. */
const WALLETS = [`0x${'71'.repeat(32)}`, `0x${'72'.repeat(32)}`] as const
const CENT = 10_000n

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** A repeatable source of choices. */
function chooser(seed: number) {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

let chain: XLayer
let asset: EvmAsset
const members: Member[] = []

type Member = Awaited<ReturnType<typeof startMember>>

/** A facilitator process, its messages, and another one in its place once it was killed. */
async function startMember(privateKey: `0x${string}`) {
  const options: StartOptions = {
    network: 'hedera:testnet',
    consensusNodes: [],
    mirrorUrl: 'http://127.0.0.1:9',
    feePayer: '0.0.1003',
    feePayerKey: privateKey,
    evm: { rpcUrl: chain.rpcUrl, chainId: chain.chainId, privateKey, assets: [asset] },
  }
  const heard = new Map<ToParent['kind'], () => void>()
  const next = (kind: ToParent['kind']) =>
    new Promise<void>((resolve) => void heard.set(kind, resolve))
  let child: ChildProcess
  let url = ''
  const start = async (): Promise<void> => {
    const env = { ...process.env, FACILITATOR_OPTIONS: JSON.stringify(options) }
    child = fork(CHILD, { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const listening = next('listening')
    child.on('message', (message: ToParent) => {
      if (message.kind === 'listening') url = message.url
      heard.get(message.kind)?.()
    })
    await listening
  }
  await start()
  return {
    next,
    url: () => url,
    lie: (lie: Lie) => child.send({ lie } satisfies ToChild),
    signal: (name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT') => child.kill(name),
    async replace() {
      if (child.exitCode === null && child.signalCode === null)
        await new Promise((resolve) => child.once('exit', resolve))
      await start()
    },
  }
}

beforeAll(async () => {
  chain = await startXLayer()
  asset = { network: `eip155:${chain.chainId}`, ...chain.stablecoin }
  for (const wallet of WALLETS)
    await chain.controls.setGasBalance(privateKeyToAddress(wallet), 10n ** 21n)
  for (const wallet of WALLETS) members.push(await startMember(wallet))
})

afterAll(async () => {
  for (const member of members) member.signal('SIGKILL')
  await chain.stop()
})

const findAccount = (name: string) => {
  const found = chain.accounts.find((account) => account.name === name)
  if (found === undefined) throw new Error(`there is no account ${name}`)
  return found
}

function openGate(order: readonly Member[]) {
  const clock = systemClock
  const facilitators = order.map((member) => createHttpFacilitator({ url: member.url(), clock }))
  const pool = createFacilitatorPool({
    clock,
    members: facilitators.map((facilitator) => ({ facilitator })),
  })
  const ledger = createJsonRpcLedger({ url: chain.rpcUrl, clock })
  const gate = createPaymentGate({
    schemes: [createExactEvmScheme({ assets: [asset], ledger, clock })],
    facilitator: pool,
    reservations: createMemoryReservationStore({ clock }),
    clock,
    limits: { failoverAfterMs: 700, confirmMs: 1_500, doubtWaitMs: 2_000, retryFirstMs: 50 },
  })
  const close = async (): Promise<void> => {
    await gate.close()
    pool.directory.close()
  }
  return { gate, close }
}

/** Resends of one header before the buyer gives up; far longer than any fault lasts. */
const SENT_MAX = 100

/** As official clients and ours buy: at a 402 a new payment, up to three; at a 502 the same header again. */
async function buy(gate: PaymentGate, job: Parameters<PaymentGate['pay']>[2]) {
  const payer = findAccount('agent-1')
  const requirement = evmRequirement({
    asset,
    amount: CENT,
    payTo: findAccount('operator').address,
  })
  const terms: PaymentTerms = {
    requirements: [requirement],
    resource: { url: 'https://shop.example/api/grade', description: '', mimeType: 'text/plain' },
  }
  const client = new ExactEvmClient({ signer: evmSigner(payer) })
  for (let signed = 1; signed <= 3; signed += 1) {
    const { payload } = await client.createPaymentPayload(2, requirement as PaymentRequirements)
    const envelope = { x402Version: 2, payload, accepted: requirement }
    const paymentSignature = Buffer.from(JSON.stringify(envelope)).toString('base64')
    for (let sent = 0; sent < SENT_MAX; sent += 1) {
      const outcome = await gate.pay({ paymentSignature }, terms, job)
      if (outcome.kind === 'paid') return { answers: 1, signed }
      if (outcome.kind === 'challenged') break
      await pause(100)
    }
  }
  return { answers: 0, signed: 3 }
}

/** Lets a fault happen to a process while the next payment is in its hands; gives what undoes it. */
function arrange(
  faulty: Member,
  fault: (typeof FAULTS)[number],
  delayMs: number,
): () => Promise<void> {
  if (fault !== 'killed' && fault !== 'stopped') {
    const late = fault === 'refused, and submits later' ? faulty.next('late') : undefined
    faulty.lie(fault)
    return async () => {
      faulty.lie('honest')
      await late
    }
  }
  const hit = faulty
    .next('arrived')
    .then(() => pause(delayMs))
    .then(() => faulty.signal(fault === 'killed' ? 'SIGKILL' : 'SIGSTOP'))
  return async () => {
    await hit
    if (fault === 'killed') return await faulty.replace()
    // It goes on with what it had begun, and then answers.
    faulty.signal('SIGCONT')
    await (await fetch(`${faulty.url()}/supported`)).text()
    await pause(200)
  }
}

test(`X19: ${RUNS} settlements with one of two facilitator processes killed, stopped or lying: 0 double charges, 0 lost`, async () => {
  const choose = chooser(20_261_123)
  const tally = { purchases: 0, doubleCharges: 0, paidForNothing: 0, givenAway: 0, unserved: 0 }
  const { address } = findAccount('agent-1')
  for (let run = 0; run < RUNS; run += 1) {
    const fault = FAULTS[run % FAULTS.length] ?? 'killed'
    const order = choose(2) === 0 ? members : members.toReversed()
    const [faulty] = order
    if (faulty === undefined) throw new Error('no facilitator')
    const before = await chain.controls.balanceOf(address)
    const { close, gate } = openGate(order)
    const undo = arrange(faulty, fault, choose(40))
    let fulfilled = 0
    const { answers } = await buy(gate, {
      fingerprint: 'POST /api/grade a',
      subject: 'POST /api/grade a',
      keepsAnswer: true,
      prepare: async () => ({ kind: 'ready', prepared: undefined }),
      mayHonour: async () => true,
      async fulfil() {
        fulfilled += 1
        return { grade: 'A' }
      },
    })
    await undo()
    await close()
    const debits = Number((before - (await chain.controls.balanceOf(address))) / CENT)
    tally.purchases += 1
    if (debits > 1) tally.doubleCharges += 1
    if (debits > 0 && (answers !== 1 || fulfilled !== 1)) tally.paidForNothing += 1
    if (fulfilled > debits) tally.givenAway += 1
    if (answers === 0) tally.unserved += 1
  }
  expect(tally).toEqual({
    purchases: RUNS,
    doubleCharges: 0,
    paidForNothing: 0,
    givenAway: 0,
    unserved: 0,
  })
})
