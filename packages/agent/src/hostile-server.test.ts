/**
 * X9: the agent against hostile servers and facilitators, by the modes of public batteries: hostile-facilitator
 * (accept_then_timeout, 5xx_after_settle, double_402, slow_answer, reconcile_unavailable, declared_safe, clean),
 * x402-redteam (overpay, redirect, replay) and changed terms. Whatever happens, one payment at most is out for one thing,
 * never above the limit, and one sentence says what is known of the money.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type AccessAgentOptions, createAccessAgent } from './access-agent.ts'
import {
  type Answer,
  challenge,
  failed,
  granted,
  grantedBody,
  hurriedClock,
  PRICE_TINYBAR,
  readTransaction,
  type StandIn,
  startStandIn,
} from './access-stand-in.fixture.ts'
import { agentSigner } from './agent-signer.ts'
import { moneySentence } from './money-sentence.ts'

const signer = agentSigner({ privateKey: `${'0'.repeat(63)}7`, accountId: '0.0.1004' })

/** Lets the time of the request that was sent last run out. */
let runOut = (): void => undefined

let server: StandIn
let elsewhere: StandIn

beforeEach(async () => {
  server = await startStandIn()
  elsewhere = await startStandIn()
  // However slow the machine is, time runs out for requests that get no answer, and for no other.
  vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
    const limit = new AbortController()
    runOut = () => limit.abort(new DOMException('the limit of a request', 'TimeoutError'))
    return limit.signal
  })
})
afterEach(async () => {
  vi.restoreAllMocks()
  await server.stop()
  await elsewhere.stop()
})

type Script = readonly (Answer | (() => Answer))[]

/** No answer comes until the request's time has run out. */
function slow(): Answer {
  runOut()
  return 'hang'
}

/** Calls once for each script, and what came of it: outcomes, sentences, and every transfer that was signed. */
async function calls(scripts: readonly Script[], options: Partial<AccessAgentOptions> = {}) {
  const clock = hurriedClock()
  const agent = createAccessAgent({
    baseUrl: server.baseUrl,
    serviceName: 'svc',
    signer,
    clock,
    maxPaymentTinybar: PRICE_TINYBAR,
    resendMs: 10_000,
    ...options,
  })
  const kinds: string[] = []
  const sentences: string[] = []
  for (const script of scripts) {
    server.script(...script)
    const outcome = await agent.access().catch(() => undefined)
    kinds.push(outcome?.kind ?? 'threw')
    sentences.push(outcome === undefined ? '' : moneySentence(outcome))
  }
  const sent = [...server.payments, ...elsewhere.payments].filter(
    (payment) => payment !== undefined,
  )
  const signed = [...new Set(sent.map(readTransaction))]
  return { kinds, sentences, signed, clock }
}

const unclear =
  /^It is not known whether a payment moved money: 12 HBAR, which can be submitted until/
const refusedSentence = /^The service refused a payment of 12 HBAR, which can be submitted until/
const paidSentence = /^Paid 12 HBAR from 0\.0\.1004: 0\.0\.1003@/
const nothing = 'No payment was signed and nothing was paid.'

describe('X9: hostile-facilitator', () => {
  test('clean: one payment, served', async () => {
    const { kinds, sentences, signed } = await calls([[challenge(), granted(true)]])
    expect([kinds, signed.length]).toEqual([['granted'], 1])
    expect(sentences[0]).toMatch(paidSentence)
  })

  test('accept_then_timeout: the payment is taken and no answer comes', async () => {
    const { kinds, sentences, signed } = await calls([[challenge(), slow]])
    expect([kinds, signed.length]).toEqual([['payment-pending'], 1])
    expect(sentences[0]).toMatch(unclear)
  })

  test('accept_then_timeout, then asked again: the same payment, not another', async () => {
    const { kinds, signed } = await calls(
      [
        [challenge(), 'hang-up'],
        [challenge(), granted(true)],
      ],
      { resendMs: 0 },
    )
    expect([kinds, signed.length]).toEqual([['payment-pending', 'granted'], 1])
  })

  test.for([500, 502, 503, 504])(
    '5xx_after_settle: %i to a payment that was taken',
    async (status) => {
      const { kinds, sentences, signed } = await calls([[challenge(), failed(status, 'oops')]])
      expect([kinds, signed.length]).toEqual([['payment-pending'], 1])
      expect(sentences[0]).toMatch(unclear)
    },
  )

  test('double_402: a second 402 to the payment gets no second signature', async () => {
    const { kinds, sentences, signed } = await calls([[challenge(), challenge()]])
    expect([kinds, signed.length]).toEqual([['payment-refused'], 1])
    expect(sentences[0]).toMatch(refusedSentence)
  })

  test('double_402, call after call: the payment that may still be submitted is sent again', async () => {
    const twice: Script = [challenge(), challenge({}, 'payment_required')]
    const { kinds, signed } = await calls([twice, twice, twice])
    expect([kinds, signed.length]).toEqual([
      ['payment-refused', 'payment-refused', 'payment-refused'],
      1,
    ])
  })

  test('a payment that expired unsettled is replaced by a new one', async () => {
    const clock = hurriedClock()
    const scripts: Script[] = [[challenge(), challenge()]]
    const agent = createAccessAgent({
      baseUrl: server.baseUrl,
      serviceName: 'svc',
      signer,
      clock,
      maxPaymentTinybar: PRICE_TINYBAR,
    })
    server.script(...(scripts[0] ?? []))
    await agent.access()
    await new Promise<void>((resolve) => void clock.after(181_000, resolve))
    server.script(challenge(), granted(true))
    expect((await agent.access()).kind).toBe('granted')
    const sent = server.payments.filter((payment) => payment !== undefined)
    expect(new Set(sent.map(readTransaction)).size).toBe(2)
  })

  test('slow_answer: slower than a call may take, then served', async () => {
    const { kinds, signed } = await calls([[challenge(), slow, slow, granted(true)]])
    expect([kinds, signed.length]).toEqual([['granted'], 1])
  })

  test('slow_answer: the limit of a call holds although memory is collected during it', async () => {
    vi.restoreAllMocks() // the limit itself, in real time
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const collecting = setInterval(collect, 300)
    try {
      const requestMs = 3_000
      const { kinds, signed } = await calls([[challenge(), 'hang', granted(true)]], { requestMs })
      expect([kinds, signed.length]).toEqual([['granted'], 1])
    } finally {
      clearInterval(collecting)
    }
  })

  test('reconcile_unavailable: nobody can say what became of the payment', async () => {
    const down = failed(502, 'ledger_unavailable')
    const { kinds, sentences, signed } = await calls([[challenge(), down], [down]])
    expect([kinds, signed.length]).toEqual([['payment-pending', 'unavailable'], 1])
    expect(sentences[0]).toMatch(unclear)
  })

  test('declared_safe: “nothing was charged, pay again” is not believed', async () => {
    const safe = challenge({}, 'settlement_failed_safe_to_retry')
    const { kinds, sentences, signed } = await calls([
      [challenge(), safe],
      [challenge(), granted(true)],
    ])
    expect([kinds, signed.length]).toEqual([['payment-refused', 'granted'], 1])
    expect(sentences[0]).toMatch(refusedSentence)
  })
})

