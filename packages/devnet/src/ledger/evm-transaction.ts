import { type Address, type Hex, hexToBytes, numberToHex, stringToHex } from 'viem'
import type { InnerReceipt } from '../anvil/anvil-client.ts'
import type { Entity } from './account-registry.ts'
import { longZeroNumber } from './entity-id.ts'
import type { Ledger } from './ledger.ts'
import { FEE_COLLECTOR, RELAY_ACCOUNT, SYSTEM_ACCOUNT_NUMBER_MAX } from './network.ts'
import { listTransfers, netMoves, type Submission } from './records.ts'
import type { Envelope, EvmTransaction } from './transaction-index.ts'

/** Weibar per tinybar: JSON-RPC speaks weibar (18 decimals), the EVM tinybar (8). */
export const WEIBAR_PER_TINYBAR = 10_000_000_000n

/** An address whose code, 0xfe, halts at once and uses up the gas, as on the network. */
export const HALTING_ADDRESS: Address = '0x68616c74696e672061742074686973206c656467'

/** Gas of a transaction whose value makes a new account: the least that the relay states for it. */
export const NEW_ACCOUNT_GAS_MIN = 610_000n

/** Whether value sent there makes a new account: nothing is there, and the address is not a number. */
export async function makesAccount(
  ledger: Ledger,
  to: Address | null,
  value: bigint,
): Promise<boolean> {
  if (to === null || value === 0n || longZeroNumber(to) !== undefined) return false
  if (ledger.accounts.byAddress(to) !== undefined) return false
  // A contract that a contract created is known only once somebody asks for it.
  return (await ledger.anvil.call('eth_getCode', [to, 'latest'])) === '0x'
}

/**
 * Why the network halts a transaction before its first instruction: it sends value to one of the network's own accounts, to
 * the long-zero address of a non-existent account, which no transfer can create, to an account that takes only what it has signed
 * for, or to a new account without the gas for it.
 */
async function findHalt(
  ledger: Ledger,
  { to, valueWeibar, gas }: Envelope,
): Promise<string | undefined> {
  if (to === null || valueWeibar === 0n) return undefined
  if (gas < NEW_ACCOUNT_GAS_MIN && (await makesAccount(ledger, to, valueWeibar))) {
    return 'INSUFFICIENT_GAS'
  }
  if (ledger.accounts.byAddress(to)?.isReceiverSigRequired === true) return 'INVALID_SIGNATURE'
  const number = longZeroNumber(to)
  if (number === undefined) return undefined
  if (number <= SYSTEM_ACCOUNT_NUMBER_MAX) return 'INVALID_CONTRACT_ID'
  return ledger.accounts.byNumber(number) === undefined ? 'INVALID_ALIAS_KEY' : undefined
}

/**
 * Runs a transaction in its own block and records it. The caller holds the queue and has checked the nonce.
 * @throws AnvilRefused if the payer cannot cover value and gas
 */
