// Queries of contracts and files: a call that changes nothing, code and contents, and what is known of them.

import { proto } from '@hiero-ledger/proto'
import Long from 'long'
import { type Hex, hexToBytes } from 'viem'
import { toProtoKey } from '../ledger/account-key.ts'
import { callEvm } from '../ledger/evm-call.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { LedgerFile } from '../ledger/ledger-file.ts'
import { toBigInt } from '../ledger/signed-transaction.ts'
import { type CustomFee, type Renewal, TOKEN_KEYS } from '../ledger/token.ts'
import { runningHash } from '../ledger/topic.ts'
import {
  accountId,
  contractId,
  findEntity,
  NEVER,
  query,
  readBalance,
  scheduledId,
  toProtoTimestamp,
} from './answer-query.ts'
import { findContract } from './read-evm-transaction.ts'

/** The queries by service and name: bytes in, bytes out. */
export const CONTENT_QUERIES = {
  'SmartContractService/contractCallLocalMethod': query(
    'contractCallLocal',
    async ({ ledger }, question) => {
      const to = await findContract(ledger, question.contractID)
      if (to === undefined) return { status: 'INVALID_CONTRACT_ID' }
      const gas = toBigInt(question.gas)
      if (gas <= 0n) return { status: 'INSUFFICIENT_GAS' }
      const from = findEntity(ledger, question.senderId)?.address
      const data: Hex = `0x${Buffer.from(question.functionParameters ?? []).toString('hex')}`
      const read = { method: 'eth_call', tag: 'latest' } as const
      const outcome = await callEvm(ledger, { from, to, data, gas }, read)
      const number = ledger.accounts.byAddress(to)?.number
      const result = { contractID: contractId(number), gas: Long.fromString(gas.toString()) }
      if (outcome.kind === 'returned') {
        const returned = { ...result, contractCallResult: hexToBytes(outcome.data) }
        return { functionResult: returned }
      }
      const errorMessage = outcome.kind === 'reverted' ? outcome.data : 'INSUFFICIENT_PAYER_BALANCE'
      return { status: 'CONTRACT_REVERT_EXECUTED', functionResult: { ...result, errorMessage } }
    },
  ),
  // The protocol's one method with a capital letter.
  'SmartContractService/ContractGetBytecode': query(
    'contractGetBytecode',
    async ({ ledger }, { contractID }) => {
      const at = await findContract(ledger, contractID)
      if (at === undefined) return { status: 'INVALID_CONTRACT_ID' }
      const code = (await ledger.anvil.call('eth_getCode', [at, 'latest'])) as Hex
      return { bytecode: hexToBytes(code) }
    },
  ),
  'SmartContractService/getContractInfo': query(
    'contractGetInfo',
    async ({ ledger }, { contractID }) => {
      const at = await findContract(ledger, contractID)
      const entity = at === undefined ? undefined : ledger.accounts.byAddress(at)
      if (entity === undefined) return { status: 'INVALID_CONTRACT_ID' }
      const contractInfo = {
        contractID: contractId(entity.number),
        accountID: { accountNum: Long.fromNumber(entity.number) },
        contractAccountID: entity.address.slice(2),
        balance: await readBalance(ledger, entity),
        memo: entity.memo,
        ...NEVER,
      }
      return { contractInfo }
    },
  ),
  'FileService/getFileContent': query('fileGetContents', async ({ ledger }, { fileID }) => {
    const file = findFile(ledger, fileID)
    if (file === undefined) return { status: 'INVALID_FILE_ID' }
    if (file.contents === undefined) return { status: 'FILE_DELETED' }
    return { fileContents: { fileID, contents: file.contents } }
  }),
  'FileService/getFileInfo': query('fileGetInfo', async ({ ledger }, { fileID }) => {
    const file = findFile(ledger, fileID)
    if (file === undefined) return { status: 'INVALID_FILE_ID' }
    const fileInfo = {
      fileID,
      size: Long.fromNumber(file.contents?.length ?? 0),
      deleted: file.contents === undefined,
      keys: { keys: file.keys.map(toProtoKey) },
      memo: file.memo,
      expirationTime: NEVER.expirationTime,
    }
    return { fileInfo }
  }),
  'ConsensusService/getTopicInfo': query(
    'consensusGetTopicInfo',
    async ({ ledger }, { topicID }) => {
      const topic = ledger.topics.byNumber.get(Number(toBigInt(topicID?.topicNum)))
      if (topic === undefined) return { status: 'INVALID_TOPIC_ID' }
      const topicInfo = {
        memo: topic.memo,
        runningHash: runningHash(topic),
        sequenceNumber: Long.fromNumber(topic.messages.length),
        ...(topic.adminKey && { adminKey: toProtoKey(topic.adminKey) }),
        ...(topic.submitKey && { submitKey: toProtoKey(topic.submitKey) }),
        ...NEVER,
        ...renewalInfo(topic.renewal),
      }
      return { topicID, topicInfo }
    },
  ),
  'ScheduleService/getScheduleInfo': query(
    'scheduleGetInfo',
    async ({ ledger }, { scheduleID }) => {
      const found = ledger.waiting.byNumber.get(Number(toBigInt(scheduleID?.scheduleNum)))
      if (found === undefined) return { status: 'INVALID_SCHEDULE_ID' }
      const { adminKey, creator, executedNs, expiryNs, memo, payer } = found
      const scheduleInfo = {
        scheduleID,
        memo,
        scheduledTransactionBody: proto.SchedulableTransactionBody.decode(found.body),
        scheduledTransactionID: scheduledId(found),
        creatorAccountID: accountId(creator.number),
        payerAccountID: accountId(payer.number),
        expirationTime: toProtoTimestamp(expiryNs),
        ...(executedNs !== undefined && { executionTime: toProtoTimestamp(executedNs) }),
        ...(adminKey && { adminKey: toProtoKey(adminKey) }),
        signers: {
          keys: found.signatures.map(({ signature: { kind, publicKeyPrefix } }) =>
            toProtoKey({ kind, publicKey: publicKeyPrefix.toString('hex') }),
          ),
        },
        waitForExpiry: found.waitsForExpiry,
      }
      return { scheduleInfo }
    },
  ),
  'TokenService/getTokenInfo': query('tokenGetInfo', async ({ ledger }, { token: id }) => {
    const token = ledger.tokens.byNumber(Number(toBigInt(id?.tokenNum)))
    if (token === undefined) return { status: 'INVALID_TOKEN_ID' }
    const { decimals, keys, maxSupply, memo, metadata, name, symbol, totalSupply, treasury } = token
    const tokenInfo = {
      tokenId: id,
      name,
      symbol,
      decimals,
      memo,
      metadata,
      totalSupply: long(totalSupply),
      maxSupply: long(maxSupply),
      supplyType: maxSupply === 0n ? 0 : 1,
      treasury: { accountNum: Long.fromNumber(treasury.number) },
      ...Object.fromEntries(
        TOKEN_KEYS.flatMap((key) => (keys[key] ? [[`${key}Key`, toProtoKey(keys[key])]] : [])),
      ),
      defaultFreezeStatus: keys.freeze === null ? 0 : token.startsFrozen ? 1 : 2,
      defaultKycStatus: keys.kyc === null ? 0 : 2,
      pauseStatus: keys.pause === null ? 0 : token.isPaused ? 1 : 2,
      deleted: token.isDeleted,
      customFees: token.fees.map(toProtoFee),
      expiry: NEVER.expirationTime,
      ...renewalInfo(token.renewal),
    }
    return { tokenInfo }
  }),
}

