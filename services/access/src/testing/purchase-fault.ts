/**
 * What a fault of these tests is, and how to make one. A fault is armed after the agent has signed and before its payment
 * is sent; the caller heals the stack afterwards.
 */
import { accessWindowAbi } from '@tallystick/contracts'
import { toFunctionSelector } from 'viem'
import { getAbiItem } from 'viem/utils'
import type { EdgeAnswer, EdgeFate, EdgeRequest, Intercept } from './faulty-edge.ts'
import type { Replica, ReplicaStack } from './replica-stack.ts'

export type FaultScene = {
  readonly stack: ReplicaStack
  /** The replica that gets the payment. */
  readonly replica: Replica
}

export type PurchaseFault = {
  readonly name: string
  readonly arm: (scene: FaultScene) => void | Promise<void>
  /**
   * Whether an agent that forgets its payment may be charged for another although the first one landed: the ledger does not
   * show that one to any process left, as the service's README says. Both then count.
   */
  readonly isHidden?: true
}

export type Condition = (request: EdgeRequest) => boolean
export type How = (request: EdgeRequest, forward: () => Promise<EdgeAnswer>) => Promise<EdgeFate>

const OPEN_PAID = toFunctionSelector(getAbiItem({ abi: accessWindowAbi, name: 'openPaid' })).slice(
  2,
)

export const isSettle: Condition = ({ path }) => path === '/settle'
export const isForward: Condition = ({ body }) =>
  body.includes('eth_sendRawTransaction') && body.includes(OPEN_PAID)

export const json = (body: unknown, status = 200): EdgeAnswer => ({
  status,
  body: JSON.stringify(body),
})
export const page = async (): Promise<EdgeFate> => ({
  status: 200,
  body: '<!doctype html><title>hello',
})

/** Twists the requests that `condition` picks. */
export const where =
  (condition: Condition, how: How): Intercept =>
  (request, forward) =>
    condition(request) ? how(request, forward) : forward()

export const later = (stack: ReplicaStack, ms: number): Promise<void> =>
  new Promise((resolve) => {
    stack.devnet.clock.after(ms, resolve)
  })

/** What the ledger's JSON-RPC does once the money has moved. */
export const afterSettlement = (
  name: string,
  strike: (scene: FaultScene) => void | Promise<void>,
) => ({
  name,
  arm(scene: FaultScene): void {
    const { facilitator } = scene.replica.edges
    const settleAndStrike = where(isSettle, async (_request, forward) => {
      const answer = await forward()
      // A settlement that ends after the stack was healed must break nothing: nobody would mend it.
      if (facilitator.current() === settleAndStrike) await strike(scene)
      return answer
    })
    facilitator.intercept(settleAndStrike)
  },
})

export const once = (condition: Condition, how: How): Intercept => {
  let isOver = false
  return (request, forward) => {
    if (isOver || !condition(request)) return forward()
    isOver = true
    return how(request, forward)
  }
}
