/** What is an honest payment, and what is not a payment at all; attacks have their own file. */
import { anything, assert as assertProperty, asyncProperty } from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  EVM_NOW_SECONDS,
  EVM_PAY_TO,
  type EvmPayloadJson,
  EvmStandIn,
  evmPayer,
  payCent,
} from '../../testing/evm-stand-in.fixture.ts'
import { payWith, refusal, verify } from '../../testing/evm-verification.fixture.ts'
import { LedgerUnavailable } from '../payment-scheme.ts'
import { X_LAYER_USDT0 } from './evm-asset.ts'
import { bytesOfHex, hexOfBytes } from './evm-words.ts'

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

  test.each([0, 27])('v %i is accepted, and so is the other form of it', async (base) => {
    const payload = await payCent()
    const bytes = bytesOfHex(payload.signature)
    bytes[64] = base + ((bytes[64] ?? 27) - 27)
    expect(await refusal({ ...payload, signature: hexOfBytes(bytes) })).toBe('valid')
  })
})

describe('the time of an authorization', () => {
  test.each([
    ['ends in 7 s', '7', 'valid'],
    ['ends in 6 s, too late to reach a block', '6', 'expired'],
    ['ended', '-1', 'expired'],
    ['ends later than requested, within 600 s', '900', 'valid'],
    [
      'ends more than 600 s later than requested',
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

describe('malformed payloads are refused and never throw', () => {
  test.each<[string, (honest: EvmPayloadJson) => unknown]>([
    ['nothing', () => undefined],
    ['null', () => null],
    ['a text', () => 'pay'],
    ['no authorization', ({ signature }) => ({ signature })],
    ['no signature', ({ authorization }) => ({ authorization })],
    ['an extra key', (honest) => ({ ...honest, permit2Authorization: {} })],
    [
      'a nested extra key',
      (honest) => ({ ...honest, authorization: { ...honest.authorization, x: '1' } }),
    ],
    [
      'a number instead of a decimal string',
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
  test('the contract decides if no key of the payer’s signed', async () => {
    const chain = new EvmStandIn()
    const payload = { ...(await payCent()), signature: `0x${'cd'.repeat(130)}` }
    chain.wallets.set(evmPayer.address, (_digest, signature) => signature.length === 130)
    expect(await refusal(payload, { chain })).toBe('valid')
    chain.wallets.set(evmPayer.address, () => false)
    expect(await refusal(payload, { chain })).toBe('invalid_exact_evm_payload_signature')
  })

  test('X21: where contract wallets are off only a key’s signature is taken, and the chain is not asked', async () => {
    const chain = new EvmStandIn()
    const payload = { ...(await payCent()), signature: `0x${'cd'.repeat(130)}` }
    chain.wallets.set(evmPayer.address, () => true)
    const off = { chain, contractWallets: false }
    expect(await refusal(payload, off)).toBe('invalid_exact_evm_payload_key_signature_required')
    expect(await refusal(await payCent(), off)).toBe('valid')
    expect(chain.calls).toBe(0)
  })

  test('without code at the address the signature is refused, even if wrapped for a wallet yet to be deployed (ERC-6492)', async () => {
    const chain = new EvmStandIn()
    const payload = { ...(await payCent()), signature: `0x${'cd'.repeat(64)}${'6492'.repeat(16)}` }
    expect(await refusal(payload, { chain })).toBe('invalid_exact_evm_payload_signature')
    expect(chain.calls).toBe(1)
  })

  test('while the chain cannot be read, such a payment is neither refused nor accepted', async () => {
    const chain = new EvmStandIn()
    chain.isDown = true
    const payload = { ...(await payCent()), signature: `0x${'cd'.repeat(65)}` }
    await expect(verify(payload, { chain })).rejects.toThrow(LedgerUnavailable)
  })

  test('a payment signed by an ordinary key needs no chain at all', async () => {
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
