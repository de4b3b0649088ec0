import { HOUR_MS, MINUTE_MS, manualClock } from '@tallystick/service-kit'
import { LedgerUnavailable } from '@tallystick/x402'
import { expect, test } from 'vitest'
import type { AlertNotice } from './access-events.ts'
import type { Hex } from './access-window.ts'
import { createAlertTeller } from './alert-teller.ts'

const NAMES = ['0xa', '0xb', '0xc'] as const satisfies readonly Hex[]
const LOW: AlertNotice = { alert: 'reserve_low', change: 'raised', text: 'The reserve is low.' }

/** Three processes over one ledger, of which each records when a test says so. */
function startThree() {
  const clock = manualClock(1_800_000_000_000)
  const paidAtSeconds = new Map<string, number[]>(NAMES.map((name) => [name, []]))
  const sent: string[] = []
  const state = { isDown: false }
  const tellers = NAMES.map((recorder) =>
    createAlertTeller({
      clock,
      recorder,
      readRecorders: async () => {
        if (state.isDown) throw new LedgerUnavailable('down')
        return NAMES.toReversed()
      },
      history: {
        async *gasPaidAfter(account, timestamp) {
          for (const seconds of paidAtSeconds.get(account) ?? [])
            if (seconds > Number(timestamp))
              yield { consensusTimestamp: `${seconds}.000000000`, tinybar: 1n }
        },
      },
      webhook: { send: ({ change }) => void sent.push(`${recorder} ${change}`), close() {} },
    }),
  )
  return {
    state,
    told: sent,
    record(...names: readonly string[]) {
      const nowSeconds = clock.unixMs() / 1000
      for (const name of names) paidAtSeconds.get(name)?.push(nowSeconds)
    },
    /** What each living process does at its next look at the figures. */
    raise(notice: AlertNotice, ...names: readonly string[]) {
      for (const [at, teller] of tellers.entries())
        if (names.includes(NAMES[at] ?? '')) teller.send(notice)
    },
    async pass(ms: number) {
      for (let passed = 0; passed < ms; passed += MINUTE_MS) await clock.advanceMsSettled(MINUTE_MS)
    },
    close: () => tellers.map((teller) => teller.close()),
  }
}

test('A14: an alert of all processes is told once, by the lowest recorder that lives', async () => {
  const three = startThree()
  three.record('0xa', '0xb', '0xc')
  three.raise(LOW, ...NAMES)
  await three.pass(5 * MINUTE_MS)
  three.record('0xa', '0xb', '0xc')
  await three.pass(12 * HOUR_MS)
  expect(three.told).toEqual(['0xa raised'])
  three.raise({ ...LOW, change: 'cleared' }, ...NAMES)
  await three.pass(5 * MINUTE_MS)
  expect(three.told).toEqual(['0xa raised', '0xa cleared'])
  three.close()
})

test('A14: while nobody calls, the ledger shows nobody, and an alert is still told once', async () => {
  const three = startThree()
  three.raise(LOW, ...NAMES)
  await three.pass(12 * HOUR_MS)
  expect(three.told).toEqual(['0xa raised'])
  three.close()
})

test('A14: the lowest died before it could tell: the next one does, once the others were seen for six hours without it', async () => {
  const three = startThree()
  three.record('0xa', '0xb', '0xc')
  await three.pass(HOUR_MS)
  three.raise(LOW, '0xb', '0xc')
  const untilHours = async (hours: number): Promise<void> => {
    for (let hour = 0; hour < hours; hour += 1) {
      await three.pass(HOUR_MS)
      three.record('0xb', '0xc')
    }
  }
  await untilHours(4)
  expect(three.told).toEqual([])
  await untilHours(8)
  expect(three.told).toEqual(['0xb raised'])
  three.close()
})

test('A14: what the lowest has told before it died is not told again', async () => {
  const three = startThree()
  three.record('0xa', '0xb', '0xc')
  three.raise(LOW, ...NAMES)
  await three.pass(10 * MINUTE_MS)
  three.record('0xa')
  for (let hours = 0; hours < 12; hours += 1) {
    await three.pass(HOUR_MS)
    three.record('0xb', '0xc')
  }
  expect(three.told).toEqual(['0xa raised'])
  three.close()
})

test('A14: the money of a recorder is its own process’s to tell, at once', async () => {
  const three = startThree()
  three.raise({ ...LOW, alert: 'recorder_low' }, '0xb', '0xc')
  expect(three.told).toEqual(['0xb raised', '0xc raised'])
  three.close()
})

test('A14: a ledger that does not answer holds an alert back for ten minutes: rather twice than never', async () => {
  const three = startThree()
  three.state.isDown = true
  three.raise(LOW, '0xb')
  await three.pass(9 * MINUTE_MS)
  expect(three.told).toEqual([])
  await three.pass(2 * MINUTE_MS)
  expect(three.told).toEqual(['0xb raised'])
  three.close()
})
