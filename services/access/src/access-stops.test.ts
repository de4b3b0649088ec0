/** What stops sales, on a real local ledger: roles, clocks, and a second contract on the same account. */
import { systemClock } from '@tallystick/service-kit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deployAccessWindow } from './command/deploy.ts'
import {
  createServiceCalls,
  type LocalStack,
  type RunningService,
  type ServiceCalls,
  startLocalStack,
  until,
} from './testing/local-stack.ts'

let stack: LocalStack
let here: ServiceCalls

beforeAll(async () => {
  stack = await startLocalStack({ periodSeconds: 600, callsAllowed: 50 })
  here = createServiceCalls(await stack.startService())
  await until(here.isReady)
})
afterAll(() => stack.stop())

const STOPPED = { status: 503, body: { error: 'sales_stopped' } }

/** Waits until the check has that reason, and returns its sentence. */
async function readSentence(
  service: RunningService,
  { check, reason }: { readonly check: string; readonly reason: string },
): Promise<string> {
  const calls = createServiceCalls(service)
  const find = async () => (await calls.readyChecks())[check]
  await until(async () => (await find())?.reason === reason)
  return (await find())?.details?.sentence ?? ''
}

test('A3: a replica whose keys have no role takes no money', async () => {
  const stranger = await stack.agent('no-role')
  const unrecorded = await stack.startService({ RECORDER_KEY: stranger.privateKey })
  const missing = { check: 'recorder', reason: 'recorder_role_missing' }
  expect(await readSentence(unrecorded, missing)).toContain(stranger.evmAddress.toLowerCase())
  expect(await createServiceCalls(unrecorded).call(stranger.evmAddress)).toEqual(STOPPED)
  await unrecorded.stop()
  const own = { PAY_TO: stranger.accountId, PAY_TO_KEY: stranger.privateKey }
  const unforwarded = await stack.startService(own)
  await readSentence(unforwarded, { check: 'forwarder', reason: 'forwarder_role_missing' })
  expect(await createServiceCalls(unforwarded).call(stranger.evmAddress)).toEqual(STOPPED)
  await unforwarded.stop()
})

describe('A3: a machine whose clock is off', () => {
  test.each([30, -30])('by %i s sells nothing, and judges windows by ledger time', async (off) => {
    const agent = await stack.agent(`late ${off}`)
    expect((await here.pay(agent)).status).toBe(200)
    const clock = {
      ...systemClock,
      unixMs: () => systemClock.unixMs() + off * 1_000,
    }
    const wrong = await stack.startService({}, { clock, paymentClock: clock })
    const sentence = await readSentence(wrong, { check: 'clock', reason: 'clock_off' })
    expect(sentence).toMatch(off > 0 ? /(29|30) s ahead of/ : /(29|30|31) s behind/)
    const stranger = await stack.agent(`stranger ${off}`)
    expect(await createServiceCalls(wrong).call(stranger.evmAddress)).toEqual(STOPPED)
    const status = await fetch(`${wrong.baseUrl}/api/svc/status?agent=${agent.evmAddress}`)
    const { now } = (await status.json()) as { now: number }
    expect(Math.abs(now - stack.devnet.nowSeconds())).toBeLessThanOrEqual(3)
    expect((await createServiceCalls(wrong).call(agent.evmAddress)).status).toBe(200)
    await wrong.stop()
  })
})

test('A23: another contract’s sales share this payTo: unannounced nothing is sold, announced all is well', async () => {
  const { devnet, owner, payTo, recorder } = stack
  expect((await here.pay(await stack.agent('sold-before'))).status).toBe(200)
  const { contract } = await deployAccessWindow({
    rpcUrl: devnet.rpcUrl,
    chainId: devnet.chainId,
    ownerKey: owner.privateKey,
    forwarder: payTo.evmAddress,
    recorders: [recorder.evmAddress],
    offer: { priceTinybar: 300_000_000n, slotSeconds: 1, periodSeconds: 600, callsAllowed: 50 },
    reserveTinybar: 50_000_000_000n,
  })
  const agent = await stack.agent('new-contract')
  const unannounced = await stack.startService({ ACCESS_CONTRACT: contract })
  const shared = { check: 'contracts', reason: 'payto_shared' }
  expect(await readSentence(unannounced, shared)).toContain(stack.contract.toLowerCase())
  expect(await createServiceCalls(unannounced).call(agent.evmAddress)).toEqual(STOPPED)
  expect(unannounced.sweep.unresolvedCount()).toBeGreaterThan(0)
  await unannounced.stop()
  const announced = createServiceCalls(
    await stack.startService({ ACCESS_CONTRACT: contract, PREVIOUS_CONTRACTS: stack.contract }),
  )
  await until(announced.isReady)
  expect((await announced.pay(agent)).status).toBe(200)
})
