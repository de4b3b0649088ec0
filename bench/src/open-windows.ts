import { accessWindowAbi } from '@tallystick/contracts'
import { createPublicClient, encodeFunctionData, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { HEDERA_CHAIN_ID } from './payment-network.ts'

const WEIBAR_PER_TINYBAR = 10_000_000_000n
/** Opening with a schedule takes 1.6 million of the 2.1 that the contract asks for. */
const OPEN_GAS = 2_500_000n
const RECEIPT_POLL_MS = 20

type Opening = {
  readonly ledgerUrl: string
  readonly payerKey: Hex
  readonly contract: Hex
  readonly agents: readonly Hex[]
  /** Paid for each agent. */
  readonly valueTinybar: bigint
}

/** Opens a window for each agent, one after another, paid by one account. Throws if one reverts. */
export async function openWindows(opening: Opening): Promise<void> {
  const account = privateKeyToAccount(opening.payerKey)
  const client = createPublicClient({
    transport: http(opening.ledgerUrl),
    pollingInterval: RECEIPT_POLL_MS,
  })
  const gasPrice = (await client.getGasPrice()) * 2n
  let nonce = await client.getTransactionCount({ address: account.address })
  for (const agent of opening.agents) {
    const serializedTransaction = await account.signTransaction({
      type: 'legacy',
      chainId: HEDERA_CHAIN_ID,
      nonce,
      gasPrice,
      gas: OPEN_GAS,
      to: opening.contract,
      value: opening.valueTinybar * WEIBAR_PER_TINYBAR,
      data: encodeFunctionData({ abi: accessWindowAbi, functionName: 'open', args: [agent] }),
    })
    const hash = await client.sendRawTransaction({ serializedTransaction })
    const { status } = await client.waitForTransactionReceipt({ hash })
    if (status !== 'success') throw new Error(`opening a window for ${agent} reverted`)
    nonce += 1
  }
}
