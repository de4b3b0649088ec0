import { longZeroAddress } from '@tallystick/x402/hedera'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CONTRACT, openWindow } from '../testing/fake-contract.ts'
import { PAY_TO_ADDRESS, PAYER_ADDRESS } from '../testing/fake-payments.ts'
import {
  AGENT,
  createFakes,
  type Fakes,
  OTHER_AGENT,
  START_SECONDS,
  startFakeService,
} from '../testing/fake-service.ts'
import { ChainUnavailable } from './access-contract.ts'
import { ZERO_ADDRESS } from './access-window.ts'
import { credit, creditFor, threeForAgent, WHOLE } from './pay-to-credit.fixture.ts'

let fakes: Fakes
let service: Awaited<ReturnType<typeof startFakeService>>

beforeEach(async () => {
  fakes = createFakes()
  service = await startFakeService(fakes)
})
afterEach(() => service.close())

const call = (agent: string = AGENT) => service.app.inject(`/api/svc/access?agent=${agent}`)

describe('A4: what a credit buys', () => {
  test('one with a memo x402:<agent> is opened at once, without counting a call', async () => {
    fakes.log.credits.push(credit({ ageSeconds: 1, memo: `x402:${OTHER_AGENT}` }))
    await service.sweep.sweep()
    expect(fakes.sender.opened).toMatchObject([
      { agent: OTHER_AGENT, calls: 0, valueTinybar: WHOLE },
    ])
    expect(service.sweep.unresolvedCount()).toBe(0)
  })

  test('one without is opened for the payer’s own address when it is older than 200 s; until then its agent waits', async () => {
    fakes.log.credits.push(credit({ ageSeconds: 100 }))
    await service.sweep.sweep()
    expect(fakes.sender.opened).toEqual([])
    expect((await call(PAYER_ADDRESS)).json()).toEqual({ error: 'payment_pending' })
    expect((await call(OTHER_AGENT)).statusCode).toBe(402)
    fakes.clock.advanceMs(100_000)
    await service.sweep.sweep()
    expect(fakes.sender.opened).toMatchObject([{ agent: PAYER_ADDRESS }])
    expect((await call(PAYER_ADDRESS)).statusCode).toBe(200)
  })

  test('one without a memo that was opened after it was read is pending no longer, however young', async () => {
    const opened = credit({ ageSeconds: 3 })
    fakes.log.credits.push(opened)
    await service.sweep.sweep()
    expect((await call()).json()).toEqual({ error: 'payment_pending' })
    fakes.contract.payments.set(opened.paymentReference, AGENT)
    await service.sweep.sweep()
    expect((await call()).statusCode).toBe(402)
    expect(fakes.sender.opened).toEqual([])
  })

  test.each([
    ['the contract', CONTRACT],
    ['the zero address', ZERO_ADDRESS],
    ['payTo', PAY_TO_ADDRESS],
  ])('A24: a memo that names %s opens nothing, and holds nobody up', async (_who, agent) => {
    fakes.log.credits.push(creditFor(agent, 1))
    await service.sweep.sweep()
    expect(fakes.sender.opened).toEqual([])
    expect(service.sweep.unresolvedCount()).toBe(0)
    expect((await call(agent)).statusCode).toBe(402)
  })

  test('A24: a memo that names an address beyond any account’s number stops no other purchase', async () => {
    // As the mirror node's reader answers for an account that there is not.
    fakes.log.readEvmAddress = async (accountId) => longZeroAddress(accountId)
    const beyond = `0x${'f'.repeat(16).padStart(40, '0')}`
    fakes.log.credits.push(creditFor(beyond, 2), creditFor(OTHER_AGENT, 1))
    await service.sweep.sweep()
    expect(fakes.sender.opened).toMatchObject([{ agent: beyond }, { agent: OTHER_AGENT }])
    expect(service.sweep.hasReadPastStart()).toBe(true)
  })

  test('what the contract itself paid out buys for nobody', async () => {
    fakes.log.readEvmAddress = async () => CONTRACT
    fakes.log.credits.push(credit({ ageSeconds: 1_000 }))
    await service.sweep.sweep()
    expect(fakes.sender.opened).toEqual([])
    expect(service.sweep.unresolvedCount()).toBe(0)
  })

  test.each([
    ['an amount that is no whole purchase', { amountTinybar: WHOLE - 1n }],
    ['several payers', { payer: undefined }],
    ['a memo that begins like ours and names nobody', { memo: 'x402:somebody' }],
  ])('%s is only listed', async (_what, change) => {
    fakes.log.credits.push(credit({ ageSeconds: 1_000, ...change }))
    await service.sweep.sweep()
    expect(fakes.sender.opened).toEqual([])
    expect(service.sweep.unresolvedCount()).toBe(0)
  })

  test('a reference that the contract knows is nothing new', async () => {
    const known = credit({ ageSeconds: 1_000 })
    fakes.contract.payments.set(known.paymentReference, AGENT)
    fakes.log.credits.push(known)
    await service.sweep.sweep()
    expect(fakes.sender.opened).toEqual([])
  })

  test('the price is that of its time: the offer in force, or one replaced at most 600 s before', async () => {
    const [first] = fakes.contract.offerList
    if (first === undefined) throw new Error('no offer')
    fakes.contract.offerList.push({
      ...first,
      offerId: 1,
      priceTinybar: 7n,
      startsAtSeconds: START_SECONDS - 5_000,
      retiredAtSeconds: 0,
    })
    fakes.log.credits.push(
      credit({ ageSeconds: 6_000 }),
      credit({ ageSeconds: 4_401 }),
      credit({ ageSeconds: 4_399 }),
      credit({ ageSeconds: 1_000, amountTinybar: 28n }),
    )
    await service.sweep.sweep()
    expect(
      fakes.sender.opened.map(({ offerId, paidAtSeconds }) => [
        offerId,
        START_SECONDS - paidAtSeconds,
      ]),
    ).toEqual([
      [0, 6_000],
      [0, 4_401],
      [1, 1_000],
    ])
  })

  test('A15: a credit with a refund is never opened', async () => {
    const refunded = credit({ ageSeconds: 1_000 })
    fakes.log.credits.push(refunded)
    fakes.log.debits.push({
      consensusTimestamp: `${START_SECONDS - 10}.000000000`,
      refundedPayment: refunded.transactionId,
    })
    await service.sweep.sweep()
    expect(fakes.sender.opened).toEqual([])
    expect(service.sweep.unresolvedCount()).toBe(0)
  })

  test('a credit older than 30 days is left to the operator', async () => {
    fakes.log.credits.push(credit({ ageSeconds: 31 * 86_400 }), credit({ ageSeconds: 29 * 86_400 }))
    await service.sweep.sweep()
    expect(fakes.sender.opened).toHaveLength(1)
  })
})

