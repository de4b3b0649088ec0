import type { Hex } from 'viem'

// Contracts of a few instructions, assembled by hand so that this package needs no compiler. Each is creation code: the
// first nine bytes return the rest.

/**
 * Passes its calldata on to the schedule service at 0x16b, and returns or reverts with the result; without calldata it
 * only accepts the value. When the network makes a call that it scheduled to itself, the calldata is the next
 * `scheduleCall`, so a chain of renewals is calldata within calldata.
 */
export const SCHEDULING_CONTRACT = deploys(
  '3615602157365f5f375f5f365f5f61016b5af13d5f5f3e601d573d5ffd5b3d5ff35b00',
)

/** Writes its calldata to a log with the single topic 0x2a. */
export const LOGGING_CONTRACT = deploys('365f5f37602a365fa100')

/** The same log twice. */
export const TWICE_LOGGING_CONTRACT = deploys('365f5f37602a365fa1602a365fa100')

/** Creates a contract whose code is one STOP, and does nothing else. */
export const CREATING_CONTRACT = deploys('6360015ff35f526004601c5ff000')

/** Reverts with its calldata. */
export const REVERTING_CONTRACT = deploys('365f5f37365ffd')

/** Forwards the value to the address in its calldata. */
export const FORWARDING_CONTRACT = deploys('5f5f5f5f345f355af100')

/** Runs the token service's code as its own by DELEGATECALL, and takes whatever that then asks of it. */
export const DELEGATING_CONTRACT = deploys(
  '333014602157365f5f375f5f365f6101675af43d5f5f3e601d573d5ffd5b3d5ff35b00',
)

function deploys(runtime: string): Hex {
  const length = (runtime.length / 2).toString(16).padStart(2, '0')
  return `0x60${length}8060093d393df3${runtime}`
}
