/** Every known attack on the scheme, by name. */
import { assert as assertProperty, asyncProperty, constantFrom, nat } from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  centRequirement,
  EVM_NOW_SECONDS,
  EVM_PAY_TO,
  evmPayer,
  payCent,
} from '../../testing/evm-stand-in.fixture.ts'
import { payWith, refusal } from '../../testing/evm-verification.fixture.ts'
import { evmSigner } from './authorization.ts'
import { X_LAYER_USDT0 } from './evm-asset.ts'
import { bytesOfHex, hexOfBytes } from './evm-words.ts'
import { ExactEvmClient } from './exact-evm-client.ts'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

describe('attacks', () => {
  test('a payment to somebody else', async () => {
    const payload = await payWith({ to: `0x${'22'.repeat(20)}` })
    expect(await refusal(payload)).toBe('invalid_exact_evm_payload_recipient_mismatch')
  })

  test.each(['9999', '10001', '0'])('an amount of %s instead of 10000', async (value) => {
    const reason = 'invalid_exact_evm_payload_authorization_value_mismatch'
    expect(await refusal(await payWith({ value }))).toBe(reason)
  })

  test('a payment from the seller to itself', async () => {
    const requirement = centRequirement({ payTo: evmPayer.address })
    expect(await refusal(await payCent(requirement), { requirement })).toBe('self_send_not_allowed')
  })

  test('the same authorization under a twin signature (high s)', async () => {
    const payload = await payCent()
    const bytes = bytesOfHex(payload.signature)
    const s = ORDER - BigInt(hexOfBytes(bytes.subarray(32, 64)))
    const v = (bytes[64] ?? 27) === 27 ? 28 : 27
    const twin = `${payload.signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v.toString(16)}`
    expect(await refusal({ ...payload, signature: twin })).toBe(
      'invalid_exact_evm_payload_signature',
    )
  })

  test.each(['name', 'version', 'chainId', 'verifyingContract'] as const)(
    'a signature for a domain with another %s',
    async (field) => {
      const payload = await payCent()
      const domain = { ...X_LAYER_USDT0, chainId: 196, verifyingContract: X_LAYER_USDT0.address }
      const other = { name: 'USDT0', version: '2', chainId: 988, verifyingContract: EVM_PAY_TO }
      const { authorization } = payload
      const signature = await evmPayer.signTypedData({
        domain: { ...domain, [field]: other[field] },
        types: {} as never,
        primaryType: 'TransferWithAuthorization',
        message: {
          from: evmPayer.address,
          to: EVM_PAY_TO,
          value: 10_000n,
          validAfter: 0n,
          validBefore: BigInt(authorization['validBefore'] ?? 0),
          nonce: authorization['nonce'] as `0x${string}`,
        },
      })
      const reason = 'invalid_exact_evm_payload_signature'
      expect(await refusal({ authorization, signature })).toBe(reason)
    },
  )

  test('a signature by somebody else in the payer’s name', async () => {
    const thief = new ExactEvmClient({
      signer: { ...evmSigner({ privateKey: '22'.repeat(32) }), address: evmPayer.address },
      clock: { unixMs: () => EVM_NOW_SECONDS * 1_000 },
    })
    const wanted = {
      ...centRequirement(),
      network: 'eip155:196',
      extra: { name: 'USD₮0', version: '1' },
    } as const
    const { payload } = await thief.createPaymentPayload(2, wanted)
    expect(await refusal(payload)).toBe('invalid_exact_evm_payload_signature')
  })

  test('any single flipped bit in the signature or the signed fields', async () => {
    const payload = await payCent()
    const fields = ['from', 'nonce', 'signature'] as const
    await assertProperty(
      asyncProperty(constantFrom(...fields), nat(), async (field, bit) => {
        const hex = field === 'signature' ? payload.signature : (payload.authorization[field] ?? '')
        const bytes = bytesOfHex(hex)
        const at = bit % (bytes.length * 8)
        bytes[at >> 3] = (bytes[at >> 3] ?? 0) ^ (1 << (at & 7))
        const changed = hexOfBytes(bytes)
        const forged =
          field === 'signature'
            ? { ...payload, signature: changed }
            : { ...payload, authorization: { ...payload.authorization, [field]: changed } }
        expect(await refusal(forged)).toMatch(/^invalid_exact_evm_payload_signature$/)
      }),
      { numRuns: 100 },
    )
  })

  test('a wrong name, version or method in the requirement is refused before any crypto', async () => {
    const payload = await payCent()
    const { extra } = centRequirement()
    const asks: readonly [Record<string, unknown>, string][] = [
      [{ ...extra, name: 'USDT0' }, 'invalid_exact_evm_token_name_mismatch'],
      [{ ...extra, version: '2' }, 'invalid_exact_evm_token_version_mismatch'],
      [{}, 'invalid_exact_evm_missing_eip712_domain'],
      [
        { ...extra, assetTransferMethod: 'permit2' },
        'invalid_exact_evm_unsupported_asset_transfer_method',
      ],
    ]
    for (const [wrong, reason] of asks) {
      expect(await refusal(payload, { requirement: centRequirement({ extra: wrong }) })).toBe(
        reason,
      )
    }
    const other = centRequirement({ asset: EVM_PAY_TO })
    expect(await refusal(payload, { requirement: other })).toBe('invalid_asset')
    const hedera = centRequirement({ network: 'hedera:testnet' })
    expect(await refusal(payload, { requirement: hedera })).toBe('network_mismatch')
  })
})