const renewalInfo = ({ account, periodSeconds }: Renewal) => ({
  ...(account && { autoRenewAccount: accountId(account.number) }),
  autoRenewPeriod: { seconds: Long.fromNumber(periodSeconds) },
})

const long = (amount: bigint): Long => Long.fromString(amount.toString())

function toProtoFee(fee: CustomFee): proto.ICustomFee {
  const shared = {
    feeCollectorAccountId: { accountNum: Long.fromNumber(fee.collector.number) },
    allCollectorsAreExempt: fee.isEveryCollectorExempt,
  }
  if (fee.kind === 'fixed') {
    const { amount, token } = fee
    const denominatingTokenId = token === undefined ? null : { tokenNum: Long.fromNumber(token) }
    return { ...shared, fixedFee: { amount: long(amount), denominatingTokenId } }
  }
  const fractionalFee = {
    fractionalAmount: { numerator: long(fee.numerator), denominator: long(fee.denominator) },
    minimumAmount: long(fee.min),
    maximumAmount: long(fee.max),
    netOfTransfers: fee.isNetOfTransfers,
  }
  return { ...shared, fractionalFee }
}

const findFile = (ledger: Ledger, id: proto.IFileID | null | undefined): LedgerFile | undefined =>
  ledger.files.byNumber.get(Number(toBigInt(id?.fileNum)))
