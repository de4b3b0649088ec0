// One agent's story, told as it happens: it asks, pays once, calls for free, sees its window close and renew itself, sees
// one call renew the windows of five others, spends its quota, cancels and gets the rest back. Every figure comes from an
// answer or from the ledger.
import { setTimeout as pause } from 'node:timers/promises'
import {
  type AccessAgent,
  type AccessOutcome,
  type AccessStatus,
  agentSigner,
  createAccessAgent,
  systemClock,
} from '@tallystick/agent'
import { accessWindowAbi } from '@tallystick/contracts'
import { formatHbar } from '@tallystick/x402/hedera'
import { type Address, createPublicClient, http, isAddress } from 'viem'
import type { StackDescription } from '../stack/stack-file.ts'
import { findRenewal } from './find-renewal.ts'
import { openSharedSlot, SHARING_AGENTS } from './shared-slot.ts'

/** Covers any offer on the local ledger, and is no more than a person would let an agent pay unasked. */
const PAYMENT_TINYBAR_MAX = 100_00000000n
const POLL_MS = 200
/** A renewal is due within a second; a busy machine gets more. */
const RENEWAL_WAIT_MS_MAX = 30_000
const FREE_CALLS_SHOWN = 3
/** More calls than any quota of the local ledger. */
const CALLS_MAX = 1_000
/** Calls made at once while the quota is spent, so that a window lasts longer than its quota on a busy machine too. */
const CALLS_AT_ONCE = 10

type Granted = Extract<AccessOutcome, { kind: 'granted' }>
type Story = {
  readonly stack: StackDescription
  readonly agent: AccessAgent
  readonly agentKey: string
  readonly say: (line: string) => void
}

function address(text: string): Address {
  if (!isAddress(text, { strict: false })) throw new Error(`${text} is not an EVM address`)
  return text
}

function expectGranted(outcome: AccessOutcome): Granted {
  if (outcome.kind !== 'granted')
    throw new Error(`expected access, got ${JSON.stringify(outcome.kind)}`)
  return outcome
}

async function readStatus(agent: AccessAgent): Promise<AccessStatus> {
  const outcome = await agent.status()
  if (outcome.kind !== 'status') throw new Error(`the status cannot be read: ${outcome.error}`)
  return outcome.status
}

async function askWithoutPaying({ stack, agent, say }: Story): Promise<void> {
  const url = `${stack.access.baseUrl}/api/svc/access?agent=${agent.agent}`
  const response = await fetch(url)
  const body = (await response.json()) as {
    accepts?: { price: { amount: string }; payTo: string }[]
  }
  const offer = body.accepts?.[0]
  if (response.status !== 402 || offer === undefined)
    throw new Error(`expected 402, got ${response.status}`)
  say(`GET ${url}`)
  say(`402 Payment Required: ${formatHbar(BigInt(offer.price.amount))} to account ${offer.payTo}`)
}

async function payOnce({ agent, say }: Story): Promise<void> {
  const paid = expectGranted(await agent.access())
  if (!paid.paidThisRequest) throw new Error('expected to pay')
  const { subscription, payment, metering, guard } = paid
  say('the agent signs one Hedera transfer and sends the request again')
  say(`200, paid ${formatHbar(payment?.amountTinybar ?? 0n)}: transaction ${payment?.transaction}`)
  say(
    `the window is open for ${subscription.secondsRemaining} s; opened by ${metering?.recordedOnChain}`,
  )
  say(
    `balance for renewals: ${formatHbar(subscription.balanceTinybar)}; the ledger holds schedule ${subscription.nextRenewalSchedule}`,
  )
  if (guard?.kind === 'guard-set')
    say(`it sets its guard, so that nobody else can use the window: ${guard.transaction}`)
}

async function callForFree({ agent, say }: Story): Promise<void> {
  for (let call = 0; call < FREE_CALLS_SHOWN; call += 1) {
    const { metering } = expectGranted(await agent.access())
    say(
      `200, nothing paid: ${metering?.callsRemaining} calls left, recorded by ${metering?.recordedOnChain}`,
    )
  }
}

type Closing = {
  readonly slotId: bigint
  /** Second at which the slot's windows close, Unix seconds. */
  readonly closedAtSeconds: number
  readonly fromBlock: bigint
}

/** Waits for the network's call and describes it; returns what it cost and moved. Throws if it never comes. */
async function awaitRenewal({ stack, say }: Story, closing: Closing) {
  const { rpcUrl, mirrorUrl } = stack.ledger
  const contract = address(stack.access.contract)
  const waitMs = closing.closedAtSeconds * 1_000 - Date.now()
  const deadlineMs = performance.now() + Math.max(0, waitMs) + RENEWAL_WAIT_MS_MAX
  for (;;) {
    const renewal = await findRenewal({ ...closing, rpcUrl, mirrorUrl, contract })
    if (renewal !== undefined) {
      const isOwnCall = renewal.sender.toLowerCase() === contract.toLowerCase()
      say(
        `renewed by ${isOwnCall ? 'the ledger, as the contract itself' : renewal.sender}: ${renewal.transactionHash}`,
      )
      say(
        `${renewal.latenessSeconds.toFixed(3)} s after the second, ${renewal.gasUsed} gas, ${formatHbar(renewal.costTinybar)} from the seller's reserve`,
      )
      return renewal
    }
    if (performance.now() > deadlineMs) throw new Error('the window did not renew itself')
    await pause(POLL_MS)
  }
}

