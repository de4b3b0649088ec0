/**
 * Sums what the seller has earned and spent since the contract was made, read on from where the last read ended. Withdrawals
 * and fundings of the reserve are rare events; the gas of renewals is what the reserve lost between them.
 */
import type { Clock } from '@tallystick/service-kit'
import type { AccessContract } from './access-contract.ts'
import type { Hex } from './access-window.ts'

/** Money of the seller that moved on the contract, or a change to who may count calls. */
export type SellerMovement = { readonly consensusTimestamp: string } & (
  | {
      readonly kind: 'earnings-withdrawn' | 'reserve-withdrawn' | 'reserve-funded'
      readonly tinybar: bigint
    }
  | { readonly kind: 'recorder-set'; readonly recorder: Hex }
)

/** What one transaction brought in by windows that began in it, and what renewals cost there. */
export type WindowMoney = {
  readonly consensusTimestamp: string
  /** The offer of each window that was opened: its first period is charged at once. */
  readonly openedOffers: readonly number[]
  readonly renewedTinybar: bigint
  /** Gas that the contract was billed for. */
  readonly renewalGasTinybar: bigint
}

type GasPaid = { readonly consensusTimestamp: string; readonly tinybar: bigint }

/** The ledger's history of the seller, oldest first. Everything throws x402's LedgerUnavailable. */
export type SellerHistory = {
  /** Of the contract, `seconds.nanos`. */
  createdAt(): Promise<string>
  movementsAfter(consensusTimestamp: string): AsyncIterable<SellerMovement>
  windowMoneyAfter(consensusTimestamp: string): AsyncIterable<WindowMoney>
  /** Gas that an account paid for its own transactions; nothing for a recorder that is payTo. */
  gasPaidAfter(account: 'payTo' | Hex, consensusTimestamp: string): AsyncIterable<GasPaid>
}

/** Earnings and costs so far, tinybar. Gas that the contract took from earnings reduces both. */
export type SellerAccount = {
  readonly earnedTinybar: bigint
  readonly renewalsTinybar: bigint
  readonly forwardsTinybar: bigint
  /** Of all recorders together. */
  readonly recordsTinybar: bigint
  /** Every account that ever was one. */
  readonly recorders: readonly Hex[]
  /** Earned less the three. */
  readonly profitTinybar: bigint
  /** Whether the history was read to its end: a long one takes several reads. */
  readonly isComplete: boolean
}

/** Entries of each list in one read: twenty pages of a mirror node, a second or two. */
const ENTRIES_MAX = 2_000
/** How old a figure on a page may be, milliseconds. */
const KEPT_MS = 60_000

/** Reads on in each list from where it stopped; false if more is left. */
export function createListReader(createdAt: () => Promise<string>) {
  const readTo = new Map<string, string>()
  return async <Entry extends { readonly consensusTimestamp: string }>(
    list: string,
    entriesAfter: (timestamp: string) => AsyncIterable<Entry>,
    take: (entry: Entry) => void,
  ): Promise<boolean> => {
    let count = 0
    for await (const entry of entriesAfter(readTo.get(list) ?? (await createdAt()))) {
      take(entry)
      readTo.set(list, entry.consensusTimestamp)
      count += 1
      if (count === ENTRIES_MAX) return false
    }
    return true
  }
}

export function createSellerAccount(deps: {
  readonly contract: Pick<AccessContract, 'books'>
  readonly history: SellerHistory
  readonly clock: Clock
}) {
  const { clock, contract, history } = deps
  const moved = { 'earnings-withdrawn': 0n, 'reserve-withdrawn': 0n, 'reserve-funded': 0n }
  const recorders = new Set<Hex>()
  const gas = new Map<'payTo' | Hex, bigint>()
  const readOn = createListReader(() => history.createdAt())
  let lastRead: { readonly account: SellerAccount; readonly untilMs: number } | undefined
  let running: Promise<SellerAccount> | undefined

  const readGas = (account: 'payTo' | Hex) =>
    readOn(
      account,
      (after) => history.gasPaidAfter(account, after),
      ({ tinybar }) => {
        gas.set(account, (gas.get(account) ?? 0n) + tinybar)
      },
    )

  const readAccount = async (): Promise<SellerAccount> => {
    const areMovementsRead = await readOn(
      'movements',
      (after) => history.movementsAfter(after),
      (movement) => {
        if (movement.kind === 'recorder-set') recorders.add(movement.recorder)
        else moved[movement.kind] += movement.tinybar
      },
    )
    const isGasRead = await Promise.all(['payTo' as const, ...recorders].map(readGas))
    const books = await contract.books()
    const earnedTinybar = books.earnedTinybar + moved['earnings-withdrawn']
    const left = books.reserveTinybar + books.lockedTinybar - books.shortfallTinybar
    const renewalsTinybar = moved['reserve-funded'] - moved['reserve-withdrawn'] - left
    const forwardsTinybar = gas.get('payTo') ?? 0n
    const recordsTinybar = [...recorders].reduce(
      (sum, recorder) => sum + (gas.get(recorder) ?? 0n),
      0n,
    )
    const account = {
      earnedTinybar,
      renewalsTinybar,
      forwardsTinybar,
      recordsTinybar,
      recorders: [...recorders],
      profitTinybar: earnedTinybar - renewalsTinybar - forwardsTinybar - recordsTinybar,
      isComplete: areMovementsRead && isGasRead.every(Boolean),
    }
    lastRead = { account, untilMs: clock.unixMs() + KEPT_MS }
    return account
  }

  /** Reads on. Throws LedgerUnavailable, ChainUnavailable or ContractAbsent. */
  const read = (): Promise<SellerAccount> => {
    running ??= readAccount().finally(() => {
      running = undefined
    })
    return running
  }

  return {
    read,
    /** The last read, none before the first; refreshed in the background once it is over a minute old. */
    latest(): SellerAccount | undefined {
      if (lastRead === undefined || lastRead.untilMs <= clock.unixMs())
        read().catch(() => undefined)
      return lastRead?.account
    },
  }
}
