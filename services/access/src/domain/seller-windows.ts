/** What the seller earned and spent in each of the last windows, for a plot: read on from where the last read ended. */
import { atMost, type Clock, DAY_SECONDS, keptRead } from '@tallystick/service-kit'
import { LedgerUnavailable } from '@tallystick/x402'
import { type AccessContract, ChainUnavailable, ContractAbsent } from './access-contract.ts'
import { type Hex, ledgerSeconds } from './access-window.ts'
import { PAGE_WAIT_MS_MAX } from './agent-history.ts'
import { createListReader, type SellerHistory } from './seller-account.ts'

/** Money of one stretch of time as long as a window, tinybar. */
export type SellerWindow = {
  readonly startsAtSeconds: number
  /** Periods that began: purchases and renewals. */
  readonly earnedTinybar: bigint
  /** Gas that the contract paid for renewals. */
  readonly renewalsTinybar: bigint
  /** Gas of forwards and records. */
  readonly gasTinybar: bigint
}

export type SellerWindows = {
  readonly periodSeconds: number
  /** Oldest first; the last one is not over. */
  readonly windows: readonly SellerWindow[]
  readonly readAtSeconds: number
  /** Whether everything was read: of a busy seller that takes several reads. */
  readonly isComplete: boolean
  /** Whether the newest read failed, or takes too long, so that this is an older one. */
  readonly isOld: boolean
}

/** As many columns as a phone shows. */
const WINDOWS_MAX = 24
/** Four requests for events, each of at most seven days. */
const SPAN_SECONDS_MAX = 28 * DAY_SECONDS
/** How old what a page shows may be, milliseconds: all who look share one read. */
const KEPT_MS = 15_000

type Sums = { -readonly [Name in keyof Omit<SellerWindow, 'startsAtSeconds'>]: SellerWindow[Name] }

/** Sums by window of one length, from a second on. */
function createColumns(history: SellerHistory, periodSeconds: number, fromSeconds: number) {
  const sums = new Map<number, Sums>()
  const readOn = createListReader(async () => `${fromSeconds}.000000000`)
  const sumsAt = (consensusTimestamp: string): Sums => {
    const startsAtSeconds = Math.floor(Number(consensusTimestamp) / periodSeconds) * periodSeconds
    const found = sums.get(startsAtSeconds) ?? {
      earnedTinybar: 0n,
      renewalsTinybar: 0n,
      gasTinybar: 0n,
    }
    sums.set(startsAtSeconds, found)
    return found
  }
  return {
    periodSeconds,
    /** False if more is left. */
    readMoney: (priceTinybar: (offerId: number) => bigint) =>
      readOn(
        'money',
        (after) => history.windowMoneyAfter(after),
        ({ consensusTimestamp, openedOffers, renewalGasTinybar, renewedTinybar }) => {
          const column = sumsAt(consensusTimestamp)
          column.earnedTinybar += renewedTinybar
          for (const offerId of openedOffers) column.earnedTinybar += priceTinybar(offerId)
          column.renewalsTinybar += renewalGasTinybar
        },
      ),
    readGas: (account: 'payTo' | Hex) =>
      readOn(
        account,
        (after) => history.gasPaidAfter(account, after),
        ({ consensusTimestamp, tinybar }) => {
          sumsAt(consensusTimestamp).gasTinybar += tinybar
        },
      ),
    /** From a second on; older ones are forgotten. */
    list(firstSeconds: number, lastSeconds: number): readonly SellerWindow[] {
      for (const startsAtSeconds of sums.keys())
        if (startsAtSeconds < firstSeconds) sums.delete(startsAtSeconds)
      const count = (lastSeconds - firstSeconds) / periodSeconds + 1
      return Array.from({ length: count }, (_, at) => {
        const startsAtSeconds = firstSeconds + at * periodSeconds
        return { startsAtSeconds, ...sumsAt(`${startsAtSeconds}`) }
      })
    },
  }
}

export function createSellerWindows(deps: {
  readonly contract: Pick<AccessContract, 'offers'>
  readonly history: SellerHistory
  readonly clock: Clock
  /** Every account that ever counted calls; undefined while that is read. */
  readonly recorders: () => readonly Hex[] | undefined
}) {
  const { clock, contract, history } = deps
  let columns: ReturnType<typeof createColumns> | undefined
  let last: SellerWindows | undefined

  const readNow = async (): Promise<SellerWindows> => {
    const offers = await contract.offers()
    const periodSeconds = offers.at(-1)?.periodSeconds ?? 1
    const readAtSeconds = ledgerSeconds(clock)
    const lastSeconds = Math.floor(readAtSeconds / periodSeconds) * periodSeconds
    const before = Math.min(WINDOWS_MAX - 1, Math.floor(SPAN_SECONDS_MAX / periodSeconds))
    const firstSeconds = lastSeconds - before * periodSeconds
    if (columns?.periodSeconds !== periodSeconds)
      columns = createColumns(history, periodSeconds, firstSeconds)
    const read = columns
    const recorders = deps.recorders()
    const areRead = await Promise.all([
      read.readMoney((offerId) => offers[offerId]?.priceTinybar ?? 0n),
      ...(['payTo', ...(recorders ?? [])] as const).map(read.readGas),
    ])
    last = {
      periodSeconds,
      windows: read.list(firstSeconds, lastSeconds),
      readAtSeconds,
      isComplete: recorders !== undefined && areRead.every(Boolean),
      isOld: false,
    }
    return last
  }
  const read = keptRead({ clock, keptMs: KEPT_MS, read: readNow })

  /** Undefined where nothing was read yet. */
  return async (): Promise<SellerWindows | undefined> => {
    const found = await atMost(clock, PAGE_WAIT_MS_MAX, read()).catch((error: unknown) => {
      const isSilence = [LedgerUnavailable, ChainUnavailable, ContractAbsent].some(
        (kind) => error instanceof kind,
      )
      if (!isSilence) throw error
      return undefined
    })
    return found ?? (last && { ...last, isOld: true })
  }
}
