/**
 * Transfers that our clients would never write, for tests of verification: any part of the protobuf body can be changed,
 * and the result is properly signed.
 */
import proto from '@hiero-ledger/proto'
import Long from 'long'
import type { HederaSigner } from '../schemes/hedera/exact-hedera-client.ts'
import { FEE_PAYER, PAY_TO, PAYER, START_MS } from './hedera-stand-in.fixture.ts'

const { proto: hedera } = proto

export type BodyJson = { [field: string]: unknown }

export type Forgery = {
  readonly signers: readonly HederaSigner[]
  readonly nodes?: readonly number[]
  readonly edit?: (body: BodyJson, nodeIndex: number) => BodyJson
  /** Changes the signature pairs of one node's body. */
  readonly editPairs?: (pairs: BodyJson[], nodeIndex: number) => BodyJson[]
  /** Bytes appended to each serialised body. */
  readonly tail?: Uint8Array
}

/** A protobuf account by number. */
export function accountJson(accountId: string): BodyJson {
  return {
    shardNum: Long.ZERO,
    realmNum: Long.ZERO,
    accountNum: Long.fromString(accountId.slice(4)),
  }
}

/** A line of a transfer list. */
export function lineJson(accountId: string, tinybar: number | string): BodyJson {
  return { accountID: accountJson(accountId), amount: Long.fromString(String(tinybar)) }
}

/** The body of an honest payment of 3 HBAR as the SDK would freeze it at the stand-in's start. */
function honestBody(node = 3): BodyJson {
  return {
    transactionID: {
      accountID: accountJson(FEE_PAYER),
      transactionValidStart: { seconds: Long.fromNumber(START_MS / 1_000 - 8), nanos: 7 },
    },
    nodeAccountID: accountJson(`0.0.${node}`),
    transactionFee: Long.fromNumber(100_000_000),
    transactionValidDuration: { seconds: Long.fromNumber(180) },
    memo: '',
    cryptoTransfer: {
      transfers: { accountAmounts: [lineJson(PAYER, -300_000_000), lineJson(PAY_TO, 300_000_000)] },
      tokenTransfers: [],
    },
  }
}

/** Bytes of a TransactionList. */
export async function forgeTransfer(forgery: Forgery): Promise<Uint8Array> {
  const { edit, editPairs, nodes = [3], signers, tail = new Uint8Array() } = forgery
  const transactionList = await Promise.all(
    nodes.map(async (node, index) => {
      const honest = honestBody(node)
      const body = edit === undefined ? honest : edit(honest, index)
      const encoded = hedera.TransactionBody.encode(body).finish()
      const bodyBytes = Buffer.concat([encoded, tail])
      const pairs = await Promise.all(signers.map((signer) => signPair(signer, bodyBytes)))
      const sigPair = editPairs === undefined ? pairs : editPairs(pairs, index)
      const signed = { bodyBytes, sigMap: { sigPair } }
      return { signedTransactionBytes: hedera.SignedTransaction.encode(signed).finish() }
    }),
  )
  return hedera.TransactionList.encode({ transactionList }).finish()
}

async function signPair(signer: HederaSigner, bodyBytes: Uint8Array): Promise<BodyJson> {
  const signature = await signer.sign(bodyBytes)
  const kind = signer.keyKind === 'ecdsa' ? 'ECDSASecp256k1' : 'ed25519'
  return { pubKeyPrefix: signer.publicKey, [kind]: signature }
}
