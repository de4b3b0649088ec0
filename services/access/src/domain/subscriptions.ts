/**
 * The one place where windows are read, and where callers ask for room to read. Simultaneous reads of an agent are one. A read that shows an open window serves for
 * two seconds, projected to now, and so does any read for polls; before an agent is asked to pay, its window is read again.
 * A window that this process opened counts from its receipt on, and one that a read showed from that read on, although reads
 * may lag by seconds, each by others (A5).
 */
import { BoundedMap, type Clock } from '@tallystick/service-kit'
import { type AccessContract, ChainUnavailable } from './access-contract.ts'
import {
  type AccessWindow,
  type Hex,
  ledgerSeconds,
  projectWindow,
  type ReadWindow,
} from './access-window.ts'
import type { RelayBudget, RelayPlace } from './relay-budget.ts'

/** Age from which a read is no longer used, milliseconds: a block of the ledger, and less than reads lag anyway. */
const SERVES_MS = 2_000

/** A read that began this recently counts as current, milliseconds: callers wait for it. */
const MOMENT_MS = 100

/** Reads lag behind receipts by 3–10 s on the public network; a minute outlasts that. */
const HOLD_MS = 60_000

/** Windows remembered after their opening: one purchase a second makes 60 in a minute; beyond this the oldest is dropped. */
const OPENED_MAX = 1_000

/** Subscribers whose last read is kept, about 5 MB; a dropped one is read again at its next call. */
const SUBSCRIBERS_MAX = 10_000

/** The same for addresses that never had a subscription, so that strangers displace no subscriber. */
const STRANGERS_MAX = 1_000

/** A read returned this window; reads are numbered. */
type WindowRead = { readonly window: ReadWindow; readonly serial: number }

const toSeconds = (unixMs: number): number => Math.floor(unixMs / 1000)

type OpenedWindow = { readonly window: AccessWindow; readonly untilMs: number }

/** A call for which the agent's window may have to be read. */
type ReadingCall = {
  readonly agent: Hex
  /** The client address, or what stands for its network. */
  readonly address: string
  /** Who signed the payment that it brings; undefined if it brings none that holds and may buy for the agent. */
  readonly findPayer: () => Promise<string | undefined>
}

type Room = RelayPlace | { readonly retryAfterSeconds: number }

/** Nothing to leave: open windows are read whatever the budget has. */
const NO_PLACE: RelayPlace = { leave: () => undefined }

const budgetUsedUp = () => new ChainUnavailable('the budget of the relay is used up')

export type Subscriptions = ReturnType<typeof createSubscriptions>

/** Each method throws ChainUnavailable or ContractAbsent unless it says otherwise. */
export function createSubscriptions({
  contract,
  clock,
  budget,
}: {
  readonly contract: Pick<AccessContract, 'readWindow'>
  readonly clock: Clock
  readonly budget: RelayBudget
}) {
  const opened = new BoundedMap<Hex, OpenedWindow>(OPENED_MAX)
  const reads = createWindowReads({ contract, clock })

  /** The window at a second, from that read and what this process has opened since. */
  const standsAt = (agent: Hex, read: WindowRead, atSeconds: number): ReadWindow => {
    const own = opened.get(agent)
    if (own !== undefined && own.untilMs >= clock.unixMs() && !isShownBy(read.window, own.window)) {
      // An opening's receipt says nothing about the guard, which may have been set before.
      const { isGuarded, readAtMs } = read.window
      return { ...projectWindow(own.window, atSeconds), isGuarded, readAtMs }
    }
    if (own !== undefined) opened.delete(agent)
    return projectWindow(read.window, atSeconds)
  }

  const stands = (agent: Hex, read: WindowRead): ReadWindow =>
    standsAt(agent, read, ledgerSeconds(clock))

  /** Finds what was read at most this long ago. Sends no request. */
  const known = (agent: Hex, ageMs = Number.POSITIVE_INFINITY): ReadWindow | undefined => {
    const read = reads.lastRead(agent)
    return read !== undefined && reads.isRecent(read, ageMs) ? stands(agent, read) : undefined
  }

  /**
   * Whether a window that was read as open has ended since. A period is charged, and no longer shown as funded, as soon as
   * the network's call for its second runs. A read for the second before may see that already, so it says nothing about
   * the time after it.
   */
  const hasEnded = (agent: Hex, last: WindowRead): boolean =>
    last.window.isOpen && !stands(agent, last).isOpen

  /** Reads the agent's window now, and again if it ends meanwhile. */
  const read = async (agent: Hex): Promise<ReadWindow> => {
    const first = await reads.readNow(agent)
    return stands(agent, hasEnded(agent, first) ? await reads.readNow(agent) : first)
  }

  return {
    known,
    read,
    /** Asks for room to read the agent's window, before anything else asks the ledger (A25). */
    askForRoom: async (call: ReadingCall): Promise<Room> =>
      known(call.agent)?.isOpen === true ? NO_PLACE : await findRoom(budget, call),
    /** From the contract alone. */
    readChain: async (agent: Hex): Promise<AccessWindow> => (await reads.readNow(agent)).window,
    /** For a call: an open window from a read at most 2 s old, otherwise from one that begins now. */
    async readForCall(agent: Hex): Promise<ReadWindow> {
      const recent = known(agent, SERVES_MS)
      return recent?.isOpen === true ? recent : read(agent)
    },
    /** For a poll: as of at most 2 s ago, or, when the relay's budget is used up, as of the last read, whose second is
     * given. */
    async readForPoll(
      agent: Hex,
    ): Promise<{ readonly window: ReadWindow; readonly atSeconds: number }> {
      const last = reads.lastRead(agent)
      const isOld = last === undefined || !reads.isRecent(last, SERVES_MS) || hasEnded(agent, last)
      if (!isOld) return { window: stands(agent, last), atSeconds: ledgerSeconds(clock) }
      const place = budget.takeRoom('poll')
      if (place === undefined) {
        if (last === undefined) throw budgetUsedUp()
        const atSeconds = toSeconds(last.window.readAtMs)
        return { window: standsAt(agent, last, atSeconds), atSeconds }
      }
      const window = await read(agent).finally(place.leave)
      return { window, atSeconds: ledgerSeconds(clock) }
    },
    /** Treats the agent as open until a read shows what its receipt showed. */
    hold(agent: Hex, window: AccessWindow): void {
      opened.set(agent, { window, untilMs: clock.unixMs() + HOLD_MS })
    },
    /** Call it after changing the agent's window: the next read is a new one. Throws nothing. */
    forget: (agent: Hex): void => reads.forget(agent),
  }
}

