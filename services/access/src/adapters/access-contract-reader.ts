/** Reads of the access contract through the relay. Writes are in access-contract-writer.ts. */
import { type Clock, keptRead } from '@tallystick/service-kit'
import {
  type AccessContract,
  ChainUnavailable,
  ContractAbsent,
  type Offer,
} from '../domain/access-contract.ts'
import type { Hex } from '../domain/access-window.ts'
import type { RelayBudget } from '../domain/relay-budget.ts'
import { NoContract, readView, readWindow, toCount, withoutChecksum } from './contract-calls.ts'
import { quantity } from './ledger-facts.ts'
import { type Relay, RelayUnavailable } from './relay.ts'

type AccessContractReaderOptions = {
  readonly relay: Pick<Relay, 'read'>
  readonly clock: Clock
  /** Says how long shared reads are kept (A25); without one the relay has no limit. */
  readonly budget?: Pick<RelayBudget, 'isShort' | 'keptMs'> | undefined
  readonly chainId: number
  readonly address: Hex | undefined
}

/** Challenges of one second share a read of the offers; the price before a change is taken for ten minutes (A3). Milliseconds. */
const OFFERS_MS = 1_000

/** A pause acts at once; simultaneous requests share a read, milliseconds. */
const PAUSED_MS = 100

/** Purchases and renewals change what the reserve can arm, by one at a time; this process's own purchases read it again. */
const RESERVE_MS = 10_000

const NO_LIMIT = { isShort: () => false, keptMs: (usualMs: number) => usualMs }

export function createAccessContractReader(options: AccessContractReaderOptions): AccessContract {
  const { budget = NO_LIMIT, clock, relay } = options
  const ensureDeployed = createDeploymentVerifier(options)
  const offers = createOfferHistory(relay, (run) => read(run))

  /** Runs a read. A failure becomes a named error, and the next call checks chain and code again. */
  const read = async <Result>(run: (address: Hex) => Promise<Result>): Promise<Result> => {
    const { address } = options
    if (address === undefined) throw new ContractAbsent('no contract address is configured')
    try {
      return await run(address)
    } catch (error) {
      // Too many requests say nothing about chain and contract.
      if (!isRateLimit(error)) ensureDeployed.doubt()
      if (error instanceof NoContract) await ensureDeployed.check()
      throw new ChainUnavailable('the access contract could not be read', { cause: error })
    }
  }
  const hasRole = (functionName: 'isForwarder' | 'isRecorder', account: Hex) =>
    read((contract) => readView(relay, { contract, functionName, args: [account] }))
  const reserve = keptRead({
    clock,
    keptMs: RESERVE_MS,
    read: () =>
      read(async (contract) =>
        toCount(await readView(relay, { contract, functionName: 'renewalsReserveCanArm' })),
      ),
  })

  return {
    address: options.address,
    isOwn: (address) => address === options.address,
    ensureDeployed: ensureDeployed.check,
    readWindow: (agent, atSeconds) =>
      read((contract) => readWindow(relay, { contract, agent, atSeconds })),
    offers: keptRead({ clock, keptMs: () => budget.keptMs(OFFERS_MS), read: offers.read }),
    knownOffers: offers.known,
    areSalesPaused: keptRead({
      clock,
      keptMs: () => budget.keptMs(PAUSED_MS),
      read: () => read((contract) => readView(relay, { contract, functionName: 'salesPaused' })),
    }),
    isForwarder: (account) => hasRole('isForwarder', account),
    isRecorder: (account) => hasRole('isRecorder', account),
    findPayment: (paymentReference) =>
      read(async (contract) => {
        const args = [paymentReference] as const
        const [isUsed, agent] = await readView(relay, { contract, functionName: 'paymentOf', args })
        return { isUsed, agent: withoutChecksum(agent) }
      }),
    renewalsReserveCanArm: reserve,
    books: () => read((contract) => readView(relay, { contract, functionName: 'books' })),
    wrote: () => reserve.forget(),
  }
}

type Read = <Result>(run: (address: Hex) => Promise<Result>) => Promise<Result>

/**
 * An offer's terms never change: only new ones are read, and whether the current one is retired. A lagging read never shortens
 * the list.
 */
function createOfferHistory(relay: Pick<Relay, 'read'>, read: Read) {
  const known: Offer[] = []
  const readOn = (): Promise<readonly Offer[]> =>
    read(async (contract) => {
      const [currentId, current] = await readView(relay, { contract, functionName: 'currentOffer' })
      const missing = Array.from(
        { length: Math.max(0, currentId - known.length) },
        (_, index) => known.length + index,
      )
      const added = await Promise.all(
        missing.map(async (offerId): Promise<Offer> => {
          const args = [offerId] as const
          return toOffer(
            offerId,
            await readView(relay, { contract, functionName: 'offerAt', args }),
          )
        }),
      )
      for (const offer of [...added, toOffer(currentId, current)]) known[offer.offerId] = offer
      return known.slice()
    })
  return { read: readOn, known: (): readonly Offer[] => known.slice() }
}

const toOffer = (
  offerId: number,
  {
    startsAt,
    retiredAt,
    ...terms
  }: Omit<Offer, 'offerId' | 'startsAtSeconds' | 'retiredAtSeconds'> & {
    readonly startsAt: number
    readonly retiredAt: number
  },
): Offer => ({ offerId, ...terms, startsAtSeconds: startsAt, retiredAtSeconds: retiredAt })

const isRateLimit = (error: unknown): boolean =>
  error instanceof RelayUnavailable && error.isRateLimit

/** Checks once that the chain is the configured one and has code at the address, and again after a failure (A25: while the
 * budget is short, as seldom as other shared reads). */
function createDeploymentVerifier(options: AccessContractReaderOptions) {
  const { budget = NO_LIMIT, clock, relay, address, chainId } = options
  let isDoubted = false
  const verify = async (): Promise<void> => {
    if (address === undefined) throw new ContractAbsent('no contract address is configured')
    const [actualChainId, code] = await Promise.all([
      relay.read('eth_chainId', []).then((value) => Number(quantity(value))),
      relay.read('eth_getCode', [address, 'latest']),
    ]).catch((error: unknown) => {
      throw new ChainUnavailable('the ledger did not answer', { cause: error })
    })
    if (actualChainId !== chainId)
      throw new ChainUnavailable(`the ledger is chain ${actualChainId}, not ${chainId}`, {
        isAnotherChain: true,
      })
    if (typeof code !== 'string' || code === '0x')
      throw new ContractAbsent('there is no code at the contract address')
    isDoubted = false
  }
  const check = keptRead({
    clock,
    keptMs: () => (isDoubted ? budget.keptMs(0) : Number.POSITIVE_INFINITY),
    read: verify,
  })
  return {
    check: (): Promise<void> => check(),
    /** A read failed: the next check is a new one. */
    doubt(): void {
      if (budget.isShort()) isDoubted = true
      else check.forget()
    },
  }
}