describe('X9: x402-redteam', () => {
  test.for([
    ['above the limit', { amount: (PRICE_TINYBAR + 1n).toString() }],
    [
      'above the limit, with a low price beside it',
      {
        amount: (PRICE_TINYBAR * 10n).toString(),
        price: { asset: '0.0.0', amount: '1' },
      },
    ],
    ['in scientific notation', { amount: '1e3' }],
    ['in hex', { amount: '0x1' }],
    ['negative', { amount: '-1' }],
    ['longer than any supply', { amount: '9'.repeat(40) }],
    ['in a token of the same digits', { asset: '0.0.1234' }],
    ['in dollars of USDC', { asset: '0.0.429274', amount: '10000' }],
    ['on another network', { network: 'hedera:mainnet' }],
    ['by another scheme', { scheme: 'upto' }],
  ] as const)('overpay: an amount %s is not signed', async ([, change]) => {
    const { sentences, signed } = await calls([[challenge(change), granted(true)]])
    expect(signed).toEqual([])
    expect(['', nothing]).toContain(sentences[0])
  })

  test.for([301, 302, 303, 307, 308])(
    'redirect: a %i leads neither the price nor a payment elsewhere',
    async (status) => {
      const location = `${elsewhere.baseUrl}/api/svc/access`
      const redirect: Answer = { status, body: {}, headers: { location } }
      elsewhere.script(challenge({ payTo: '0.0.666' }), granted(true))
      const { kinds, signed } = await calls([[redirect], [challenge(), redirect]])
      expect(elsewhere.urls).toEqual([])
      expect([kinds, signed.length]).toEqual([['threw', 'payment-pending'], 1])
    },
  )

  test('replay: the settlement of another payment is no receipt for this one', async () => {
    const settlement = {
      success: true,
      transaction: '0.0.1003@1763600000.000000001',
      network: 'hedera:testnet',
      payer: '0.0.1004',
    }
    const header = Buffer.from(JSON.stringify(settlement)).toString('base64')
    const replayed = {
      status: 200,
      body: grantedBody(true),
      headers: { 'payment-response': header },
    }
    const { sentences, signed } = await calls([[challenge(), replayed]])
    expect(signed).toHaveLength(1)
    expect(sentences[0]).toContain('the service does not say that it took it')
    expect(sentences[0]).toContain(signed[0])
  })

  test('replay: an old challenge brings the same payment again, not another', async () => {
    const { signed } = await calls([
      [challenge(), failed(500, 'oops')],
      [challenge(), failed(500, 'oops')],
    ])
    expect(signed).toHaveLength(1)
  })
})

describe('X9: changed terms', () => {
  const dearer = challenge({ amount: (PRICE_TINYBAR + 1n).toString() })
  const other = challenge({ payTo: '0.0.666' })

  test.for([
    ['a higher price', dearer],
    ['another receiver', other],
  ] as const)('%s after the payment gets no second signature', async ([, changed]) => {
    const { kinds, signed } = await calls([[challenge(), changed]])
    expect([kinds, signed.length]).toEqual([['payment-refused'], 1])
  })

  test('another receiver on the next call gets nothing while the first payment is valid', async () => {
    const { kinds, sentences, signed } = await calls([
      [challenge(), challenge()],
      [other, granted(true)],
    ])
    expect([kinds, signed.length]).toEqual([['payment-refused', 'payment-pending'], 1])
    expect(sentences[1]).toMatch(unclear)
    expect(sentences[1]).toContain(signed[0])
  })
})