describe('A4: when a dependency fails', () => {
  test('no challenge is issued until a mirror read reaches past the start', async () => {
    // The second in which the process started has a part that the read does not reach.
    fakes.log.reachedSeconds = START_SECONDS
    service.start()
    await fakes.clock.advanceMsSettled(500)
    expect((await call()).json()).toEqual({ error: 'payments_unread' })
    fakes.log.reachedSeconds = START_SECONDS + 1
    await fakes.clock.advanceMsSettled(1_000)
    expect((await call()).statusCode).toBe(402)
  })

  test('a mirror that is down keeps challenges back and is reported; an open window is served', async () => {
    fakes.log.isDown = true
    fakes.contract.windows.set(OTHER_AGENT, openWindow(START_SECONDS + 15))
    service.start()
    await fakes.clock.advanceMsSettled(500)
    expect((await call()).statusCode).toBe(502)
    expect((await call(OTHER_AGENT)).statusCode).toBe(200)
    expect(fakes.lines.map(({ msg }) => msg)).toContain('sweep-failed')
  })

  test('a contract that cannot be reached keeps the credit for the next sweep, every 10 s', async () => {
    fakes.log.credits.push(credit({ ageSeconds: 1, memo: `x402:${AGENT}` }))
    fakes.sender.isDown = true
    service.start()
    await fakes.clock.advanceMsSettled(500)
    expect((await call()).json()).toEqual({ error: 'payment_pending' })
    fakes.sender.isDown = false
    await fakes.clock.advanceMsSettled(10_000)
    expect(fakes.sender.opened).toHaveLength(1)
    expect((await call()).statusCode).toBe(200)
  })

  test('a credit that the contract refuses stays pending and is told: its agent is not asked to pay again', async () => {
    fakes.log.credits.push(credit({ ageSeconds: 1, memo: `x402:${AGENT}` }))
    fakes.sender.refusal = 'AccessWindow_NotForwarder'
    await service.sweep.sweep()
    expect(fakes.lines.filter(({ level }) => level === 'error')).toMatchObject([
      {
        msg: 'a settled payment was refused by the contract',
        reason: 'AccessWindow_NotForwarder',
      },
    ])
    expect((await call()).json()).toEqual({ error: 'payment_pending' })
    fakes.sender.refusal = undefined
    await service.sweep.sweep()
    expect((await call()).statusCode).toBe(200)
  })

  describe('credits that cannot be opened', () => {
    const poison = new ChainUnavailable('poison')
    /** Each attempt for AGENT fails, after so long. Returns how many there were. */
    const failFor = (lastingMs: number): (() => number) => {
      let attempts = 0
      const openPaid = fakes.sender.openPaid.bind(fakes.sender)
      fakes.sender.openPaid = async (order) => {
        if (order.agent !== AGENT) return openPaid(order)
        attempts += 1
        fakes.clock.advanceMs(lastingMs)
        throw poison
      }
      return () => attempts
    }

    test('one credit that cannot be opened does not stand in the way of the others', async () => {
      const bad = threeForAgent()
      fakes.log.credits.push(...bad, creditFor(OTHER_AGENT, 1))
      const attempts = failFor(0)
      await service.sweep.sweep()
      expect(fakes.sender.opened).toMatchObject([{ agent: OTHER_AGENT }])
      expect(attempts()).toBe(3)
      expect(fakes.lines.filter(({ msg }) => msg === 'sweep-failed')).toMatchObject(
        bad.map(({ paymentReference }) => ({ err: { message: 'poison' }, paymentReference })),
      )
      expect(service.sweep.unresolvedCount()).toBe(3)
    })

    test('a ledger that does not answer ends the sweep at the first', async () => {
      fakes.log.credits.push(...threeForAgent(), creditFor(OTHER_AGENT, 1))
      const attempts = failFor(0)
      const openPaid = fakes.sender.openPaid.bind(fakes.sender)
      fakes.sender.openPaid = (order) => {
        fakes.contract.isDown = true
        return openPaid(order)
      }
      await service.sweep.sweep()
      expect(attempts()).toBe(1)
      expect(fakes.sender.opened).toEqual([])
      fakes.contract.isDown = false
      fakes.sender.openPaid = openPaid
      await service.sweep.sweep()
      expect(fakes.sender.opened).toHaveLength(1)
    })

    test('failures that take long end the sweep, which reads on and then begins with the others', async () => {
      fakes.log.credits.push(...threeForAgent(), creditFor(OTHER_AGENT, 1))
      const attempts = failFor(10_000)
      await service.sweep.sweep()
      expect({ attempts: attempts(), opened: fakes.sender.opened }).toEqual({
        attempts: 1,
        opened: [],
      })
      for (let sweeps = 0; sweeps < 3; sweeps += 1) await service.sweep.sweep()
      expect(fakes.sender.opened).toHaveLength(1)
    })
  })

  test('a kill between settlement and opening: the next process opens it, once', async () => {
    const settled = credit({ ageSeconds: 3, memo: `x402:${AGENT}` })
    fakes.log.credits.push(settled)
    await service.close()
    service = await startFakeService(fakes)
    await service.sweep.sweep()
    await service.sweep.sweep()
    const third = await startFakeService(fakes)
    await third.sweep.sweep()
    await third.close()
    expect(fakes.sender.opened).toHaveLength(1)
  })
})

test('A4: the offers are read once for all credits of a sweep', async () => {
  fakes.log.credits.push(...threeForAgent(), creditFor(OTHER_AGENT, 4), creditFor(OTHER_AGENT, 5))
  fakes.contract.reads.length = 0
  await service.sweep.sweep()
  expect(fakes.sender.opened).toHaveLength(5)
  expect(fakes.contract.reads.filter((read) => read === 'offers')).toHaveLength(1)
})

test('nothing is left running after close', async () => {
  service.start()
  await fakes.clock.advanceMsSettled(500)
  await service.close()
  expect(fakes.clock.pendingCount()).toBe(0)
})