/**
 * Finds room for a call whose window is not known to be open. A payment counts as one only where an unpaid call has no room, so
 * that a header alone makes nobody a payer, and within its payer's share.
 */
async function findRoom(budget: RelayBudget, { address, findPayer }: ReadingCall): Promise<Room> {
  const retryAfterSeconds = budget.secondsOverShare(address)
  const place = retryAfterSeconds === undefined ? budget.takeRoom('unpaid') : undefined
  if (place !== undefined) return place
  const payer = await findPayer()
  const isPaying = payer !== undefined && budget.goesFirst(payer)
  if (!isPaying && retryAfterSeconds !== undefined) return { retryAfterSeconds }
  const later = await budget.waitForRoom(isPaying ? 'payment' : 'unpaid')
  if (later === undefined) throw budgetUsedUp()
  return later
}

/** Asks the contract, one read at a time for each agent, and keeps the last answer. */
function createWindowReads({
  contract,
  clock,
}: {
  readonly contract: Pick<AccessContract, 'readWindow'>
  readonly clock: Clock
}) {
  const subscribers = new BoundedMap<Hex, WindowRead>(SUBSCRIBERS_MAX)
  const strangers = new BoundedMap<Hex, WindowRead>(STRANGERS_MAX)
  const underWay = new Map<
    Hex,
    { readonly askedAtMs: number; readonly read: Promise<WindowRead> }
  >()

  let reads = 0

  const lastRead = (agent: Hex): WindowRead | undefined =>
    subscribers.get(agent) ?? strangers.get(agent)

  /** If the clock was set back, a read's age is unknown. */
  const isRecent = ({ window }: WindowRead, ageMs: number): boolean => {
    const agoMs = clock.unixMs() - window.readAtMs
    return agoMs >= 0 && agoMs <= ageMs
  }

  /**
   * Whether an answer is of a time before that read, whose window is still open: replicas of the ledger lag differently. The
   * read keeps its age, so that calls ask again until an answer shows its window.
   */
  const isBefore = (answer: ReadWindow, read: WindowRead): boolean =>
    isRecent(read, HOLD_MS) &&
    projectWindow(read.window, ledgerSeconds(clock)).isOpen &&
    !isShownBy(answer, read.window)

  const ask = async (agent: Hex, askedAtMs: number): Promise<WindowRead> => {
    reads += 1
    const serial = reads
    const answer = await contract.readWindow(agent, toSeconds(askedAtMs))
    const window = { ...answer, readAtMs: askedAtMs }
    const read = { window, serial }
    const last = lastRead(agent)
    if (last !== undefined && isBefore(window, last)) return last
    // A late answer does not replace that of a later request.
    if ((last?.serial ?? 0) <= serial) {
      if (window.exists) strangers.delete(agent)
      ;(window.exists ? subscribers : strangers).set(agent, read)
    }
    return read
  }

  /** A read that begins now, or began at this moment and in this second. */
  const readNow = (agent: Hex): Promise<WindowRead> => {
    const nowMs = clock.unixMs()
    const other = underWay.get(agent)
    const isOfMoment = other !== undefined && Math.abs(nowMs - other.askedAtMs) <= MOMENT_MS
    if (isOfMoment && toSeconds(other.askedAtMs) === toSeconds(nowMs)) return other.read
    const read = ask(agent, nowMs).finally(() => {
      if (underWay.get(agent) === entry) underWay.delete(agent)
    })
    const entry = { askedAtMs: nowMs, read }
    underWay.set(agent, entry)
    return read
  }

  return {
    lastRead,
    isRecent,
    readNow,
    forget(agent: Hex): void {
      subscribers.delete(agent)
      strangers.delete(agent)
      underWay.delete(agent)
    },
  }
}

/** When the paid time ends, Unix seconds: passing periods do not change it. */
const paidUntilSeconds = (window: AccessWindow): number =>
  window.expiresAtSeconds + window.periodsFunded * window.periodSeconds

/**
 * Whether a read shows what a receipt, or an earlier read, showed of a window: it is paid for as long, or was cancelled
 * since, which takes the money out.
 */
export function isShownBy(read: AccessWindow, receipted: AccessWindow): boolean {
  if (read.isCancelled) return read.expiresAtSeconds >= receipted.expiresAtSeconds
  return paidUntilSeconds(read) >= paidUntilSeconds(receipted)
}
