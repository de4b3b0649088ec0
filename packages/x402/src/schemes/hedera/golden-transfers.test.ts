import { describe, expect, test } from 'vitest'
import vectors from '../../../vectors/hedera-transfer.json' with { type: 'json' }
import { isSignedBy } from './hedera-key.ts'
import { hederaSigner } from './hedera-signer.ts'
import { readTransfer } from './read-transfer.ts'
import { canonicalTransactionId, parseTransactionId } from './transaction-id.ts'
import { writeTransactionList, writeTransferBody } from './write-transfer.ts'

describe.each(vectors.transfers)(
  'golden transfer of $draft.asset, $keyKind, memo "$draft.memo"',
  (vector) => {
    const keyKind = vector.keyKind === 'ecdsa' ? 'ecdsa' : 'ed25519'
    const { privateKey } = vector
    const signer = hederaSigner({ accountId: vector.draft.payer, privateKey, keyKind })

    test('the writer’s bytes', async () => {
      const transactionId = parseTransactionId(vector.draft.transactionId)
      if (transactionId === undefined) throw new Error('bad vector')
      const draft = {
        ...vector.draft,
        transactionId,
        amount: BigInt(vector.draft.amount),
        feeMaxTinybar: BigInt(vector.draft.feeMaxTinybar),
      }
      const bodies = vector.nodes.map((node) => writeTransferBody(draft, node))
      expect(bodies.map((body) => Buffer.from(body).toString('hex'))).toEqual(vector.bodies)
      const { keyKind: kind, publicKey } = signer
      const entries = await Promise.all(
        bodies.map(async (bodyBytes) => ({
          bodyBytes,
          kind,
          publicKey,
          signature: await signer.sign(bodyBytes),
        })),
      )
      expect(Buffer.from(writeTransactionList(entries)).toString('base64')).toBe(
        vector.transactionList,
      )
    })

    test('the reader’s values, and the signature', () => {
      const reading = readTransfer(Buffer.from(vector.transactionList, 'base64'))
      if (reading.kind === 'refused') throw new Error(reading.reason)
      const { transfer } = reading
      expect(canonicalTransactionId(transfer.transactionId)).toBe(vector.draft.transactionId)
      expect(transfer.memo).toBe(vector.draft.memo)
      const { amount, asset, payTo } = vector.draft
      expect(transfer.lines[1]).toEqual({ asset, account: payTo, amount: BigInt(amount) })
      expect(transfer.bodies.map(({ nodeAccountId }) => nodeAccountId)).toEqual(vector.nodes)
      const key = { kind: keyKind, publicKey: Buffer.from(vector.publicKey, 'hex') } as const
      expect(transfer.bodies.every((body) => isSignedBy(body, key))).toBe(true)
      expect(signer.evmAddress ?? null).toBe(vector.evmAddress)
    })
  },
)
