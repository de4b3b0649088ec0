// What consensus does with a native transaction: it always charges the fee, then does all of it or nothing.

import { type Address, bytesToHex, type Hex, numberToHex } from 'viem'
import type { Signatures, TransactionSignature } from '../ledger/account-key.ts'
import type { Entity } from '../ledger/account-registry.ts'
import { type AssessedFee, FEE_SHORT } from '../ledger/custom-fees.ts'
import { entityId } from '../ledger/entity-id.ts'
import { takeEthereumTransaction } from '../ledger/ethereum-transaction.ts'
import { networkCall, unsignedEnvelope } from '../ledger/evm-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { FEE_COLLECTOR } from '../ledger/network.ts'
import {
  listTransfers,
  netMoves,
  nsToSeconds,
  type Submission,
  type TransactionRecord,
} from '../ledger/records.ts'
import type {
  Content,
  SignedTransaction,
  SignedTransfer,
  Status,
} from '../ledger/signed-transaction.ts'
import { TOKEN_SERVICE_ADDRESS } from '../ledger/token-registry.ts'
import type { EvmTransaction } from '../ledger/transaction-index.ts'
import { TRANSACTION_KINDS } from '../ledger/transaction-kinds.ts'
import { scheduledContent, type WaitingTransaction } from '../ledger/waiting-transaction.ts'
import type { Done, Move, Plan, PlanRequest } from './plan.ts'
import { planAccountCreate, planAccountDelete, planAccountUpdate } from './plan-account.ts'
import { planFileChange, planFileCreate } from './plan-file.ts'
import { planScheduleCreate, planScheduleSign } from './plan-schedule.ts'
import { planAllowances, planTokenAssociate, planTokenCreate } from './plan-token.ts'
import { planFreeze, planGrant, planPause, planTokenDelete } from './plan-token-change.ts'
import { planTopicCreate, planTopicMessage } from './plan-topic.ts'
import { completeAccount, planTransfer } from './plan-transfer.ts'
import { associationsTinybar, feeTinybar, hasSigned } from './precheck-transaction.ts'
import { type EvmContent, readEvmTransaction, runsCode } from './read-evm-transaction.ts'

/**
 * Takes a transaction through consensus and returns its record. `waited` is what it was scheduled as. The caller holds the queue.
 */
export async function handleTransaction(
  ledger: Ledger,
  request: {
    transaction: SignedTransaction
    forced: Status | undefined
    waited?: WaitingTransaction
  },
): Promise<TransactionRecord> {
  const { transaction, forced, waited } = request
  const { content } = transaction
  if (runsCode(content) && forced === undefined) return handleEvm(ledger, transaction, content)
  const consensusNs = ledger.clock.nextTimestamp()
  const payer = ledger.accounts.byNumber(transaction.payerNumber)
  if (payer === undefined) throw new Error(`payer ${transaction.payerNumber} passed the precheck`)
  completeAccount(payer, transaction.signed)
  const plan = forced ?? (await planned(ledger, { transaction, payer }))
  const wanted = feeTinybar(ledger, content)
  const offered = wanted < transaction.maxFeeTinybar ? wanted : transaction.maxFeeTinybar
  const associations = typeof plan === 'string' ? 0 : (plan.associations ?? 0)
  const fee = offered + associationsTinybar(ledger, associations)
  const [balance = fee] = typeof plan === 'string' ? await ledger.evm.balances([payer.address]) : []
  const charged = balance < fee ? balance : fee
  const done: Done = typeof plan === 'string' ? { moves: [] } : await plan.apply(consensusNs)
  const [createdNumber] = Object.values(done.created ?? {})
  const net = netMoves([
    ...feeMoves(payer, charged),
    ...(typeof plan === 'string' ? [] : plan.moves),
    ...done.moves,
  ])
  const after = await balancesAfter(ledger, net)
  const call = typeof plan === 'string' ? undefined : plan.tokens?.call
  if (call === undefined) await ledger.evm.setBalances(after, consensusNs)
  const tokens =
    call === undefined
      ? {}
      : await settleTokens(ledger, transaction, { balances: after, call, consensusNs })
  const entityIdAt = (address: Address): string =>
    ledger.accounts.findId(address) ?? FEE_COLLECTOR.id
  const record: TransactionRecord = {
    ...describeSubmission(transaction),
    ...(waited && {
      id: { account: waited.creator.id, validStartNs: transaction.validStartNs },
      node: null,
      validDurationSeconds: null,
    }),
    consensusNs,
    isScheduled: waited !== undefined,
    result: typeof plan === 'string' ? plan : 'SUCCESS',
    chargedFeeTinybar: charged,
    entityId: createdNumber === undefined ? (done.entityId ?? null) : entityId(createdNumber),
    created: done.created,
    topicMessage: done.topicMessage,
    signedSchedule: done.signedSchedule,
    customFees: typeof plan === 'string' ? undefined : plan.customFees,
    ...tokens,
    transfers: listTransfers(
      new Map([...net].map(([address, change]) => [entityIdAt(address), change])),
      (typeof plan === 'string' ? [] : (plan.approved ?? [])).map(([address, change]) => [
        entityIdAt(address),
        change,
      ]),
    ),
  }
  ledger.records.add(record)
  const waiting = ledger.waiting.byNumber.get(done.created?.scheduleID ?? done.signedSchedule ?? 0)
  if (waiting !== undefined && !waiting.waitsForExpiry) await runIfSigned(ledger, waiting)
  if (waiting?.waitsForExpiry === true) ledger.onWaiting()
  return record
}