export async function runEvmTransaction(
  ledger: Ledger,
  request: {
    /** Undefined for scheduled calls, whose hash the network chooses. */
    hash: Hex | undefined
    from: Address
    envelope: Envelope
    /** Consensus second of a scheduled call. */
    asOfSecond?: number
    /** Undefined for what the JSON-RPC edge takes in, and for scheduled calls. */
    submission?: Submission | undefined
    /** Who pays what the sender's price leaves open of the network's. */
    sponsor?: { payer: Entity; senderPriceTinybar: bigint } | undefined
  },
): Promise<EvmTransaction> {
  const { envelope, from, sponsor } = request
  const isScheduled = request.hash === undefined
  const gasPriceTinybar = ledger.settings.gasPriceTinybar
  const consensusNs = ledger.clock.nextTimestamp()
  const to = envelope.to === null ? null : ledger.accounts.canonicalAddress(envelope.to)
  const halt = await findHalt(ledger, envelope)
  const executed = await ledger.evm.execute({
    from,
    to: halt === undefined ? to : HALTING_ADDRESS,
    data: envelope.data,
    accessList: envelope.accessList,
    valueTinybar: envelope.valueWeibar / WEIBAR_PER_TINYBAR,
    gas: envelope.gas,
    gasPriceTinybar: sponsor?.senderPriceTinybar ?? gasPriceTinybar,
    nonce: isScheduled ? undefined : envelope.nonce,
    consensusNs,
    asOfSecond: request.asOfSecond,
  })
  const receipt = halt === undefined ? executed : { ...executed, to }
  const sponsored = sponsor && {
    payer: sponsor.payer,
    tinybar: BigInt(receipt.gasUsed) * (gasPriceTinybar - sponsor.senderPriceTinybar),
  }
  if (sponsored !== undefined) await paySponsored(ledger, sponsored)
  const isSuccess = BigInt(receipt.status) === 1n
  const isOutputWanted = request.submission?.name === 'CONTRACTCALL'
  const end = isSuccess
    ? {
        result: 'SUCCESS',
        returned: isOutputWanted ? await readOutput(ledger, receipt) : undefined,
      }
    : await readFailure(ledger, receipt, halt)
  const transaction: EvmTransaction = {
    hash: request.hash ?? receipt.transactionHash,
    from,
    envelope,
    receipt,
    blockNumber: Number(receipt.blockNumber),
    consensusNs,
    gasPriceTinybar,
    isScheduled,
    ...(sponsored && { sponsored }),
    ...end,
  }
  ledger.transactions.add(transaction)
  recordTransaction(ledger, transaction, request.submission)
  ledger.onExecuted(transaction)
  return transaction
}

async function paySponsored(
  ledger: Ledger,
  { payer, tinybar }: NonNullable<EvmTransaction['sponsored']>,
): Promise<void> {
  const [own = 0n, fees = 0n] = await ledger.evm.balances([payer.address, FEE_COLLECTOR.address])
  await ledger.anvil.batch([
    ['anvil_setBalance', [payer.address, numberToHex(own - tinybar)]],
    ['anvil_setBalance', [FEE_COLLECTOR.address, numberToHex(fees + tinybar)]],
  ])
}

/** The outermost frame's end. */
async function readTop(
  ledger: Ledger,
  receipt: InnerReceipt,
): Promise<{ output?: Hex; error?: string }> {
  const trace = await ledger.anvil.call('debug_traceTransaction', [
    receipt.transactionHash,
    { tracer: 'callTracer', tracerConfig: { onlyTopCall: true } },
  ])
  return trace as { output?: Hex; error?: string }
}

const readOutput = async (ledger: Ledger, receipt: InnerReceipt): Promise<Hex> =>
  (await readTop(ledger, receipt)).output ?? '0x'

/** How an execution failed; `halt` is why it never had a first instruction. */
async function readFailure(ledger: Ledger, receipt: InnerReceipt, halt: string | undefined) {
  const { error, output = '0x' } = halt === undefined ? await readTop(ledger, receipt) : {}
  const haltReason = halt ?? readHaltReason(error)
  if (haltReason === undefined) return { result: 'CONTRACT_REVERT_EXECUTED', revertReason: output }
  const isNamed = halt !== undefined || haltReason === 'INSUFFICIENT_GAS'
  return {
    result: isNamed ? haltReason : 'CONTRACT_EXECUTION_EXCEPTION',
    revertReason: stringToHex(haltReason),
    haltReason,
  }
}

/** The network's names of what halts a frame without a revert, by anvil's words. */
const HALT_REASONS: readonly (readonly [RegExp, string])[] = [
  [/out of gas/i, 'INSUFFICIENT_GAS'],
  [/underflow/i, 'INSUFFICIENT_STACK_ITEMS'],
  [/stack ?overflow|stack limit/i, 'TOO_MANY_STACK_ITEMS'],
  [/jump/i, 'INVALID_JUMP_DESTINATION'],
  [/opcode/i, 'INVALID_OPERATION'],
  [/offset/i, 'OUT_OF_BOUNDS'],
  [/StartingWithEF/i, 'INVALID_CODE'],
  [/size limit|SizeLimit/i, 'CODE_TOO_LARGE'],
  [/write protection|static/i, 'ILLEGAL_STATE_CHANGE'],
]

/** Why a frame halted, by the network's name; undefined if it reverted or returned. */
export function readHaltReason(error: string | undefined): string | undefined {
  return HALT_REASONS.find(([words]) => words.test(error ?? ''))?.[1]
}

