// The access contract as its owner uses it: reads, and calls that are tried before they are signed, so that a refusal
// costs nothing and is told in words.
import { accessWindowAbi } from '@tallystick/contracts'
import type { ContractFunctionArgs, ContractFunctionName } from 'viem'
import { type Address, decodeErrorResult, encodeFunctionData, type Hex, isHex } from 'viem'
import { WEIBAR_PER_TINYBAR } from '../adapters/hedera-units.ts'
import { formatHbar } from '../domain/hbar.ts'
import { ensureContract } from './look-at-contract.ts'
import { contractOf, keyOf, type OperatorConfig } from './operator-config.ts'
import {
  type LedgerReceipt,
  LedgerUnavailable,
  type OperatorLedger,
  openOperatorLedger,
  reasonOf,
} from './operator-ledger.ts'
import { OperatorRefusal } from './operator-verb.ts'

type WriteName = ContractFunctionName<typeof accessWindowAbi, 'nonpayable' | 'payable'>

export type ContractWrite<Name extends WriteName> = {
  readonly functionName: Name
  readonly args: ContractFunctionArgs<typeof accessWindowAbi, 'nonpayable' | 'payable', Name>
  readonly valueTinybar?: bigint
  readonly gas: bigint
}

export type OwnerContract = {
  readonly address: Address
  readonly ledger: OperatorLedger
  /** Tries, signs, sends, waits. Throws OperatorRefusal, LedgerUnavailable or TransactionReverted. */
  write<Name extends WriteName>(write: ContractWrite<Name>): Promise<LedgerReceipt>
}

const WORDS: Readonly<Record<string, string>> = {
  OwnableUnauthorizedAccount: 'this key does not own the contract',
  AccessWindow_NotForwarder: 'this key is not a forwarder of the contract',
  AccessWindow_PaymentAlreadyUsed: 'that payment was opened before',
  AccessWindow_InvalidOffer:
    'the offer is out of range (period 1 to 5,356,000 s, price and calls above 0)',
  AccessWindow_NotOverdue: 'no schedule of that agent is more than 30 s overdue',
  AccessWindow_InsufficientFunds: 'the contract does not hold that much',
  AccessWindow_ShortfallOutstanding: 'gas is owed to the network: fund the reserve first',
  AccessWindow_TransferFailed: 'the receiver does not take it',
}

/** Revert data of a failed `eth_call`, wherever viem's chain of causes holds it. */
function revertData(error: unknown): Hex | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const data: unknown = 'data' in cause ? cause.data : undefined
    if (isHex(data)) return data
  }
  return undefined
}

/** What the contract says against a call, in words; `undefined` where the failure is not the contract's. */
export function contractRefusal(error: unknown): string | undefined {
  const data = revertData(error)
  if (data === undefined) return undefined
  try {
    const { errorName } = decodeErrorResult({ abi: accessWindowAbi, data })
    return WORDS[errorName] ?? errorName
  } catch {
    return `it reverts with ${data.slice(0, 10)}`
  }
}

/** Opens the contract for one key. Throws LedgerUnavailable, or OperatorRefusal where there is no contract. */
export async function openContract(
  config: OperatorConfig,
  keyVariable: 'OWNER_KEY' | 'PAY_TO_KEY',
): Promise<OwnerContract> {
  const ledger = await openOperatorLedger({
    rpcUrl: config.LEDGER_RPC_URL,
    chainId: config.LEDGER_CHAIN_ID,
    key: keyOf(config, keyVariable),
  })
  const address = contractOf(config)
  await ensureContract({ reader: ledger.reader, address })
  return {
    address,
    ledger,
    async write({ functionName, args, valueTinybar = 0n, gas }) {
      const data = encodeFunctionData({ abi: accessWindowAbi, functionName, args } as Parameters<
        typeof encodeFunctionData
      >[0])
      const value = valueTinybar * WEIBAR_PER_TINYBAR
      try {
        await ledger.reader.call({ account: ledger.address, to: address, data, value, gas })
      } catch (cause) {
        const refusal = contractRefusal(cause)
        if (refusal !== undefined) {
          throw new OperatorRefusal(`The contract refuses: ${refusal}.`, { cause })
        }
        throw new LedgerUnavailable(`The ledger cannot try it: ${reasonOf(cause)}`, { cause })
      }
      return await ledger.send({ to: address, data, valueTinybar, gas })
    },
  }
}

/** What a transaction cost and where it is, for the end of a verb's output. */
export function receiptLine(receipt: LedgerReceipt): string {
  return `Transaction ${receipt.hash}, ${receipt.gasUsed} gas, ${formatHbar(receipt.costTinybar)}.`
}
