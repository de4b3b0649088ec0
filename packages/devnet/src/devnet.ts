// The shape of a running devnet, as tests and start scripts hold it.

import type { Clock } from '@tallystick/service-kit'
import type { Address, Hex } from 'viem'
import type { AccountKey } from './ledger/account-key.ts'
import type { ScheduleServiceSettings } from './ledger/schedule-service.ts'
import type { ScheduledExecution } from './ledger/scheduler.ts'

/** What `startDevnet` takes. */
export type DevnetOptions = {
  /** Port of the JSON-RPC edge; 0, the default, takes a free one. */
  rpcPort?: number
  /** Port of the mirror node's REST interface; 0, the default, takes a free one. */
  mirrorPort?: number
  /** Port of the consensus gRPC edge; 0, the default, takes a free one. */
  consensusPort?: number
  /** Address to listen on; loopback by default. */
  host?: string
  /** Time of the ledger; the machine's by default. Travel is added to it. */
  clock?: Clock
  /** Time by which the validity of transfers is judged; the machine's by default, since SDKs stamp wall time. */
  wallClock?: Pick<Clock, 'unixMs'>
}

/** A funded account with its key. */
export type DevnetAccount = {
  name: string
  /** `0.0.x`. */
  accountId: string
  /** Lower case; the alias of ECDSA accounts, the long-zero address of ED25519 ones. */
  evmAddress: Address
  /** Raw ECDSA key or ED25519 seed, 32 bytes of hex. */
  privateKey: Hex
  keyType: 'ECDSA_SECP256K1' | 'ED25519'
}

/** What `createAccount` takes. */
export type NewAccount = {
  name: string
  balanceTinybar: bigint
  /** ECDSA by default. */
  keyType?: DevnetAccount['keyType']
  /** Derived from the name by default, so that the same script makes the same accounts. */
  privateKey?: Hex
}

/** Everything that a test may do to the network. Also `devnet_*` over JSON-RPC. */
export type DevnetControls = {
  /** Moves ledger time forward, running everything scheduled on the way, in order. Resolves when it has run. */
  advanceSeconds(seconds: number): Promise<void>
  /** JSON-RPC reads, receipts included, lag by so many milliseconds. */
  setReadLagMs(ms: number): void
  /** The mirror node lags by so many milliseconds. */
  setMirrorLagMs(ms: number): void
  /** `eth_getTransactionCount` lags by so many milliseconds. */
  setNonceLagMs(ms: number): void
  /** The next EVM transactions are answered with their hash, and lost. */
  dropNextTransactions(count: number): void
  /** The next native transfers pass the node's checks, and are lost. */
  dropNextTransfers(count: number): void
  /** Sets the schedule service; what is left out goes back to normal. */
  scheduleService(settings: ScheduleServiceSettings): Promise<void>
  /** Price of gas, tinybar; quoted and charged from the next call on. */
  setGasPriceTinybar(price: bigint): void
  /** `hbar` HBAR are worth `cents` US cents, in the contract, the mirror node and the fees. */
  setExchangeRate(rate: { hbar: number; cents: number }): Promise<void>
  /** Cuts edges off, or with false brings them back; those not named stay as they are. */
  setUnavailable(edges: { rpc?: boolean; mirror?: boolean; consensus?: boolean }): void
  /** Holds native transfers between the node's checks and consensus, or lets the held ones go. */
  holdConsensus(isHeld: boolean): void
  /** How many native transfers are held at present. */
  heldTransfers(): number
  /** The next native transfer ends with this response code, at the node (default) or at consensus. */
  refuseNext(status: string, at?: 'precheck' | 'consensus'): void
  /** Replaces an account's key, e.g. by a list with a threshold. */
  setAccountKey(accountId: string, key: AccountKey): void
  /** Sets an account's or contract's balance by id or EVM address, tinybar. */
  setBalanceTinybar(account: string, balanceTinybar: bigint): Promise<void>
}

/** A running local Hedera. */
export type Devnet = {
  /** JSON-RPC, e.g. `http://127.0.0.1:7546`. */
  rpcUrl: string
  /** Mirror REST without `/api/v1`, e.g. `http://127.0.0.1:5551`. */
  mirrorUrl: string
  /** For `Client.forNetwork({[address]: nodeAccountId})`. */
  consensus: { address: string; nodeAccountId: string }
  chainId: 296
  accounts: DevnetAccount[]
  createAccount(account: NewAccount): Promise<DevnetAccount>
  controls: DevnetControls
  /** Ledger time with its travel, for services that live in the same process. */
  clock: Clock
  /** Current consensus second, Unix seconds. */
  nowSeconds(): number
  /** Every execution of a schedule so far, oldest first. */
  executions(): readonly ScheduledExecution[]
  /** Closes the edges and ends anvil. May be called again. */
  stop(): Promise<void>
}