function recordTransaction(
  ledger: Ledger,
  transaction: EvmTransaction,
  submission: Submission | undefined,
): void {
  const { receipt, consensusNs, envelope, gasPriceTinybar, isScheduled } = transaction
  const { contractAddress, to } = receipt
  const isSuccess = BigInt(receipt.status) === 1n
  if (isSuccess && contractAddress != null) {
    // The address may have received value before its contract existed.
    ledger.entityAt(contractAddress, consensusNs).kind = 'contract'
  }
  if (isSuccess && to !== null && envelope.valueWeibar > 0n) ledger.entityAt(to, consensusNs)
  const find = (address: Address) => ledger.entityAt(address, consensusNs)
  const tokenTransfers = ledger.tokens.read(receipt, { createdNs: consensusNs, find })
  const feeTinybar = BigInt(receipt.gasUsed) * gasPriceTinybar
  const payer = ledger.entityAt(transaction.from, consensusNs)
  const paid = netMoves(gasFees(transaction, payer.id))
  ledger.records.add({
    consensusNs,
    name: isScheduled ? 'CONTRACTCALL' : 'ETHEREUMTRANSACTION',
    id: { account: isScheduled ? payer.id : RELAY_ACCOUNT.id, validStartNs: consensusNs },
    isScheduled,
    result: transaction.result,
    chargedFeeTinybar: feeTinybar,
    maxFeeTinybar: envelope.gas * gasPriceTinybar,
    memo: new Uint8Array(),
    node: isScheduled ? null : '0.0.3',
    hash: hexToBytes(transaction.hash),
    validDurationSeconds: isScheduled ? null : 120,
    entityId: ledger.idAt(to ?? contractAddress ?? null),
    tokenTransfers,
    ...(isSuccess &&
      contractAddress != null && {
        created: { contractID: ledger.entityAt(contractAddress, consensusNs).number },
      }),
    transfers: isSuccess ? undefined : listTransfers(paid),
    evm: {
      hash: transaction.hash,
      innerHash: receipt.transactionHash,
      blockNumber: transaction.blockNumber,
    },
    ...submission,
  })
}

/** Who pays for a transaction's gas: its sender, and its sponsor. */
export function gasFees(
  { gasPriceTinybar, receipt, sponsored }: EvmTransaction,
  senderId: string,
): (readonly [string, bigint])[] {
  const fee = BigInt(receipt.gasUsed) * gasPriceTinybar
  const added = sponsored?.tinybar ?? 0n
  return [
    [senderId, added - fee],
    [sponsored?.payer.id ?? senderId, -added],
    [FEE_COLLECTOR.id, fee],
  ]
}

/** Gas of the network's own calls to its contracts: plenty, since nobody pays for it. */
const NETWORK_GAS = 5_000_000n

/** A call of the network itself, which is free. */
export function networkCall(to: Address, data: Hex, consensusNs: bigint) {
  const free = { valueTinybar: 0n, gas: NETWORK_GAS, gasPriceTinybar: 0n }
  return { from: FEE_COLLECTOR.address, to, data, ...free, consensusNs }
}

/** Calls a contract as the network itself, without a record. The caller holds the queue. */
export async function callAsNetwork(ledger: Ledger, to: Address, data: Hex): Promise<void> {
  await ledger.evm.execute(networkCall(to, data, ledger.clock.nextTimestamp()))
}

/** The envelope of what nobody signed as an Ethereum transaction: scheduled calls, and native transactions. */
export function unsignedEnvelope(
  ledger: Ledger,
  call: Pick<Envelope, 'to' | 'data' | 'gas'> & { nonce?: number; valueTinybar: bigint },
): Envelope {
  const { data, gas, nonce = 0, to, valueTinybar } = call
  return {
    type: 0,
    chainId: undefined,
    nonce,
    gas,
    gasPriceWeibar: ledger.settings.gasPriceTinybar * WEIBAR_PER_TINYBAR,
    maxFeePerGasWeibar: undefined,
    maxPriorityFeePerGasWeibar: undefined,
    valueWeibar: valueTinybar * WEIBAR_PER_TINYBAR,
    to,
    data,
    accessList: [],
    v: 0n,
    r: '0x0',
    s: '0x0',
  }
}