/** Runs a scheduled transaction if all who must have signed it. */
async function runIfSigned(ledger: Ledger, waited: WaitingTransaction): Promise<void> {
  const { payer } = waited
  const transaction = { ...waited.transaction, content: scheduledContent(waited) }
  if (!hasSigned(payer, transaction.signed)) return
  if ((await planned(ledger, { transaction, payer })) === 'INVALID_SIGNATURE') return
  // No node has looked at what it may cost.
  const isTooDear = transaction.maxFeeTinybar < feeTinybar(ledger, transaction.content)
  const forced = isTooDear ? 'INSUFFICIENT_TX_FEE' : undefined
  const record = await handleTransaction(ledger, { transaction, forced, waited })
  waited.executedNs = record.consensusNs
}

/** The scheduled transactions that wait for their time, as the scheduler asks for them. */
export function createWaitingRoom(ledger: Ledger) {
  const waiting = () =>
    [...ledger.waiting.byNumber.values()]
      .filter(({ isOver, waitsForExpiry }) => waitsForExpiry && !isOver)
      .toSorted((a, b) => Number(a.expiryNs - b.expiryNs))
  return {
    /** The second of the earliest one. */
    nextSecond(): number | undefined {
      const [earliest] = waiting()
      return earliest === undefined ? undefined : nsToSeconds(earliest.expiryNs)
    },
    /** Runs those whose second has come, if all have signed. The caller holds the queue. */
    async runDue(): Promise<void> {
      for (const due of waiting()) {
        if (nsToSeconds(due.expiryNs) > ledger.clock.nowSeconds()) return
        due.isOver = true
        await runIfSigned(ledger, due)
      }
    },
  }
}

/** An Ethereum transaction's sender pays, whoever submits it; a contract transaction's payer is its sender. */
async function handleEvm(
  ledger: Ledger,
  transaction: SignedTransaction,
  content: EvmContent,
): Promise<TransactionRecord> {
  const submission = describeSubmission(transaction)
  const parsed = await readEvmTransaction(ledger, transaction, content)
  if (typeof parsed === 'string') return handleTransaction(ledger, { transaction, forced: parsed })
  const payer = ledger.accounts.byNumber(transaction.payerNumber)
  if (payer === undefined) throw new Error(`payer ${transaction.payerNumber} passed the precheck`)
  const gasAllowanceTinybar =
    content.kind === 'ethereumTransaction' ? content.gasAllowanceTinybar : 0n
  const arrival = { submission, payer, gasAllowanceTinybar }
  const verdict = await takeEthereumTransaction(ledger, parsed, arrival)
  if (verdict.kind === 'refused') {
    const refused = await handleTransaction(ledger, { transaction, forced: verdict.status })
    ledger.transactions.refuse({ ...parsed, ...refused, hash: parsed.hash })
    return refused
  }
  await settleContract(ledger, content, verdict.transaction)
  const { consensusNs } = verdict.transaction
  const [record] = ledger.records.between({ from: consensusNs, to: consensusNs })
  if (record === undefined) throw new Error(`no record of ${verdict.transaction.hash}`)
  return record
}

