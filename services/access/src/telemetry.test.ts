import { Registry } from '@tallystick/service-kit'
import { beforeEach, describe, expect, test } from 'vitest'
import type { AccessEvent } from './domain/access-events.ts'
import type { UsageEvent } from './metering/recorder-parts.ts'
import { createTelemetry, type Telemetry } from './telemetry.ts'

let registry: Registry
let telemetry: Telemetry

beforeEach(() => {
  registry = new Registry()
  telemetry = createTelemetry(registry)
})

const agent = `0x${'aa'.repeat(20)}` as const
const opening = { agent, paymentReference: '0x01', transactionHash: '0x02' } as const
const error = new Error('down')

/** The lines of the metrics that have counted something. */
async function counted(): Promise<readonly string[]> {
  const text = await registry.metrics()
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !line.endsWith(' 0'))
}

describe('a metric for each thing that an operator may have to look at', () => {
  test.each<[string, AccessEvent]>([
    [
      'access_windows_opened_total{by="sweep",kind="opened"} 1',
      { kind: 'opened', by: 'sweep', isTopUp: false, ...opening },
    ],
    [
      'access_windows_opened_total{by="gate",kind="top-up"} 1',
      { kind: 'opened', by: 'gate', isTopUp: true, ...opening },
    ],
    [
      'access_troubles_total{kind="open-refused"} 1',
      { kind: 'open-refused', by: 'sweep', reason: 'AccessWindow_WrongValue', ...opening },
    ],
    [
      'access_troubles_total{kind="forward-refused"} 1',
      { kind: 'forward-refused', agent, reason: 'AccessWindow_NotForwarder' },
    ],
    ['access_sign_ins_total{outcome="proved"} 1', { kind: 'sign-in', outcome: 'proved' }],
    ['access_rate_limited_total{by="agent"} 1', { kind: 'rate-limited', by: 'agent' }],
    ['access_troubles_total{kind="sweep-failed"} 1', { kind: 'sweep-failed', error }],
    [
      'access_troubles_total{kind="rearmed"} 1',
      { kind: 'rearmed', how: 'reap', slotId: '7', agent, transactionHash: '0x02' },
    ],
    [
      'access_troubles_total{kind="not-armed"} 1',
      { kind: 'not-armed', how: 'poke', slotId: '7', agent, transactionHash: '0x02', code: 370 },
    ],
    [
      'access_troubles_total{kind="rearm-failed"} 1',
      { kind: 'rearm-failed', slotId: '7', agent, error },
    ],
    ['access_payments_total{outcome="pending"} 1', { kind: 'payment', outcome: 'pending' }],
    ['access_calls_granted_total{paid="true"} 1', { kind: 'granted', isPaid: true }],
    [
      'access_refusals_total{reason="payment_amount_mismatch"} 1',
      { kind: 'payment-refused', reason: 'payment_amount_mismatch' },
    ],
  ])('%s', async (line, event) => {
    telemetry.report(event)
    expect(await counted()).toEqual([line])
  })

  test('how late renewals are found, and how long verifying took', async () => {
    telemetry.report({ kind: 'renewal-late', lateSeconds: 4 })
    telemetry.verified(0.002)
    const lines = await counted()
    expect(lines).toContain('access_renewal_lateness_seconds_sum 4')
    expect(lines).toContain('access_renewal_lateness_seconds_bucket{le="5"} 1')
    expect(lines).not.toContain('access_renewal_lateness_seconds_bucket{le="3"} 1')
    expect(lines).toContain('access_payment_verification_seconds_bucket{le="0.005"} 1')
  })

  test('S4: texts of others make no more than 64 reasons and `other`', async () => {
    for (let index = 0; index < 100; index += 1)
      telemetry.report({ kind: 'payment-refused', reason: `reason_${index}` })
    const reasons = (await counted()).filter((line) => line.startsWith('access_refusals_total'))
    expect(reasons).toHaveLength(65)
    expect(reasons).toContain('access_refusals_total{reason="other"} 36')
  })

  test.each<UsageEvent>([
    { kind: 'batch-reverted', hash: '0x02', calls: 3 },
    { kind: 'usage-refused', agent, windowExpiresAtSeconds: 1, calls: 3, hash: '0x02' },
    { kind: 'usage-late', agent, windowExpiresAtSeconds: 1, calls: 3, hash: '0x02' },
    { kind: 'nonce-gap-filled', nonce: 7, hash: '0x02' },
    { kind: 'recording-paused', pauseMs: 30_000 },
    { kind: 'closed-unfinished', hashes: ['0x02'], calls: 3 },
  ])('metering: $kind', async (event) => {
    telemetry.onUsageEvent(event)
    expect(await counted()).toEqual([`access_troubles_total{kind="usage-${event.kind}"} 1`])
  })

  test('S4: no metric names an agent', async () => {
    telemetry.report({ kind: 'opened', by: 'sweep', isTopUp: false, ...opening })
    telemetry.report({ kind: 'rearm-failed', slotId: '7', agent, error })
    expect(await registry.metrics()).not.toContain(agent.slice(2))
  })
})