/** The slot that renews the agent's window, and the block from which to look for the call. */
async function describeClosing({ stack, agent }: Story): Promise<Closing> {
  const client = createPublicClient({ transport: http(stack.ledger.rpcUrl) })
  const [fromBlock, { slotId, expiresAt }] = await Promise.all([
    client.getBlockNumber(),
    client.readContract({
      abi: accessWindowAbi,
      address: address(stack.access.contract),
      functionName: 'windowOf',
      args: [agent.agent, BigInt(Math.floor(Date.now() / 1_000))],
    }),
  ])
  return { slotId, closedAtSeconds: Number(expiresAt), fromBlock }
}

async function watchThemRenew(story: Story): Promise<void> {
  const { agent, say } = story
  const own = await describeClosing(story)
  const shared = await openSharedSlot(story.stack, story.agentKey)
  say(`${SHARING_AGENTS} more agents get windows that close in one second: they share a slot`)
  const { secondsRemaining } = await readStatus(agent)
  say(`the window closes in ${secondsRemaining} s; nobody does anything`)
  const renewal = await awaitRenewal(story, own)
  say(
    `the next window ends ${renewal.expiresAtSeconds - own.closedAtSeconds} s after the last one: no drift`,
  )
  const { metering } = expectGranted(await agent.access())
  say(`200, nothing paid: the quota is full again, ${metering?.callsRemaining} calls left`)
  say(`the slot of the ${SHARING_AGENTS} is next`)
  const { expiresAtSeconds: closedAtSeconds } = shared
  const sharedRenewal = await awaitRenewal(story, { ...shared, closedAtSeconds })
  const renewed = sharedRenewal.chargedTinybar / shared.priceTinybar
  say(
    `one call renewed ${renewed} windows: ${formatHbar(sharedRenewal.costTinybar / renewed)} for each, of which the seller earned ${formatHbar(shared.priceTinybar)}`,
  )
}

async function spendTheQuota({ agent, say }: Story): Promise<void> {
  let served = 0
  while (served < CALLS_MAX) {
    const outcomes = await Promise.all(Array.from({ length: CALLS_AT_ONCE }, () => agent.access()))
    for (const outcome of outcomes) {
      if (outcome.kind === 'quota-spent') {
        say(
          `after ${served} more calls: 429, the quota is spent; it refills in ${outcome.retryAfterSeconds} s`,
        )
        return
      }
      expectGranted(outcome)
      served += 1
    }
  }
  throw new Error('the quota was never spent')
}

async function cancelAndGetBack({ agent, say }: Story): Promise<void> {
  const outcome = await agent.cancel()
  if (outcome.kind !== 'cancelled') throw new Error(`expected to cancel, got ${outcome.kind}`)
  say(
    `cancelled; ${formatHbar(outcome.refundTinybar)} came back in ${outcome.transaction ?? 'no transaction'}`,
  )
  const status = await readStatus(agent)
  say(
    `active: ${status.isActive}; the paid window stays open for ${status.secondsRemaining} s, then the next call is a 402`,
  )
}

/** Plays the story to its end with an agent that has no window; throws if a step fails. */
export async function playStory(
  stack: StackDescription,
  say: (line: string) => void,
): Promise<void> {
  const chapters: readonly (readonly [string, (story: Story) => Promise<void>])[] = [
    ['An agent asks without paying', askWithoutPaying],
    ['It pays once', payOnce],
    ['It calls again, for free', callForFree],
    ['The window closes and renews itself, and five share one renewal', watchThemRenew],
    ['It spends its quota', spendTheQuota],
    ['It cancels and gets the rest back', cancelAndGetBack],
  ]
  const { agent, agentKey } = await agentWithoutWindow(stack)
  for (const [index, [title, play]] of chapters.entries()) {
    say(`\n${index + 1}. ${title}`)
    await play({ stack, agent, agentKey, say: (line) => say(`   ${line}`) })
  }
}

async function agentWithoutWindow(
  stack: StackDescription,
): Promise<Pick<Story, 'agent' | 'agentKey'>> {
  for (const { accountId, privateKey } of stack.agents.toReversed()) {
    const agent = createAccessAgent({
      baseUrl: stack.access.baseUrl,
      serviceName: 'svc',
      signer: agentSigner({ accountId, privateKey }),
      clock: systemClock,
      maxPaymentTinybar: PAYMENT_TINYBAR_MAX,
      ledger: { rpcUrl: stack.ledger.rpcUrl, chainId: stack.ledger.chainId },
    })
    if (!(await readStatus(agent)).hasAccess) return { agent, agentKey: privateKey }
  }
  throw new Error('every agent of this stack has an open window; try again when one has closed')
}