/** Has the token service do what it has judged to be possible, in one block with the balances. */
async function settleTokens(
  ledger: Ledger,
  transaction: SignedTransaction,
  done: { balances: ReadonlyMap<Address, bigint>; call: Hex; consensusNs: bigint },
): Promise<Pick<TransactionRecord, 'tokenTransfers' | 'evm'>> {
  const { balances, call, consensusNs } = done
  const inner = networkCall(TOKEN_SERVICE_ADDRESS, call, consensusNs)
  const receipt = await ledger.evm.executeWith(balances, inner)
  if (BigInt(receipt.status) !== 1n) throw new Error('the token service refused what it had judged')
  const find = (address: Address) => ledger.entityAt(address, consensusNs)
  const tokenTransfers = ledger.tokens.read(receipt, { createdNs: consensusNs, find })
  const [log] = receipt.logs.filter(({ address }) => ledger.tokens.byAddress(address) !== undefined)
  if (log === undefined) return { tokenTransfers }
  const hash = bytesToHex(transaction.hash.subarray(0, 32))
  const blockNumber = Number(receipt.blockNumber)
  ledger.transactions.add({
    hash,
    from: ledger.accounts.byNumber(transaction.payerNumber)?.address ?? inner.from,
    envelope: unsignedEnvelope(ledger, { to: log.address, data: '0x', gas: 0n, valueTinybar: 0n }),
    receipt: { ...receipt, to: log.address, gasUsed: '0x0' },
    blockNumber,
    consensusNs,
    gasPriceTinybar: ledger.settings.gasPriceTinybar,
    isScheduled: false,
    isSynthetic: true,
    result: 'SUCCESS',
  })
  return { tokenTransfers, evm: { hash, innerHash: receipt.transactionHash, blockNumber } }
}

/** What a contract transaction changes beyond the EVM: its sender's nonce stays, and its contract has a memo. */
async function settleContract(
  ledger: Ledger,
  content: EvmContent,
  { envelope, from, receipt }: EvmTransaction,
): Promise<void> {
  if (content.kind === 'contractCall') {
    await ledger.anvil.call('anvil_setNonce', [from, numberToHex(envelope.nonce)])
  }
  const created = ledger.accounts.byAddress(receipt.contractAddress ?? '')
  if (content.kind === 'contractCreateInstance' && created !== undefined) {
    created.memo = content.message.memo ?? ''
  }
}

function describeSubmission(transaction: SignedTransaction): Submission {
  return {
    name: TRANSACTION_KINDS[transaction.content.kind][0],
    id: { account: entityId(transaction.payerNumber), validStartNs: transaction.validStartNs },
    maxFeeTinybar: transaction.maxFeeTinybar,
    memo: Buffer.from(transaction.memo, 'utf8'),
    node: entityId(transaction.nodeNumber ?? 0),
    hash: transaction.hash,
    validDurationSeconds: Number(transaction.validDurationSeconds),
  }
}

/** Those of the signatures that a scheduled transaction needs, whoever else has signed it. */
async function findNeeded(
  ledger: Ledger,
  waiting: WaitingTransaction,
  signatures: readonly TransactionSignature[],
): Promise<TransactionSignature[]> {
  const { payer } = waiting
  const used = new Set<TransactionSignature>()
  const signed: Signatures = Object.assign([...signatures], { used })
  hasSigned(payer, signed)
  const transaction = { ...waiting.transaction, content: scheduledContent(waiting), signed }
  await planned(ledger, { transaction, payer })
  return signatures.filter((signature) => used.has(signature))
}

