import { accessWindowAbi, accessWindowBytecode } from '@tallystick/contracts'
import { type Address, encodeDeployData, type Hex } from 'viem'
import { type OperatorLedger, openOperatorLedger } from './operator-ledger.ts'

/** Creation of the contract: the code deposit is 200 gas a byte, at most 24,576 bytes. */
const DEPLOY_GAS = 7_000_000n

/** Terms of a purchase: price of one period in tinybar, its seconds, its metered calls. */
export type OfferTerms = {
  readonly priceTinybar: bigint
  readonly periodSeconds: number
  readonly callsAllowed: number
}

export type DeployOptions = {
  /** JSON-RPC endpoint of the ledger. */
  readonly rpcUrl: string
  readonly chainId: number
  /** ECDSA key in hex of who owns the contract and pays for all of this. */
  readonly ownerKey: Hex
  /** Account that forwards payments: the EVM address of payTo. */
  readonly forwarder: Address
  /** Accounts that count calls, one per service process. */
  readonly recorders: readonly Address[]
  readonly offer: OfferTerms
  /** Gas reserve to start with, tinybar; 0 funds nothing. */
  readonly reserveTinybar: bigint
}

export type Deployment = {
  readonly contract: Address
  /** Block of the creation: the first one worth searching for its events. */
  readonly blockNumber: bigint
  readonly gasUsed: bigint
  /** What that gas cost, tinybar, without the reserve. */
  readonly costTinybar: bigint
  readonly offer: OfferTerms
}

/** What a contract starts with, apart from where and by whom. */
export type Setup = Omit<DeployOptions, 'rpcUrl' | 'chainId' | 'ownerKey'>

/** Deploys through an open ledger; see `deployAccessWindow`. */
export async function deployThrough(ledger: OperatorLedger, options: Setup): Promise<Deployment> {
  const { forwarder, recorders, offer } = options
  const receipt = await ledger.send({
    data: encodeDeployData({
      abi: accessWindowAbi,
      bytecode: accessWindowBytecode,
      args: [{ owner: ledger.address, forwarder, recorders, ...offer }],
    }),
    valueTinybar: options.reserveTinybar,
    gas: DEPLOY_GAS,
  })
  const { contract, blockNumber, gasUsed, costTinybar } = receipt
  if (contract === undefined) throw new Error(`the receipt of ${receipt.hash} names no contract`)
  return { contract, blockNumber, gasUsed, costTinybar, offer }
}

/**
 * Deploys the access contract with its offer, forwarder, recorders and gas reserve, in one transaction of the owner.
 * Throws LedgerUnavailable or TransactionReverted.
 */
export async function deployAccessWindow(options: DeployOptions): Promise<Deployment> {
  const ledger = await openOperatorLedger({
    rpcUrl: options.rpcUrl,
    chainId: options.chainId,
    key: options.ownerKey,
  })
  return await deployThrough(ledger, options)
}
