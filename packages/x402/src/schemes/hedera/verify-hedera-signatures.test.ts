// oxlint-disable unicorn/consistent-function-scoping -- each forgery stands beside the rule that refuses it
/** Who must have signed: keys, thresholds, hollow accounts and rotated keys. */
import { describe, expect, test } from 'vitest'
import { type BodyJson, forgeTransfer, lineJson } from '../../testing/forged-transfer.fixture.ts'
import { PAY_TO } from '../../testing/hedera-stand-in.fixture.ts'
import {
  at,
  edPayer,
  hederaKey,
  ledgerWith,
  NOW_SECONDS,
  offer,
  payer,
  refusalReason,
  stranger,
  withLines,
} from '../../testing/hedera-verification.fixture.ts'
import { verifyHederaPayment } from './verify-hedera-payment.ts'

describe('refused: §2.4 and §2.1, each attack by name', () => {
  test('one node’s body unsigned', async () => {
    const editPairs = (pairs: BodyJson[], node: number): BodyJson[] => (node === 1 ? [] : pairs)
    expect(await refusalReason({ nodes: [3, 4], editPairs })).toBe(at('signature_invalid'))
  })

  test('X22: signed by another account’s key, which the reason names, by nobody, or with a broken signature', async () => {
    const broken = (pairs: BodyJson[]): BodyJson[] =>
      pairs.map((pair) => ({ ...pair, ECDSASecp256k1: Buffer.alloc(64, 1) }))
    const short = (pairs: BodyJson[]): BodyJson[] =>
      pairs.map((pair) => ({ ...pair, ECDSASecp256k1: Buffer.alloc(63, 1) }))
    expect(await refusalReason({ signers: [stranger] })).toBe(at('signed_by_another_key'))
    expect(await refusalReason({ signers: [] })).toBe(at('signature_invalid'))
    expect(await refusalReason({ editPairs: broken })).toBe(at('signature_invalid'))
    expect(await refusalReason({ editPairs: short })).toBe(at('signature_invalid'))
  })

  test('an empty key prefix, or two that the network cannot tell apart (KEY_PREFIX_MISMATCH)', async () => {
    const empty = (pairs: BodyJson[]): BodyJson[] =>
      pairs.map((pair) => ({ ...pair, pubKeyPrefix: Buffer.alloc(0) }))
    const twice = (pairs: BodyJson[]): BodyJson[] => [...pairs, ...pairs]
    expect(await refusalReason({ editPairs: empty })).toBe(at('signature_invalid'))
    expect(await refusalReason({ editPairs: twice })).toBe(at('signature_invalid'))
  })

  test('too few of a threshold, one missing from a list, a key nobody can sign for', async () => {
    const keys = [hederaKey(payer), hederaKey(edPayer)]
    for (const key of [
      { kind: 'threshold', threshold: 2, keys },
      { kind: 'unsupported' },
    ] as const) {
      expect(await refusalReason({}, { ledger: ledgerWith({ key }) })).toBe(at('signature_invalid'))
    }
  })

  test('a hollow account signed by another key, or with a cut prefix', async () => {
    const hollow = ledgerWith({ evmAddress: `0x${'aa'.repeat(20)}`, key: null })
    expect(await refusalReason({}, { ledger: hollow })).toBe(at('signed_by_another_key'))
    const own = ledgerWith({ evmAddress: payer.evmAddress ?? '0x', key: null })
    const editPairs = (pairs: BodyJson[]): BodyJson[] =>
      pairs.map((pair) => ({ ...pair, pubKeyPrefix: payer.publicKey.subarray(0, 32) }))
    expect(await refusalReason({ editPairs }, { ledger: own })).toBe(at('signature_invalid'))
  })

  test('a payer that does not exist or was deleted', async () => {
    const lines = [lineJson('0.0.424242', -300_000_000), lineJson(PAY_TO, 300_000_000)]
    expect(await refusalReason({ edit: withLines(lines) })).toBe(at('signature_invalid'))
    const ledger = ledgerWith({ key: hederaKey(payer), isDeleted: true })
    expect(await refusalReason({}, { ledger })).toBe(at('preflight_failed'))
  })

  test('a key list too large for one payment to sign completely', async () => {
    const many = Array.from({ length: 500 }, () => hederaKey(payer))
    const ledger = ledgerWith({ key: { kind: 'threshold', threshold: 500, keys: many } })
    expect(await refusalReason({}, { ledger })).toBe(at('signature_invalid'))
  })
})

test('after a key was rotated, the account is read again once the old key fails', async () => {
  const fresh = ledgerWith({ key: hederaKey(stranger) })
  const stale = ledgerWith({ key: hederaKey(payer) })
  const accounts = {
    account: (name: string) => stale.directory.account(name),
    refresh: (name: string) => fresh.directory.account(name),
  }
  const payload = {
    transaction: Buffer.from(await forgeTransfer({ signers: [stranger] })).toString('base64'),
  }
  const context = { accounts, nowSeconds: NOW_SECONDS }
  expect((await verifyHederaPayment(payload, offer(), context)).kind).toBe('valid')
})
