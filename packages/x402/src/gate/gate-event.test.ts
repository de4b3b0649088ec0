import { describe, expect, test } from 'vitest'
import { gateHouse } from '../testing/gate.fixture.ts'

describe('S6: the events of a payment name the request that began its flight', () => {
  test('from the settlement to the answer, whoever else sends the same', async () => {
    const { events, gate, job, ledger, terms } = gateHouse()
    const header = await ledger.pay(terms)
    await Promise.all(
      ['request-1', 'request-2'].map((requestId) =>
        gate.pay({ paymentSignature: header }, terms, job({ requestId })),
      ),
    )
    expect(events.map(({ kind, requestId }) => [kind, requestId])).toEqual([
      ['settled', 'request-1'],
      ['fulfilled', 'request-1'],
    ])
  })

  test('what is completed in the background names it too, when the header comes again', async () => {
    const { events, gate, job, ledger, terms } = gateHouse()
    ledger.fault = 'answer_lost'
    ledger.isMirrorDown = true
    const header = await ledger.pay(terms)
    const first = gate.pay({ paymentSignature: header }, terms, job({ requestId: 'request-1' }))
    await ledger.clock.advanceMs(60_000)
    expect((await first).kind).toBe('pending')
    ledger.isMirrorDown = false
    const again = gate.pay({ paymentSignature: header }, terms, job({ requestId: 'request-2' }))
    expect((await again).kind).toBe('paid')
    expect(events.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['in_doubt', 'found', 'fulfilled']),
    )
    expect(new Set(events.map(({ requestId }) => requestId))).toEqual(new Set(['request-1']))
  })

  test('a job without an id gives them none', async () => {
    const { events, gate, job, ledger, terms } = gateHouse()
    await gate.pay({ paymentSignature: await ledger.pay(terms) }, terms, job())
    expect(events.map((event) => 'requestId' in event)).toEqual([false, false])
  })
})
