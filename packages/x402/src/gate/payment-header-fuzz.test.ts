import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { gateFixture } from '../testing/gate.fixture.ts'

const isLong = process.env['TALLYSTICK_LONG'] === '1'

/** Mutations per run; the long run is for releases. */
const MUTATIONS = isLong ? 100_000 : 10_000

/** Numbers that look random and repeat in every run. */
function createDice(seed: string): (below: number) => number {
  let counter = 0
  return (below) => {
    counter += 1
    return createHash('sha256').update(`${seed}/${counter}`).digest().readUInt32BE(0) % below
  }
}

type Dice = (below: number) => number

function mutateBytes(bytes: Buffer, dice: Dice): Buffer {
  const copy = Buffer.from(bytes)
  const at = dice(Math.max(copy.length, 1))
  switch (dice(6)) {
    case 0:
      copy[at] = dice(256)
      return copy
    case 1:
      copy[at] = (copy[at] ?? 0) ^ (1 << dice(8))
      return copy
    case 2:
      return copy.subarray(0, at)
    case 3:
      return Buffer.concat([copy.subarray(0, at), Buffer.from([dice(256)]), copy.subarray(at)])
    case 4:
      return Buffer.concat([copy.subarray(0, at), copy.subarray(at + 1 + dice(8))])
    default:
      return Buffer.concat([copy, copy.subarray(at, at + dice(40))])
  }
}

const ODD_VALUES = [
  null,
  '',
  0,
  -1,
  1e99,
  true,
  [],
  {},
  '0.0.0',
  '9'.repeat(30),
  '\u0000',
  '__proto__',
]

function mutateJson(value: unknown, dice: Dice): unknown {
  if (typeof value !== 'object' || value === null || dice(4) === 0) {
    return ODD_VALUES[dice(ODD_VALUES.length)]
  }
  const entries = Object.entries(value)
  const chosen = dice(Math.max(entries.length, 1))
  return Object.fromEntries(
    entries.flatMap(([key, field], index) => {
      if (index !== chosen) return [[key, field]]
      return dice(5) === 0 ? [] : [[key, mutateJson(field, dice)]]
    }),
  )
}

/** One header that differs from the honest one in its text, its JSON, or the bytes of its transaction. */
function mutate(header: string, dice: Dice): string {
  const json = Buffer.from(header, 'base64')
  switch (dice(4)) {
    case 0:
      return mutateBytes(Buffer.from(header, 'latin1'), dice).toString('latin1')
    case 1:
      return mutateBytes(json, dice).toString('base64')
    case 2: {
      const mutated = mutateJson(JSON.parse(json.toString('utf8')), dice)
      return Buffer.from(JSON.stringify(mutated) ?? '').toString('base64')
    }
    default: {
      const envelope = JSON.parse(json.toString('utf8')) as { payload: { transaction: string } }
      const bytes = mutateBytes(Buffer.from(envelope.payload.transaction, 'base64'), dice)
      const payload = { transaction: bytes.toString('base64') }
      return Buffer.from(JSON.stringify({ ...envelope, payload })).toString('base64')
    }
  }
}

/** The honest header's meaning. A mutation that leaves it unchanged, e.g. in the description, is not an attack. */
function readMeaning(header: string): string | undefined {
  try {
    const { x402Version, payload, accepted } = JSON.parse(
      Buffer.from(header, 'base64').toString('utf8'),
    ) as Record<string, unknown>
    return JSON.stringify({ x402Version, payload, accepted })
  } catch {
    return undefined
  }
}

test(`${MUTATIONS} mutations of a payment header: never a throw, never a settlement`, async () => {
  const { gate, job, ledger, terms } = gateFixture()
  const header = await ledger.pay(terms, { randomNanos: () => 7 })
  const dice = createDice('payment headers')
  const seen = new Map<string, number>()
  let mutations = 0
  while (mutations < MUTATIONS) {
    const mutated = mutate(header, dice)
    if (readMeaning(mutated) === readMeaning(header)) continue
    mutations += 1
    const outcome = await gate.pay({ paymentSignature: mutated }, terms, job())
    const name = outcome.kind === 'challenged' ? outcome.error : outcome.kind
    seen.set(name, (seen.get(name) ?? 0) + 1)
  }
  expect(ledger.settlements).toBe(0)
  expect(seen.get('paid')).toBeUndefined()
  expect([...seen.values()].reduce((sum, count) => sum + count, 0)).toBe(MUTATIONS)
  // The mutations reach every layer: text, JSON, matching, decoding, rules and signatures.
  for (const reason of [
    'payment_header_undecodable',
    'payment_requirements_mismatch',
    'invalid_exact_hedera_payload_transaction_could_not_be_decoded',
    'invalid_exact_hedera_payload_signature_invalid',
  ]) {
    expect(seen.get(reason) ?? 0).toBeGreaterThan(100)
  }
})
