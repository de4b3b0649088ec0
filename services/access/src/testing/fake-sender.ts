import type { Clock } from '@tallystick/service-kit'
import {
  ChainUnavailable,
  type ContractSender,
  type PurchaseOrder,
  type RearmOutcome,
} from '../domain/access-contract.ts'
import { type AccessWindow, ledgerSeconds } from '../domain/access-window.ts'
import { type FakeContract, openWindow } from './fake-contract.ts'
import { PAY_TO_ADDRESS } from './fake-payments.ts'

export type FakeSender = ContractSender & {
  /** Orders that opened a window, in order. */
  readonly opened: PurchaseOrder[]
  /** Agents whose slot was armed again, as `reap 0x…` and `poke 0x…`. */
  readonly rearmed: string[]
  rearming: RearmOutcome
  isDown: boolean
  isFloatLow: boolean
  /** Whether reads show what is opened; those of a lagging ledger do not yet. */
  isVisible: boolean
  refusal: string | undefined
}

function toppedUp(window: AccessWindow, valueTinybar: bigint): AccessWindow {
  const balanceTinybar = window.balanceTinybar + valueTinybar
  return { ...window, balanceTinybar, periodsFunded: Number(balanceTinybar / window.priceTinybar) }
}

/** Opens windows on a fake contract, by the contract's own rules for references and top-ups. */
export function createFakeSender(contract: FakeContract, clock: Clock): FakeSender {
  const fake: FakeSender = {
    address: PAY_TO_ADDRESS,
    opened: [],
    rearmed: [],
    rearming: { kind: 'armed', transactionHash: `0x${'ee'.repeat(32)}` },
    isDown: false,
    isFloatLow: false,
    isVisible: true,
    refusal: undefined,
    async rehearse(order) {
      if (fake.isDown) throw new ChainUnavailable('down')
      if (fake.isFloatLow) return { kind: 'float-low' }
      if (fake.refusal !== undefined) return { kind: 'refused', reason: fake.refusal }
      return contract.payments.has(order.paymentReference)
        ? { kind: 'already-used' }
        : { kind: 'ready', gas: 1_000_000n }
    },
    async openPaid(order) {
      if (fake.isDown) throw new ChainUnavailable('down')
      if (fake.refusal !== undefined) return { kind: 'refused', reason: fake.refusal }
      const usedFor = contract.payments.get(order.paymentReference)
      if (usedFor !== undefined) return { kind: 'already-used', agent: usedFor }
      contract.payments.set(order.paymentReference, order.agent)
      fake.opened.push(order)
      const nowSeconds = ledgerSeconds(clock)
      const before = await contract.readWindow(order.agent, nowSeconds)
      const window = before.isOpen
        ? toppedUp(before, order.valueTinybar)
        : openWindow(nowSeconds + 20, { callsUsed: order.calls })
      if (fake.isVisible) contract.windows.set(order.agent, window)
      const transactionHash = `0x${String(fake.opened.length).padStart(64, '0')}` as const
      return { kind: 'opened', transactionHash, isTopUp: before.isOpen, window }
    },
    async rearm(agent, how) {
      fake.rearmed.push(`${how} ${agent}`)
      return fake.rearming
    },
    floatTinybar: async () => 10_000_000_000n,
    forwardGasTinybar: async () => 218_000_000n,
    warm: async () => undefined,
    close: async () => undefined,
  }
  return fake
}
