// Five windows that the network renews with one call. On a public ledger a slot is many seconds wide and agents meet in it
// by themselves; here it is one second, so that one account opens all five within it.
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { accessWindowAbi } from '@tallystick/contracts'
import {
  type Address,
  createPublicClient,
  encodeFunctionData,
  type Hex,
  http,
  isHex,
  toHex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { StackDescription } from '../stack/stack-file.ts'

export const SHARING_AGENTS = 5
/** The open one and two renewals: the call for the first arms the second, as in the middle of a long subscription. */
const PERIODS = 3n
/** A busy machine sometimes needs more than one second for five transactions. */
const TRIES_MAX = 8
const ADDRESS_BYTES = 20
const WEIBAR_PER_TINYBAR = 10_000_000_000n
/** How far into a second to start, milliseconds, so that nearly all of it lies ahead. */
const INTO_SECOND_MS = 20
const RECEIPT_POLL_MS = 20

/** A slot with `SHARING_AGENTS` windows in it. */
type SharedSlot = {
  readonly slotId: bigint
  /** End of its windows, Unix seconds. */
  readonly expiresAtSeconds: number
  readonly priceTinybar: bigint
  /** Block before the first was opened. */
  readonly fromBlock: bigint
}

/** Opens the windows, as gifts of `payerKey` to new addresses. Throws if no try gets all of them into one slot. */
export async function openSharedSlot(
  { access, ledger }: StackDescription,
  payerKey: string,
): Promise<SharedSlot> {
  const transport = http(ledger.rpcUrl, { batch: true })
  const client = createPublicClient({ transport, pollingInterval: RECEIPT_POLL_MS })
  const contract = { abi: accessWindowAbi, address: access.contract as Address } as const
  if (!isHex(payerKey)) throw new Error('the payer has no key')
  const payer = privateKeyToAccount(payerKey)
  const [[, { priceTinybar }], [gas], gasPrice] = await Promise.all([
    client.readContract({ ...contract, functionName: 'currentOffer' }),
    client.readContract({ ...contract, functionName: 'armingGas' }),
    client.getGasPrice(),
  ])

  const signOpening = (agent: Address, nonce: number): Promise<Hex> =>
    payer.signTransaction({
      type: 'legacy',
      chainId: ledger.chainId,
      nonce,
      gas,
      gasPrice,
      to: contract.address,
      value: priceTinybar * PERIODS * WEIBAR_PER_TINYBAR,
      data: encodeFunctionData({ ...contract, functionName: 'open', args: [agent] }),
    })
  const readReceipt = async (hash: Hex): Promise<void> => {
    const { status } = await client.waitForTransactionReceipt({ hash })
    if (status !== 'success') throw new Error(`opening a window in ${hash} reverted`)
  }
  const readWindow = (agent: Address) => {
    const args = [agent, BigInt(Math.floor(Date.now() / 1_000))] as const
    return client.readContract({ ...contract, functionName: 'windowOf', args })
  }

  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const fromBlock = await client.getBlockNumber({ cacheTime: 0 })
    const nonce = await client.getTransactionCount({ address: payer.address })
    const agents = Array.from({ length: SHARING_AGENTS }, () => toHex(randomBytes(ADDRESS_BYTES)))
    const signed = await Promise.all(agents.map((agent, at) => signOpening(agent, nonce + at)))
    await pause(1_000 - (Date.now() % 1_000) + INTO_SECOND_MS)
    // One message, whose sends reach consensus in order: a busy machine has no time for more in that second.
    const hashes = await Promise.all(
      signed.map((serializedTransaction) => client.sendRawTransaction({ serializedTransaction })),
    )
    await Promise.all(hashes.map(readReceipt))
    const windows = await Promise.all(agents.map(readWindow))
    const [first] = windows
    if (first === undefined || windows.some(({ slotId }) => slotId !== first.slotId)) continue
    return {
      slotId: first.slotId,
      expiresAtSeconds: Number(first.expiresAt),
      priceTinybar,
      fromBlock,
    }
  }
  throw new Error(`${SHARING_AGENTS} windows could not be opened within one second`)
}
