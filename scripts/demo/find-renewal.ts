import { accessWindowAbi } from '@tallystick/contracts'
import { type Address, createPublicClient, type Hash, http } from 'viem'
import { hederaTestnet } from 'viem/chains'
import { z } from 'zod'

const ContractResult = z.object({ timestamp: z.string().regex(/^\d+\.\d{9}$/) })

/** JSON-RPC counts in weibar, the contract in tinybar. */
const WEIBAR_PER_TINYBAR = 10_000_000_000n

/** A renewal of all of a slot's windows, as the ledger recorded it. */
type Renewal = {
  readonly transactionHash: Hash
  /** Sender of the transaction: the contract itself if the network made the call. */
  readonly sender: Address
  readonly gasUsed: bigint
  readonly costTinybar: bigint
  /** What the renewed windows were charged, together. */
  readonly chargedTinybar: bigint
  /** The call's consensus time minus the second at which the window closed, seconds. */
  readonly latenessSeconds: number
  readonly expiresAtSeconds: number
}

type RenewalSearch = {
  readonly rpcUrl: string
  readonly mirrorUrl: string
  readonly contract: Address
  /** The slot that is renewed, as in the contract's `windowOf`. */
  readonly slotId: bigint
  /** End of the window due for renewal, Unix seconds. */
  readonly closedAtSeconds: number
  readonly fromBlock: bigint
}

/** The network's renewal of that slot's windows; undefined while there is none. */
export async function findRenewal(search: RenewalSearch): Promise<Renewal | undefined> {
  const client = createPublicClient({ chain: hederaTestnet, transport: http(search.rpcUrl) })
  const logs = await client.getContractEvents({
    address: search.contract,
    abi: accessWindowAbi,
    eventName: 'SlotRenewed',
    args: { slotId: search.slotId },
    fromBlock: search.fromBlock,
    strict: true,
  })
  const log = logs.find(
    ({ args }) => args.byNetwork && Number(args.windowsEndAt) > search.closedAtSeconds,
  )
  if (log === undefined) return undefined
  const receipt = await client.getTransactionReceipt({ hash: log.transactionHash })
  const answer = await fetch(`${search.mirrorUrl}/api/v1/contracts/results/${log.transactionHash}`)
  if (!answer.ok) return undefined
  const consensusSeconds = Number(ContractResult.parse(await answer.json()).timestamp)
  return {
    transactionHash: log.transactionHash,
    sender: receipt.from,
    gasUsed: receipt.gasUsed,
    costTinybar: (receipt.gasUsed * receipt.effectiveGasPrice) / WEIBAR_PER_TINYBAR,
    chargedTinybar: log.args.chargedTinybar,
    latenessSeconds: consensusSeconds - search.closedAtSeconds,
    expiresAtSeconds: Number(log.args.windowsEndAt),
  }
}
