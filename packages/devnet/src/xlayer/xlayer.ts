// The shape of a running X Layer stand-in, as tests and start scripts hold it.

import type { Clock } from '@tallystick/service-kit'
import type { Address, Hex } from 'viem'

/** What `startXLayer` takes. */
export type XLayerOptions = {
  /** Port of the JSON-RPC; 0, the default, takes a free one. */
  port?: number
  /** Address to listen on; loopback by default. */
  host?: string
  /** Time of the chain at its start; the machine's by default. Blocks go on by wall time from there. */
  clock?: Clock
}

/** An account with its key: the same keys as the agents and roles of the Hedera stand-in. */
export type XLayerAccount = {
  name: string
  /** Lower case. */
  address: Address
  privateKey: Hex
}

/** The token that payments are made in. */
export type XLayerStablecoin = {
  /** An address of its own: what is signed for it is worthless on the real chain. */
  address: Address
  /** EIP-712 domain name, as on the real chain. */
  name: 'USD₮0'
  version: '1'
  decimals: 6
}

/** Everything that a test may do to the chain. */
export type XLayerControls = {
  /** Moves the time of the chain, and of `clock`, forward and closes a block. */
  advanceSeconds(seconds: number): Promise<void>
  /** Makes new tokens, base units (1e-6 dollar). */
  mint(to: Address, value: bigint): Promise<void>
  /** Holds transactions back, out of blocks, or lets the held ones go. */
  holdBlocks(isHeld: boolean): Promise<void>
  /** Whether a used nonce only emits an event, as the tokens of Paxos do, and does not revert. */
  setToleratesReplay(isTolerated: boolean): Promise<void>
  /** Sets an account's native balance, wei, which pays for gas. */
  setGasBalance(address: Address, wei: bigint): Promise<void>
  /** Puts code at an address, e.g. a wallet that is a contract. */
  setCode(address: Address, code: Hex): Promise<void>
  /** Token balance, base units. */
  balanceOf(address: Address): Promise<bigint>
}

/** A running X Layer stand-in. */
export type XLayer = {
  /** JSON-RPC, e.g. `http://127.0.0.1:8546`. */
  rpcUrl: string
  chainId: 196
  stablecoin: XLayerStablecoin
  /** The roles `owner`, `facilitator` and `operator`, and ten agents. */
  accounts: XLayerAccount[]
  controls: XLayerControls
  /** The chain's time with its travel, for services in the same process. */
  clock: Clock
  /** Ends anvil. May be called again. */
  stop(): Promise<void>
}
