/** One payment at several processes over one store (X7, X9, G12): who has it works for it, and all answer the same. */
import { systemClock } from '@tallystick/service-kit'
import { describe, expect, test } from 'vitest'
import type { Facilitator } from '../facilitators/facilitator.ts'
import type { ReservationStore } from '../reservations/reservation-store.ts'
import { describeSharedReservations } from '../reservations/shared-reservations.contract.ts'
import { HederaStandIn } from '../testing/hedera-stand-in.fixture.ts'
import { keptAnswerFixture, PENDING, plain } from '../testing/kept-answer.fixture.ts'
import { shareReservations } from '../testing/shared-reservations.fixture.ts'

describeSharedReservations('the one of these tests', async () => {
  const shared = shareReservations(systemClock)
  return {
    first: shared.openStore('first'),
    second: shared.openStore('second'),
    endFirst: async () => shared.end('first'),
    nowSeconds: () => Date.now() / 1_000,
  }
})

/** Two gates over one store and one ledger; the first one may have a facilitator of its own. */
function twoProcesses(
  facilitatorOf = ({ facilitator }: HederaStandIn): Facilitator => facilitator,
) {
  const ledger = new HederaStandIn()
  const shared = shareReservations(ledger.clock)
  const at = (owner: string, facilitator: Facilitator) =>
    keptAnswerFixture({ ledger, facilitator, reservations: shared.openStore(owner) })
  return {
    ledger,
    first: at('first', facilitatorOf(ledger)),
    second: at('second', ledger.facilitator),
    endFirst: () => shared.end('first'),
  }
}

describe('X7, G12: a payment that a living process has', () => {
  test('is waited for: both answer the same, for one settlement and one piece of work', async () => {
    const { first, ledger, second } = twoProcesses()
    const done = Promise.withResolvers<void>()
    const header = await ledger.pay(first.terms)
    const fulfil = async () => {
      await done.promise
      return { granted: 'by the first', payer: 'p' }
    }
    const own = first.send(header, { fulfil })
    await ledger.clock.advanceMsSettled(1_000)
    const waiting = second.send(header)
    await ledger.clock.advanceMsSettled(5_000)
    done.resolve()
    await ledger.clock.advanceMsSettled(100)
    expect(plain(await waiting)).toEqual(plain(await own))
    expect([ledger.settlements, second.runs.prepared, second.runs.fulfilled]).toEqual([1, 0, 0])
  })

  test('and then releases runs at the one that waited', async () => {
    const { first, ledger, second } = twoProcesses()
    const refused = Promise.withResolvers<void>()
    const header = await ledger.pay(first.terms)
    const own = first.send(header, {
      async prepare() {
        await refused.promise
        return { kind: 'declined', declined: 'no' }
      },
    })
    await ledger.clock.advanceMsSettled(100)
    const waiting = second.send(header)
    await ledger.clock.advanceMsSettled(100)
    refused.resolve()
    await ledger.clock.advanceMsSettled(100)
    expect([(await own).kind, (await waiting).kind]).toEqual(['declined', 'paid'])
    expect(ledger.settlements).toBe(1)
  })

  test('is pending where its process takes longer than a request may wait, and where the gate closes', async () => {
    const { first, ledger, second } = twoProcesses()
    const header = await ledger.pay(first.terms)
    void first.send(header, { fulfil: () => new Promise(() => {}) })
    await ledger.clock.advanceMsSettled(1_000)
    const waiting = second.send(header)
    await ledger.clock.advanceMsSettled(60_000)
    expect(await waiting).toEqual(PENDING)
    const late = second.send(header)
    await ledger.clock.advanceMsSettled(100)
    const closing = second.gate.close()
    await ledger.clock.advanceMsSettled(10_000)
    await closing
    expect(await late).toEqual(PENDING)
  })
})

test('X7, G12: an answer that cannot be kept yet is not given: another process may take over, and give another', async () => {
  const ledger = new HederaStandIn()
  const shared = shareReservations(ledger.clock)
  const store = shared.openStore('first')
  let isDown = true
  const failing: ReservationStore = {
    ...store,
    async keepAnswer(...values) {
      if (isDown) throw new Error('no server takes writes')
      return await store.keepAnswer(...values)
    },
  }
  const first = keptAnswerFixture({ ledger, reservations: failing })
  const second = keptAnswerFixture({ ledger, reservations: shared.openStore('second') })
  const header = await ledger.pay(first.terms)
  const own = first.send(header, {
    fulfil: async () => ({ granted: 'of the first', payer: 'p' }),
  })
  await ledger.clock.advanceMsSettled(1_000)
  shared.end('first')
  const waiting = second.send(header)
  await ledger.clock.advanceMsSettled(1_000)
  isDown = false
  await ledger.clock.advanceMsSettled(5_000)
  expect(plain(await own)).toEqual(plain(await waiting))
  expect(await own).toMatchObject({ kind: 'paid', answer: { granted: 'resource 1' } })
})

describe('X9, G12: a payment whose process ended', () => {
  test('after it was settled is completed by the one that waits', async () => {
    const { endFirst, first, ledger, second } = twoProcesses()
    const header = await ledger.pay(first.terms)
    void first.send(header, { fulfil: () => new Promise(() => {}) })
    await ledger.clock.advanceMsSettled(1_000)
    const waiting = second.send(header)
    await ledger.clock.advanceMsSettled(1_000)
    endFirst()
    await ledger.clock.advanceMsSettled(5_000)
    expect(await waiting).toMatchObject({ kind: 'paid', answer: { granted: 'resource 1' } })
    expect([ledger.settlements, second.runs.fulfilled]).toEqual([1, 1])
  })

  test('is taken over in the next round, once, and a payment that runs here is left alone', async () => {
    const { endFirst, first, ledger, second } = twoProcesses()
    void first.send(await ledger.pay(first.terms), { fulfil: () => new Promise(() => {}) })
    void second.buy({ fingerprint: 'another', fulfil: () => new Promise(() => {}) })
    await ledger.clock.advanceMsSettled(1_000)
    const ends: string[] = []
    const round = async () => {
      const resuming = second.gate.resumeOpen(
        ({ fingerprint, subject }) => second.job({ fingerprint, subject }),
        ({ end }) => ends.push(end),
      )
      await ledger.clock.advanceMsSettled(5_000)
      await resuming
    }
    await round()
    expect(ends).toEqual([])
    endFirst()
    await round()
    await round()
    expect(ends).toEqual(['paid'])
    expect(second.runs.fulfilled).toBe(1)
  })

  test('a process that was stopped while its payment settled, and wakes, answers what the other one answered', async () => {
    const awake = Promise.withResolvers<void>()
    const { endFirst, first, ledger, second } = twoProcesses(({ facilitator }) => ({
      ...facilitator,
      async settle(...call) {
        const settled = await facilitator.settle(...call)
        await awake.promise
        return settled
      },
    }))
    const header = await ledger.pay(first.terms)
    const own = first.send(header)
    await ledger.clock.advanceMsSettled(1_000)
    endFirst()
    const waiting = second.send(header)
    await ledger.clock.advanceMsSettled(15_000)
    awake.resolve()
    await ledger.clock.advanceMsSettled(1_000)
    expect(plain(await own)).toEqual(plain(await waiting))
    expect((await own).kind).toBe('paid')
    expect([ledger.settlements, first.runs.fulfilled, second.runs.fulfilled]).toEqual([1, 0, 1])
  })
})