async function planned(
  ledger: Ledger,
  who: Omit<PlanRequest, 'findNeeded'>,
): Promise<Status | Plan> {
  const request: PlanRequest = {
    ...who,
    findNeeded: (waiting, signatures) => findNeeded(ledger, waiting, signatures),
  }
  const { payer, transaction } = request
  const { content } = transaction
  if (runsCode(content)) throw new Error(`${content.kind} has no plan`)
  const plan = await (content.kind === 'cryptoTransfer'
    ? planTransfer(ledger, content, request)
    : (PLANNERS[content.kind] as Planner<unknown>)(ledger, content.message, request))
  if (typeof plan === 'string') return plan
  if (plan.tokens !== undefined) {
    const { call, newcomers, withoutFees } = plan.tokens
    const judged = await ledger.tokens.judge(call, newcomers)
    const isFeeShort =
      judged === 'INSUFFICIENT_TOKEN_BALANCE' &&
      withoutFees !== undefined &&
      (await ledger.tokens.judge(withoutFees, newcomers)) === 'OK'
    if (isFeeShort) return FEE_SHORT
    if (judged !== 'OK') return judged
  }
  const fee = feeTinybar(ledger, content) + associationsTinybar(ledger, plan.associations ?? 0)
  const net = netMoves([...feeMoves(payer, fee), ...plan.moves])
  const short = [...(await balancesAfter(ledger, net))].find(([, after]) => after < 0n)
  if (short === undefined) return plan
  const [address, after] = short
  const paysFee = ({ payers, token }: AssessedFee) =>
    token === undefined && payers.some((from) => from.address === address)
  if (plan.customFees?.some(paysFee) === true) return FEE_SHORT
  const isUnableToPay = after - (net.get(address) ?? 0n) < fee || content.kind !== 'cryptoTransfer'
  return address === payer.address && isUnableToPay
    ? 'INSUFFICIENT_PAYER_BALANCE'
    : 'INSUFFICIENT_ACCOUNT_BALANCE'
}

type Planner<Message> = (
  ledger: Ledger,
  message: Message,
  request: PlanRequest,
) => Promise<Status | Plan> | Status | Plan

type Planned = Exclude<Content, EvmContent | SignedTransfer>

const PLANNERS: {
  readonly [Name in Planned['kind']]: Planner<Extract<Planned, { kind: Name }>['message']>
} = {
  consensusCreateTopic: planTopicCreate,
  consensusSubmitMessage: planTopicMessage,
  cryptoApproveAllowance: planAllowances,
  cryptoCreateAccount: planAccountCreate,
  cryptoDelete: planAccountDelete,
  cryptoUpdateAccount: planAccountUpdate,
  fileAppend: planFileChange,
  fileCreate: planFileCreate,
  fileDelete: planFileChange,
  scheduleCreate: planScheduleCreate,
  scheduleSign: planScheduleSign,
  tokenAssociate: planTokenAssociate,
  tokenCreation: planTokenCreate,
  tokenDeletion: planTokenDelete,
  tokenFreeze: planFreeze(true),
  tokenGrantKyc: planGrant(true),
  tokenPause: planPause(true),
  tokenRevokeKyc: planGrant(false),
  tokenUnfreeze: planFreeze(false),
  tokenUnpause: planPause(false),
}

function feeMoves(payer: Entity, tinybar: bigint): Move[] {
  return [
    [payer.address, -tinybar],
    [FEE_COLLECTOR.address, tinybar],
  ]
}

async function balancesAfter(
  ledger: Ledger,
  net: ReadonlyMap<Address, bigint>,
): Promise<Map<Address, bigint>> {
  const balances = await ledger.evm.balances([...net.keys()])
  return new Map([...net].map(([address, change], at) => [address, (balances[at] ?? 0n) + change]))
}
