/** Every rule of the scheme, and every known attack on it by name. */
import { anything, assert as assertProperty, asyncProperty, constantFrom, nat } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LedgerUnavailable } from '../../payment-scheme.ts'
import {
  centRequirement,
  EVM_NOW_SECONDS,
  EVM_PAY_TO,
  type EvmPayloadJson,
  EvmStandIn,
  evmPayer,
  payCent,
} from '../../testing/evm-stand-in.ts'
import { X_LAYER_USDT0 } from './evm-asset.ts'
import { evmSigner } from './evm-signer.ts'
import { bytesOfHex, hexOfBytes } from './evm-words.ts'
import { ExactEvmClient } from './exact-evm-client.ts'
import { verifyEvmPayment } from './verify-evm-payment.ts'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

const verify = (
  payload: unknown,
  { chain = new EvmStandIn(), requirement = centRequirement() } = {},
) =>
  verifyEvmPayment(payload, requirement, {
    assets: [X_LAYER_USDT0],
    ledger: chain.ledger,
    nowSeconds: chain.nowSeconds,
  })

const refusal = async (payload: unknown, world?: Parameters<typeof verify>[1]): Promise<string> => {
  const verification = await verify(payload, world)
  return verification.kind === 'refused' ? verification.reason : verification.kind
}

