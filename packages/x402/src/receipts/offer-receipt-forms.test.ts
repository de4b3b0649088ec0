/**
 * X18: the other forms of x402's offer-receipt, EIP-712 and JWS with ES256K. We sign neither; the vectors hold what the
 * official package makes of them, and that our verifier takes neither for proof.
 */
import { systemClock } from '@tallystick/service-kit'
import {
  extractReceiptPayload,
  hashOfferTypedData,
  hashReceiptTypedData,
  signOfferEIP712,
  signReceiptEIP712,
  verifyOfferSignatureEIP712,
  verifyReceiptSignatureEIP712,
  verifyReceiptSignatureJWS,
} from '@x402/extensions/offer-receipt'
import { recoverAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import vectors from '../../vectors/offer-receipt-forms.json' with { type: 'json' }
import { createReceiptVerifier } from './receipt-verifier.ts'
import { canonicalJson } from './signed-statement.ts'

const account = privateKeyToAccount(vectors.privateKey as `0x${string}`)
const { offer, receipt, receiptWithTransaction } = vectors.eip712
const hex = (text: string) => text as `0x${string}`

test('EIP-712: the official package hashes and signs an offer as the vector has it', async () => {
  expect(hashOfferTypedData(offer.payload)).toBe(offer.digest)
  const signature = await signOfferEIP712(offer.payload, (data) => account.signTypedData(data))
  expect(signature).toBe(offer.signature)
})

test.for([receipt, receiptWithTransaction])(
  'EIP-712: the official package hashes and signs a receipt as the vector has it: $digest',
  async ({ digest, payload, ...rest }) => {
    expect(hashReceiptTypedData(payload)).toBe(digest)
    const signature = await signReceiptEIP712(payload, (data) => account.signTypedData(data))
    expect([signature, undefined]).toContain('signature' in rest ? rest.signature : undefined)
    expect(await recoverAddress({ hash: hex(digest), signature })).toBe(vectors.address)
  },
)

test('EIP-712: the official verifier names who signed the offer and the receipt', async () => {
  const signedOffer = { format: 'eip712', payload: offer.payload, signature: offer.signature }
  expect(await verifyOfferSignatureEIP712(signedOffer as never)).toMatchObject({
    signer: vectors.address,
    payload: { amount: '10000' },
  })
  const signedReceipt = { format: 'eip712', payload: receipt.payload, signature: receipt.signature }
  expect(await verifyReceiptSignatureEIP712(signedReceipt as never)).toMatchObject({
    signer: vectors.address,
    payload: { payer: vectors.address },
  })
})

/** The receipt as a compact JWS, and its key as a document has it. */
function es256kReceipt() {
  const { canonical, kid, signature } = vectors.es256k
  const header = JSON.stringify({ alg: 'ES256K', kid })
  const parts = [header, canonical].map((part) => Buffer.from(part).toString('base64url'))
  const point = Buffer.from(account.publicKey.slice(4), 'hex')
  const [x, y] = [point.subarray(0, 32), point.subarray(32)].map((part) =>
    part.toString('base64url'),
  )
  const jwk = { kty: 'EC', crv: 'secp256k1', x, y } as const
  return { jwk, signed: { format: 'jws', signature: [...parts, signature].join('.') } as const }
}

test('ES256K: the official package reads the receipt, and its text is the canonical JSON', () => {
  const { signed } = es256kReceipt()
  const { canonical } = vectors.es256k
  expect(canonicalJson(extractReceiptPayload(signed))).toBe(canonical)
})

test('ES256K: the official verifier takes the receipt, and not one changed by a letter', async () => {
  const { jwk, signed } = es256kReceipt()
  const statement = await verifyReceiptSignatureJWS(signed, jwk as never)
  expect(statement).toEqual(JSON.parse(vectors.es256k.canonical))
  const [header = '', , signature = ''] = signed.signature.split('.')
  const other = Buffer.from(vectors.es256k.canonical.replace('0.0.1234', '0.0.1235'))
  const changed = [header, other.toString('base64url'), signature].join('.')
  await expect(
    verifyReceiptSignatureJWS({ format: 'jws', signature: changed }, jwk as never),
  ).rejects.toThrow('signature verification failed')
})

const inSettlement = (signed: object) => ({
  extensions: { 'offer-receipt': { info: { receipt: signed } } },
})

test('our verifier takes neither form for proof, and never throws', async () => {
  const verifier = createReceiptVerifier({ clock: systemClock })
  const own = {
    calledUrl: 'https://api.example.com/api/grade',
    network: 'eip155:196',
    payers: [vectors.address],
  }
  const eip712 = { format: 'eip712', payload: receipt.payload, signature: receipt.signature }
  for (const signed of [eip712, es256kReceipt().signed])
    expect(await verifier.receipt(inSettlement(signed), own)).toMatchObject({
      kind: 'unproven',
      reason: 'unreadable',
    })
})
