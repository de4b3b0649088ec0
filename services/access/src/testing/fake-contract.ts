import {
  type AccessContract,
  ChainUnavailable,
  ContractAbsent,
  type Offer,
} from '../domain/access-contract.ts'
import {
  type AccessWindow,
  type Hex,
  projectWindow,
  ZERO_ADDRESS,
} from '../domain/access-window.ts'

export const CONTRACT: Hex = '0x00000000000000000000000000000000000c0de0'
export const PRICE_TINYBAR = 300_000_000n

/** The access contract's reads over maps that tests fill, with the failures that are rare on a real ledger. */
export type FakeContract = AccessContract & {
  readonly windows: Map<Hex, AccessWindow>
  readonly payments: Map<Hex, Hex>
  readonly offerList: Offer[]
  /** Names of the reads made, in order. */
  readonly reads: string[]
  isAbsent: boolean
  isDown: boolean
  isPaused: boolean
  /** Roles that its accounts lack. */
  readonly lacks: Set<'forwarder' | 'recorder'>
  /** Accounts whose role as a recorder was taken away. */
  readonly formerRecorders: Set<Hex>
  isReserveDown: boolean
  reserveCanArm: number
}

/** A window that is open until `expiresAtSeconds`, three periods of 20 s funded after it. */
export function openWindow(
  expiresAtSeconds: number,
  change: Partial<AccessWindow> = {},
): AccessWindow {
  return {
    exists: true,
    isOpen: true,
    isCancelled: false,
    isGuarded: false,
    expiresAtSeconds,
    periodSeconds: 20,
    priceTinybar: PRICE_TINYBAR,
    balanceTinybar: 3n * PRICE_TINYBAR,
    periodsFunded: 3,
    callsUsed: 1,
    callsAllowed: 20,
    schedule: '0x00000000000000000000000000000000009f9174',
    scheduledAtSeconds: expiresAtSeconds,
    slotId: (20n << 40n) | BigInt(expiresAtSeconds % 20),
    ...change,
  }
}

export const firstOffer: Offer = {
  offerId: 0,
  priceTinybar: PRICE_TINYBAR,
  periodSeconds: 20,
  callsAllowed: 20,
  startsAtSeconds: 0,
  retiredAtSeconds: 0,
  slotSeconds: 1,
}

const NO_BOOKS = { earnedTinybar: 0n, reserveTinybar: 0n, lockedTinybar: 0n, shortfallTinybar: 0n }

export function createFakeContract(): FakeContract {
  const fake: FakeContract = {
    address: CONTRACT,
    windows: new Map(),
    payments: new Map(),
    offerList: [firstOffer],
    reads: [],
    isAbsent: false,
    isDown: false,
    isPaused: false,
    lacks: new Set(),
    formerRecorders: new Set(),
    isReserveDown: false,
    reserveCanArm: 7,
    wrote: () => undefined,
    isOwn: (address) => address === CONTRACT,
    async ensureDeployed() {
      if (fake.isAbsent) throw new ContractAbsent('no code')
      if (fake.isDown) throw new ChainUnavailable('down')
    },
    async readWindow(agent, atSeconds) {
      await read('readWindow')
      const window = fake.windows.get(agent)
      if (window !== undefined) return projectWindow(window, atSeconds)
      const offer = fake.offerList.at(-1)
      return openWindow(0, {
        exists: false,
        isOpen: false,
        balanceTinybar: 0n,
        periodsFunded: 0,
        callsUsed: 0,
        priceTinybar: offer?.priceTinybar ?? 0n,
        schedule: ZERO_ADDRESS,
        scheduledAtSeconds: 0,
        slotId: 0n,
      })
    },
    async offers() {
      await read('offers')
      return fake.offerList.slice()
    },
    knownOffers: () => fake.offerList.slice(),
    async areSalesPaused() {
      await read('salesPaused')
      return fake.isPaused
    },
    isForwarder: () => has('forwarder'),
    isRecorder: async (account) => !fake.formerRecorders.has(account) && (await has('recorder')),
    async findPayment(paymentReference) {
      await read('findPayment')
      const agent = fake.payments.get(paymentReference)
      return { isUsed: agent !== undefined, agent: agent ?? ZERO_ADDRESS }
    },
    async renewalsReserveCanArm() {
      await read('renewalsReserveCanArm')
      if (fake.isReserveDown) throw new ChainUnavailable('down')
      return fake.reserveCanArm
    },
    books: () => read('books').then(() => NO_BOOKS),
  }
  const has = async (role: 'forwarder' | 'recorder'): Promise<boolean> => {
    await read(role)
    return !fake.lacks.has(role)
  }
  const read = async (name: string): Promise<void> => {
    fake.reads.push(name)
    await fake.ensureDeployed()
  }
  return fake
}
