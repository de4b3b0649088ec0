/** Payments that are about to expire, from a stranger's purse, on a real local ledger whose mirror node has the public limit. */
import { systemClock } from '@tallystick/service-kit'
import { ExactHederaClient, hederaSigner } from '@tallystick/x402/hedera'
import type { PaymentRequirements } from '@x402/core/types'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createServiceCalls,
  type LocalStack,
  startLocalStack,
  untilInTime,
} from './testing/local-stack.ts'

const PER_SECOND = 30
const BUYERS = 12
/** So old that the 29 s left are too few to settle: such a payment can only be looked up. */
const AGE_MS = 151_000

let stack: LocalStack

beforeAll(async () => {
  stack = await startLocalStack({ periodSeconds: 3_600, callsAllowed: 1_000 })
})
afterAll(() => stack.stop())

test('X23: thirty payments about to expire a second, each for another agent: every honest buyer is served', async () => {
  const service = await stack.startService({
    ADDRESS_CALLS_PER_SECOND: '0',
    MIRROR_URL: `${stack.devnet.mirrorUrl}/as/service`,
  })
  const here = createServiceCalls(service)
  await untilInTime(stack, here.isReady)
  const purse = await stack.agent('purse')
  const buyers = await Promise.all(
    Array.from({ length: BUYERS }, (_, at) => stack.agent(`buyer-${at}`)),
  )
  const scheme = new ExactHederaClient({
    signer: hederaSigner(purse),
    clock: { unixMs: () => systemClock.unixMs() - AGE_MS },
  })
  const { body } = await here.call(purse.evmAddress)
  const { accepts, resource } = body as unknown as {
    readonly accepts: readonly PaymentRequirements[]
    readonly resource: object
  }
  const [accepted] = accepts
  if (accepted === undefined) throw new Error('nothing is sold')
  const sendExpiring = async (number: number) => {
    const { payload } = await scheme.createPaymentPayload(2, accepted)
    const envelope = { x402Version: 2, accepted, resource, payload }
    const header = Buffer.from(JSON.stringify(envelope)).toString('base64')
    return await here.send(`0x${number.toString(16).padStart(40, 'e')}`, header)
  }
  stack.devnet.controls.setRequestLimits({ mirrorPerSecond: 50 })
  const strangers: ReturnType<typeof sendExpiring>[] = []
  const statuses: number[] = []
  for (const buyer of buyers) {
    const numbers = Array.from({ length: PER_SECOND }, (_, at) => strangers.length + at)
    strangers.push(...numbers.map(sendExpiring))
    statuses.push((await here.pay(buyer)).status)
    await stack.devnet.controls.advanceSeconds(1)
  }
  stack.devnet.controls.setRequestLimits('none')
  expect(statuses).toEqual(buyers.map(() => 200))
  let left = strangers.length
  for (const sent of strangers) void sent.finally(() => (left -= 1))
  await untilInTime(stack, async () => left === 0)
  const answers = await Promise.all(strangers)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([502]))
})
