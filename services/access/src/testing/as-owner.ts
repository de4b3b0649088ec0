import { accessWindowAbi } from '@tallystick/contracts'
import { createPublicClient, createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { RealWorld } from './real-world.ts'

export type OwnerCall = {
  readonly functionName: 'setOffer' | 'pauseSales' | 'setRecorder'
  readonly args: readonly unknown[]
}

/** Makes a call of the contract's owner and returns once it has its receipt. Throws where it was reverted. */
export async function asOwner(
  { devnet, owner, contract }: Pick<RealWorld, 'devnet' | 'owner' | 'contract'>,
  { functionName, args }: OwnerCall,
): Promise<void> {
  const transport = http(devnet.rpcUrl)
  const client = createPublicClient({ transport })
  const wallet = createWalletClient({ account: privateKeyToAccount(owner.privateKey), transport })
  const hash = await wallet.writeContract({
    address: contract,
    abi: accessWindowAbi,
    functionName,
    args: args as never,
    chain: null,
    gas: 200_000n,
    gasPrice: await client.getGasPrice(),
    type: 'legacy',
  })
  const receipt = await client.waitForTransactionReceipt({ hash, pollingInterval: 20 })
  if (receipt.status !== 'success') throw new Error(`${functionName} reverted`)
}
