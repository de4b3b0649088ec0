import { type ManualClock, manualClock, type ServiceApp } from '@tallystick/service-kit'
import { encodePaymentResponse } from '@tallystick/x402'
import { paymentReference } from '@tallystick/x402/hedera'
import type { FastifyBaseLogger } from 'fastify'
import { type AccessCore, createAccessCore } from '../access-core.ts'
import { buildAccessApp } from '../app.ts'
import { readStatus } from '../domain/access-answers.ts'
import type { AccessEvent } from '../domain/access-event.ts'
import type { Hex } from '../domain/access-window.ts'
import { ResourceUnavailable } from '../domain/ports.ts'
import type { UsageCall, UsageOutcome, UsageRecorder } from '../domain/usage-recorder.ts'
import type { Telemetry } from '../telemetry.ts'
import { createFakeContract, type FakeContract } from './fake-contract.ts'
import {
  createFakeFacilitator,
  createFakePaymentLog,
  createFakeScheme,
  type FakeFacilitator,
  type FakePayment,
  type FakePaymentLog,
} from './fake-payments.ts'
import { createFakeSender, type FakeSender } from './fake-sender.ts'

export const START_SECONDS = 1_800_000_000
export const AGENT: Hex = '0x00000000000000000000000000000000000000aa'
export const OTHER_AGENT: Hex = '0x00000000000000000000000000000000000000bb'
export const USAGE_HASH = `0x${'ab'.repeat(32)}`

/** Everything outside the process, as fakes that tests set: for what a real ledger does rarely. */
export type FakeWorld = {
  readonly clock: ManualClock
  readonly contract: FakeContract
  readonly sender: FakeSender
  readonly log: FakePaymentLog
  readonly facilitator: FakeFacilitator
  readonly scheme: ReturnType<typeof createFakeScheme>
  readonly recorded: UsageCall[]
  readonly events: AccessEvent[]
  feePayers: readonly string[]
  usage: UsageOutcome | undefined
  isResourceDown: boolean
}

export function createFakeWorld(): FakeWorld {
  const clock = manualClock(START_SECONDS * 1000)
  const contract = createFakeContract()
  return {
    clock,
    contract,
    sender: createFakeSender(contract, clock),
    log: createFakePaymentLog(START_SECONDS + 1),
    facilitator: createFakeFacilitator(),
    scheme: createFakeScheme(),
    recorded: [],
    events: [],
    feePayers: ['0.0.9001'],
    usage: undefined,
    isResourceDown: false,
  }
}

const remaining = (call: UsageCall): number => Math.max(0, call.callsAllowed - call.callsUsedInRead)

/** A recorder that counts on the fake contract at once. */
function fakeUsage(world: FakeWorld): UsageRecorder {
  return {
    callsRemaining: remaining,
    async record(call) {
      if (world.usage !== undefined) return world.usage
      world.recorded.push(call)
      return { kind: 'recorded', transactionHash: USAGE_HASH, callsRemaining: remaining(call) - 1 }
    },
    figures: () => {
      throw new Error('nobody reads figures of the fake')
    },
    close: async () => undefined,
  }
}

/** Who is told what happens, besides the world's own list of events. */
export type Watch = {
  readonly telemetry?: Telemetry
  readonly logger?: FastifyBaseLogger
}

/** One process of the service in a fake world. */
export async function startFakeService(
  world: FakeWorld,
  watch: Watch = {},
): Promise<{ readonly app: ServiceApp; readonly core: AccessCore; close(): Promise<void> }> {
  const core = createAccessCore(
    {
      ...world,
      usage: fakeUsage(world),
      feePayers: async () => world.feePayers,
      report(event) {
        world.events.push(event)
        watch.telemetry?.report(event)
      },
      observeGate: (event) => watch.telemetry?.observeGate(event),
      resource: {
        async read() {
          if (world.isResourceDown) throw new ResourceUnavailable('down')
          return { temperature: 21 }
        },
      },
    },
    {
      network: 'hedera:testnet',
      payTo: '0.0.7001',
      periodsPerPurchase: 4,
      resourceUrl: 'https://access.example/api/svc/access',
      paymentReference: (transactionId) => paymentReference(transactionId).hash,
    },
  )
  const app = await buildAccessApp({
    serviceName: 'svc',
    callAccess: core.callAccess,
    readStatus: (agent) => readStatus(world, agent),
    gate: core.gate,
    encodeSettlement: encodePaymentResponse,
    clock: world.clock,
    ...(watch.logger === undefined ? {} : { logger: watch.logger }),
  })
  return {
    app,
    core,
    async close() {
      await app.close()
      await core.close()
    },
  }
}

/** The header of a payment for the challenge that a 402's body carries. */
export function paymentHeader(challenge: unknown, payment: FakePayment): Record<string, string> {
  const { accepts } = challenge as { accepts: object[] }
  const envelope = { x402Version: 2, accepted: accepts[0], payload: payment }
  return { 'payment-signature': Buffer.from(JSON.stringify(envelope)).toString('base64') }
}
