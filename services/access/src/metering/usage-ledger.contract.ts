// Every UsageLedger must do this, the tests' fake and the real one alike.
import { beforeEach, describe, expect, test } from 'vitest'
import type { SignedTransaction } from '../transactions/transaction-ledger.ts'
import type { UsageEntry, UsageLedger } from './usage-ledger.ts'

/** A ledger with an empty window, and ways to make it refuse. */
type UsageLedgerFixture = {
  readonly ledger: UsageLedger
  /** Quota of each window. */
  readonly quota: number
  /** An agent whose window is open and unused. */
  newWindow(): Promise<{ readonly agent: string; readonly windowExpiresAtSeconds: number }>
  raiseGasPrice(): Promise<void> | void
  takeFunds(): Promise<void> | void
  cutOff(): Promise<void> | void
}

/** Runs the suite; `start` is called before each test. */
export function describeUsageLedger(
  name: string,
  start: () => Promise<UsageLedgerFixture> | UsageLedgerFixture,
): void {
  describe(`UsageLedger: ${name}`, () => {
    let fixture: UsageLedgerFixture
    beforeEach(async () => {
      fixture = await start()
    })

    const sign = async (
      entries: readonly UsageEntry[],
      nonceOffset = 0,
    ): Promise<SignedTransaction> => {
      const { ledger } = fixture
      const nonce = (await ledger.readNonce()) + nonceOffset
      return ledger.sign({
        entries,
        nonce,
        gasPriceWeibar: 2n * (await ledger.quoteGasPriceWeibar()),
      })
    }
    /** Sends these entries and returns their receipt, once there is one, without its cost. */
    const mineEntries = async (entries: readonly UsageEntry[]) => {
      const signed = await sign(entries)
      expect(await fixture.ledger.send(signed)).toEqual({ kind: 'accepted' })
      await expect.poll(() => fixture.ledger.readReceipt(signed.hash)).toBeDefined()
      const receipt = await fixture.ledger.readReceipt(signed.hash)
      if (receipt === undefined) throw new Error('unreachable')
      const { costTinybar, ...rest } = receipt
      expect(costTinybar).toBeGreaterThan(0n)
      return rest
    }

    test('A10: the same usage with the same nonce and price has the same bytes and hash; another nonce has others', async () => {
      const entries = [{ ...(await fixture.newWindow()), calls: 1 }]
      const first = await sign(entries)
      expect(await sign(entries)).toEqual(first)
      expect((await sign(entries, 1)).hash).not.toBe(first.hash)
    })

    test('A11: one entry is counted in its window, and the receipt tells the counter', async () => {
      const window = await fixture.newWindow()
      expect(await fixture.ledger.readCallsUsed(window)).toBe(0)
      expect(await mineEntries([{ ...window, calls: 3 }])).toEqual({
        kind: 'mined',
        counts: [{ kind: 'recorded', ...window, callsUsed: 3 }],
      })
      expect(await fixture.ledger.readCallsUsed(window)).toBe(3)
    })

    test('A11: a batch counts each of its entries', async () => {
      const windows = [
        await fixture.newWindow(),
        await fixture.newWindow(),
        await fixture.newWindow(),
      ]
      const receipt = await mineEntries(windows.map((window, at) => ({ ...window, calls: at + 1 })))
      expect(receipt).toEqual({
        kind: 'mined',
        counts: windows.map((window, at) => ({ kind: 'recorded', ...window, callsUsed: at + 1 })),
      })
    })

    test('A11: a batch never reverts for one agent: what exceeds a quota is refused, the rest is counted', async () => {
      const [full, other] = [await fixture.newWindow(), await fixture.newWindow()]
      const receipt = await mineEntries([
        { ...full, calls: fixture.quota + 1 },
        { ...other, calls: 1 },
      ])
      expect(receipt).toEqual({
        kind: 'mined',
        counts: [
          { kind: 'refused', ...full, calls: fixture.quota + 1 },
          { kind: 'recorded', ...other, callsUsed: 1 },
        ],
      })
    })

    test('A18: a negative count gives calls back, and never takes the counter below 0', async () => {
      const window = await fixture.newWindow()
      await mineEntries([{ ...window, calls: 7 }])
      expect(await mineEntries([{ ...window, calls: -3 }])).toEqual({
        kind: 'mined',
        counts: [{ kind: 'recorded', ...window, callsUsed: 4 }],
      })
      expect(await mineEntries([{ ...window, calls: -9 }])).toEqual({
        kind: 'mined',
        counts: [{ kind: 'recorded', ...window, callsUsed: 0 }],
      })
    })

    test('A18: a batch counts some calls and gives others back', async () => {
      const [some, others] = [await fixture.newWindow(), await fixture.newWindow()]
      await mineEntries([{ ...some, calls: 8 }])
      const receipt = await mineEntries([
        { ...some, calls: -5 },
        { ...others, calls: 2 },
      ])
      expect(receipt).toEqual({
        kind: 'mined',
        counts: [
          { kind: 'recorded', ...some, callsUsed: 3 },
          { kind: 'recorded', ...others, callsUsed: 2 },
        ],
      })
    })

    test('A9: the time of the latest block never runs ahead of the window it opens', async () => {
      const { windowExpiresAtSeconds } = await fixture.newWindow()
      expect(await fixture.ledger.readBlockSeconds()).toBeLessThan(windowExpiresAtSeconds)
    })

    test('A10: no entry at all consumes the nonce and counts nothing', async () => {
      const nonce = await fixture.ledger.readNonce()
      expect(await mineEntries([])).toEqual({ kind: 'mined', counts: [] })
      expect(await fixture.ledger.readNonce()).toBe(nonce + 1)
    })

    test('A10: bytes sent again are refused by their nonce and count once', async () => {
      const window = await fixture.newWindow()
      const signed = await sign([{ ...window, calls: 1 }])
      await fixture.ledger.send(signed)
      await expect.poll(() => fixture.ledger.readCallsUsed(window)).toBe(1)
      expect(await fixture.ledger.send(signed)).toEqual({ kind: 'nonce-too-low' })
      expect(await fixture.ledger.readCallsUsed(window)).toBe(1)
    })

    test('A10: a nonce ahead of the account’s is refused and its receipt stays pending', async () => {
      const signed = await sign([{ ...(await fixture.newWindow()), calls: 1 }], 1)
      expect(await fixture.ledger.send(signed)).toEqual({ kind: 'nonce-too-high' })
      expect(await fixture.ledger.readReceipt(signed.hash)).toBeUndefined()
    })

    test('A10: a gas price no longer accepted is told', async () => {
      const signed = await sign([{ ...(await fixture.newWindow()), calls: 1 }])
      await fixture.raiseGasPrice()
      expect(await fixture.ledger.send(signed)).toEqual({
        kind: 'gas-price-too-low',
      })
    })

    test('A10: a key without gas money is told', async () => {
      const signed = await sign([{ ...(await fixture.newWindow()), calls: 1 }])
      await fixture.takeFunds()
      expect(await fixture.ledger.send(signed)).toEqual({
        kind: 'insufficient-funds',
      })
    })

    test('A10: a ledger that does not answer rejects every request', async () => {
      const window = await fixture.newWindow()
      const signed = await sign([{ ...window, calls: 1 }])
      const { ledger } = fixture
      await fixture.cutOff()
      const requests = [
        ledger.send(signed),
        ledger.readNonce(),
        ledger.quoteGasPriceWeibar(),
        ledger.readReceipt(signed.hash),
        ledger.readCallsUsed(window),
        ledger.readBlockSeconds(),
      ]
      const settled = await Promise.allSettled(requests)
      expect(settled.map(({ status }) => status)).toEqual(requests.map(() => 'rejected'))
    })
  })
}