/** A payload with other fields, signed for what it then says. */
async function payWith(changes: Record<string, string>): Promise<EvmPayloadJson> {
  const honest = await payCent()
  const { from, nonce, to, validAfter, validBefore, value } = {
    ...(honest.authorization as Record<'from' | 'to' | 'nonce', `0x${string}`> &
      Record<'value' | 'validAfter' | 'validBefore', string>),
    ...changes,
  }
  const signature = await evmPayer.signTypedData({
    domain: { ...X_LAYER_USDT0, chainId: 196, verifyingContract: X_LAYER_USDT0.address },
    types: {} as never,
    primaryType: 'TransferWithAuthorization',
    message: {
      from,
      to,
      nonce,
      value: BigInt(value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
    },
  })
  return { authorization: { from, to, value, validAfter, validBefore, nonce }, signature }
}

describe('X12: an honest payment', () => {
  test('is valid, and its key is network, asset, payer and nonce, in lower case', async () => {
    const chain = new EvmStandIn()
    const payload = await payCent()
    const { nonce } = payload.authorization
    const verification = await verify(payload, { chain })
    const asset = X_LAYER_USDT0.address.toLowerCase()
    expect(verification).toEqual({
      kind: 'valid',
      payment: {
        id: `eip155:196/${asset}/${evmPayer.address}/${nonce}`,
        network: 'eip155:196',
        asset,
        amount: 10_000n,
        payTo: EVM_PAY_TO,
        payer: evmPayer.address,
        payerEvmAddress: evmPayer.address,
        nonce,
        memo: '',
        validFromSeconds: 0,
        validUntilSeconds: EVM_NOW_SECONDS + 300,
      },
    })
    expect(chain.calls).toBe(0)
  })

  test('the spelling of addresses and nonce does not matter: the key stays the same', async () => {
    const payload = await payCent()
    const { from, nonce, to } = payload.authorization
    const loud = {
      ...payload,
      authorization: {
        ...payload.authorization,
        from: upper(from ?? ''),
        to: upper(to ?? ''),
        nonce: upper(nonce ?? ''),
      },
    }
    expect(await verify(loud)).toEqual(await verify(payload))
  })

  test.each([0, 27])('v %i and its odd neighbour are taken', async (base) => {
    const payload = await payCent()
    const bytes = bytesOfHex(payload.signature)
    bytes[64] = base + ((bytes[64] ?? 27) - 27)
    expect(await refusal({ ...payload, signature: hexOfBytes(bytes) })).toBe('valid')
  })
})

describe('the time of an authorization', () => {
  test.each([
    ['ends in 7 s', '7', 'valid'],
    ['ends in 6 s, too late for a block', '6', 'expired'],
    ['ended', '-1', 'expired'],
    ['ends later than asked, within 600 s', '900', 'valid'],
    [
      'ends more than 600 s later than asked',
      '901',
      'invalid_exact_evm_payload_authorization_valid_before',
    ],
  ])('X12: %s', async (_name, seconds, outcome) => {
    const validBefore = String(EVM_NOW_SECONDS + Number(seconds))
    expect(await refusal(await payWith({ validBefore }))).toBe(outcome)
  })

  test.each([
    [0, 'valid'],
    [1, 'invalid_exact_evm_payload_authorization_valid_after'],
  ])('one that begins in %i s is %s', async (seconds, outcome) => {
    const validAfter = String(EVM_NOW_SECONDS + seconds)
    expect(await refusal(await payWith({ validAfter }))).toBe(outcome)
  })

  test('an expired payment with a wrong signature is refused, not looked up', async () => {
    const payload = await payWith({ validBefore: '1' })
    const { signature } = await payCent()
    expect(await refusal({ ...payload, signature })).toBe('invalid_exact_evm_payload_signature')
  })
})

describe('attacks', () => {
  test('a payment to somebody else', async () => {
    const payload = await payWith({ to: `0x${'22'.repeat(20)}` })
    expect(await refusal(payload)).toBe('invalid_exact_evm_payload_recipient_mismatch')
  })

  test.each(['9999', '10001', '0'])('an amount of %s instead of 10000', async (value) => {
    const reason = 'invalid_exact_evm_payload_authorization_value_mismatch'
    expect(await refusal(await payWith({ value }))).toBe(reason)
  })

  test('a payment of the seller to itself', async () => {
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
    const asked = {
      ...centRequirement(),
      network: 'eip155:196',
      extra: { name: 'USD₮0', version: '1' },
    } as const
    const { payload } = await thief.createPaymentPayload(2, asked)
    expect(await refusal(payload)).toBe('invalid_exact_evm_payload_signature')
  })

  test('any single flipped bit of the signature or the signed fields', async () => {
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

describe('malformed payloads are refused and never throw', () => {
  test.each<[string, (honest: EvmPayloadJson) => unknown]>([
    ['nothing', () => undefined],
    ['null', () => null],
    ['a text', () => 'pay'],
    ['no authorization', ({ signature }) => ({ signature })],
    ['no signature', ({ authorization }) => ({ authorization })],
    ['a further key', (honest) => ({ ...honest, permit2Authorization: {} })],
    [
      'a further key inside',
      (honest) => ({ ...honest, authorization: { ...honest.authorization, x: '1' } }),
    ],
    [
      'a number instead of a decimal text',
      (honest) => ({ ...honest, authorization: { ...honest.authorization, value: 10_000 } }),
    ],
    ...['0x2710', '010000', '1e4', '-1', '', ' 10000', '9'.repeat(78)].map(
      (value): [string, (honest: EvmPayloadJson) => unknown] => [
        `the amount ${JSON.stringify(value)}`,
        (honest) => ({ ...honest, authorization: { ...honest.authorization, value } }),
      ],
    ),
    ['a nonce of 31 bytes', (honest) => withField(honest, 'nonce', `0x${'ab'.repeat(31)}`)],
    ['an address of 21 bytes', (honest) => withField(honest, 'to', `0x${'ab'.repeat(21)}`)],
    ['a signature of odd length', (honest) => ({ ...honest, signature: '0x123' })],
    ['an empty signature', (honest) => ({ ...honest, signature: '0x' })],
    ['a huge signature', (honest) => ({ ...honest, signature: `0x${'ab'.repeat(2_049)}` })],
  ])('%s', async (_name, change) => {
    const chain = new EvmStandIn()
    expect(await refusal(change(await payCent()), { chain })).toBe('invalid_exact_evm_payload')
    expect(chain.calls).toBe(0)
  })

  test('anything at all', async () => {
    await assertProperty(
      asyncProperty(anything(), async (payload) => {
        expect(await refusal(payload)).toBe('invalid_exact_evm_payload')
      }),
    )
  })
})

describe('EIP-1271: wallets that are contracts', () => {
  test('the contract decides where no key of the payer’s signed', async () => {
    const chain = new EvmStandIn()
    const payload = { ...(await payCent()), signature: `0x${'cd'.repeat(130)}` }
    chain.wallets.set(evmPayer.address, (_digest, signature) => signature.length === 130)
    expect(await refusal(payload, { chain })).toBe('valid')
    chain.wallets.set(evmPayer.address, () => false)
    expect(await refusal(payload, { chain })).toBe('invalid_exact_evm_payload_signature')
  })

  test('without code at the address the signature is refused, also wrapped for a wallet to be made (ERC-6492)', async () => {
    const chain = new EvmStandIn()
    const payload = { ...(await payCent()), signature: `0x${'cd'.repeat(64)}${'6492'.repeat(16)}` }
    expect(await refusal(payload, { chain })).toBe('invalid_exact_evm_payload_signature')
    expect(chain.calls).toBe(1)
  })

  test('while the chain cannot be read such a payment is neither refused nor taken', async () => {
    const chain = new EvmStandIn()
    chain.isDown = true
    const payload = { ...(await payCent()), signature: `0x${'cd'.repeat(65)}` }
    await expect(verify(payload, { chain })).rejects.toThrow(LedgerUnavailable)
  })

  test('an own key’s payment needs no chain at all', async () => {
    const chain = new EvmStandIn()
    chain.isDown = true
    expect(await refusal(await payCent(), { chain })).toBe('valid')
  })
})

function withField(honest: EvmPayloadJson, field: string, value: string): unknown {
  return { ...honest, authorization: { ...honest.authorization, [field]: value } }
}

function upper(text: string): string {
  return `0x${text.slice(2).toUpperCase()}`
}
