// The access contract as its seller uses it, through one key: the service's own adapters, with fixed gas limits. A call is
// tried before it is signed, so that a refusal costs nothing and can be explained.
import type { accessWindowAbi } from '@tallystick/contracts'
import type { Clock } from '@tallystick/service-kit'
import { formatHbar } from '@tallystick/x402/hedera'
import type { ContractFunctionArgs, ContractFunctionName } from 'viem'
import { createCallSender } from '../adapters/call-sender.ts'
import { encodeTransaction, findRevert } from '../adapters/contract-calls.ts'
import {
  createLedgerFacts,
  type LedgerFacts,
  type LedgerReceipt,
  quantity,
  WEIBAR_PER_TINYBAR,
} from '../adapters/ledger-facts.ts'
import { createRelay, type Relay } from '../adapters/relay.ts'
import { keyHex } from '../config.ts'
import type { Hex } from '../domain/access-window.ts'
import { needed, type OperatorCall, OperatorRefusal } from './operator-verb.ts'

/** The cause of a ledger failure: the ledger's own words, or why there are none. */
export function explainFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? explainFailure(error.cause) : error.message || error.name
}

/** Turns a failure into an OperatorRefusal that begins with `failure`. */
async function answered<Result>(failure: string, ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask()
  } catch (cause) {
    if (cause instanceof OperatorRefusal) throw cause
    throw new OperatorRefusal(`${failure}: ${explainFailure(cause)}`, { cause })
  }
}

/** Asks the ledger. Throws OperatorRefusal if it does not answer. */
export const askLedger = <Result>(ask: () => Promise<Result>): Promise<Result> =>
  answered('The ledger does not answer', ask)

/** The ledger as anybody reads it. */
type LedgerView = { readonly relay: Relay; readonly facts: LedgerFacts }

/** Opens the ledger for reads. It connects to nothing yet. */
export function viewLedger(url: string, clock: Clock): LedgerView {
  const relay = createRelay({ url, clock })
  return { relay, facts: createLedgerFacts({ relay, clock }) }
}

type OperatorSender = ReturnType<typeof createCallSender>

/** Opens the ledger for one key. Throws OperatorRefusal if the relay is silent or serves another chain. */
export async function openOperatorLedger(options: {
  readonly rpcUrl: string
  readonly chainId: number
  readonly key: Hex
  readonly clock: Clock
}) {
  const { chainId, clock, key: privateKey, rpcUrl } = options
  const view = viewLedger(rpcUrl, clock)
  const found = await answered(`No ledger answers at ${rpcUrl}`, async () =>
    Number(quantity(await view.relay.read('eth_chainId', []))),
  )
  if (found !== chainId)
    throw new OperatorRefusal(`The ledger at ${rpcUrl} is chain ${found}, not ${chainId}.`)
  const sender = createCallSender({ ...view, chainId, clock, privateKey, takesRefusals: true })
  return {
    ...view,
    address: sender.address,
    /** Signs, sends, and waits for the receipt. Throws OperatorRefusal if the relay does not take it, or if it reverted. */
    async send(transaction: Parameters<OperatorSender['send']>[0]): Promise<LedgerReceipt> {
      const { hash, receipt } = await answered('The ledger did not take the transaction', () =>
        sender.send(transaction),
      )
      if (receipt === undefined) throw new OperatorRefusal(`No receipt for ${hash} in time.`)
      if (receipt.status !== 'success')
        throw new OperatorRefusal(`The ledger reverted the transaction ${hash}.`)
      return receipt
    },
  }
}

/** The access contract as anybody reads it. */
export type ContractView = LedgerView & { readonly contract: Hex }

async function ensureContract({ relay, contract }: ContractView): Promise<void> {
  const code = await askLedger(() => relay.read('eth_getCode', [contract, 'latest']))
  if (code === '0x') throw new OperatorRefusal(`There is no contract at ${contract}.`)
}

/** Reads from the contract. Throws OperatorRefusal if there is none, or if a read fails. */
export async function lookAtContract<Result>(
  { clock, config }: OperatorCall,
  look: (view: ContractView) => Promise<Result>,
): Promise<Result> {
  const contract = needed(config, 'ACCESS_CONTRACT')
  const view = { ...viewLedger(config.LEDGER_RPC_URL, clock), contract }
  await ensureContract(view)
  return await askLedger(() => look(view))
}

type WriteName = ContractFunctionName<typeof accessWindowAbi, 'nonpayable' | 'payable'>

export type ContractWrite = {
  [Name in WriteName]: {
    readonly functionName: Name
    readonly args: ContractFunctionArgs<typeof accessWindowAbi, 'nonpayable' | 'payable', Name>
    readonly valueTinybar?: bigint
    readonly gas: bigint
  }
}[WriteName]

export type OwnerContract = ContractView & {
  /** The owner's address. */
  readonly owner: Hex
  /** Tries, signs, sends, waits. Throws OperatorRefusal. */
  write(write: ContractWrite): Promise<LedgerReceipt>
}

const REFUSALS: Readonly<Record<string, string>> = {
  OwnableUnauthorizedAccount: 'this key does not own the contract',
  AccessWindow_NotForwarder: 'this key is not a forwarder of the contract',
  AccessWindow_PaymentAlreadyUsed: 'that payment was opened before',
  AccessWindow_InvalidOffer:
    'the offer is out of range (period 10 to 5,356,000 s and a multiple of the slots, calls above 0, price at least 0.003 HBAR)',
  AccessWindow_UnknownOffer: 'there is no offer of that number',
  AccessWindow_InvalidArming:
    'that is out of range (1 to 100 US cents for a scheduled call, a floor of 0 to 10,000 %)',
  AccessWindow_NotOverdue: 'no schedule of that agent is more than 30 s overdue',
  AccessWindow_InsufficientFunds: 'the contract does not hold that much',
  AccessWindow_ShortfallOutstanding: 'gas is owed to the network: fund the reserve first',
  AccessWindow_TransferFailed: 'the receiver does not take it',
}

/** Opens the contract with the owner's key. Throws OperatorRefusal. */
export async function openContract({ clock, config }: OperatorCall): Promise<OwnerContract> {
  const ledger = await openOperatorLedger({
    rpcUrl: config.LEDGER_RPC_URL,
    chainId: config.LEDGER_CHAIN_ID,
    key: keyHex(needed(config, 'OWNER_KEY')),
    clock,
  })
  const contract = needed(config, 'ACCESS_CONTRACT')
  const { address: owner, facts, relay } = ledger
  const view = { facts, relay, contract }
  await ensureContract(view)
  return {
    ...view,
    owner,
    async write({ valueTinybar = 0n, ...call }) {
      const write = { ...call, valueTinybar }
      const revert = await answered('The ledger cannot try it', () =>
        findRevert(relay, { account: owner, address: contract }, write),
      )
      if (revert !== undefined)
        throw new OperatorRefusal(`The contract refuses: ${REFUSALS[revert] ?? revert}.`)
      return await ledger.send(encodeTransaction(contract, write))
    },
  }
}

/** Says what a transaction cost and where it is, at the end of a verb's output. */
export function receiptLine({ costWeibar, gasUsed, transactionHash }: LedgerReceipt): string {
  return `Transaction ${transactionHash}, ${gasUsed} gas, ${formatHbar(costWeibar / WEIBAR_PER_TINYBAR)}.`
}
