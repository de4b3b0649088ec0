/** The client and server sides for the official classes, the requirement, and the domain check. */

import { manualClock } from '@tallystick/service-kit'
import { x402Facilitator } from '@x402/core/facilitator'
import { x402HTTPResourceServer, x402ResourceServer } from '@x402/core/server'
import type { PaymentRequirements, SchemeNetworkFacilitator } from '@x402/core/types'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EVM_PAY_TO, EvmStandIn, evmPayer } from '../../testing/evm-stand-in.fixture.ts'
import { type ScriptedServer, scriptedServer } from '../../testing/scripted-server.fixture.ts'
import { LedgerUnavailable } from '../payment-scheme.ts'
import { evmSigner } from './authorization.ts'
import { parseEvmAsset, X_LAYER_USDT0 } from './evm-asset.ts'
import { checkEvmDomain, createJsonRpcLedger, type EvmLedger } from './evm-ledger.ts'
import { ExactEvmClient } from './exact-evm-client.ts'
import { createExactEvmScheme, ExactEvmServer, evmRequirement } from './exact-evm-scheme.ts'

type Terms = Parameters<typeof evmRequirement>[0]

const NETWORK = 'eip155:196'
const asset = X_LAYER_USDT0
let node: ScriptedServer

describe('the requirement', () => {
  test('G9: a cent of USD₮0 is 10000 base units, with the token’s signing domain in extra', () => {
    expect(evmRequirement({ asset, amount: 10_000n, payTo: EVM_PAY_TO })).toEqual({
      scheme: 'exact',
      network: NETWORK,
      amount: '10000',
      asset: '0x779Ded0c9e1022225f8E0630b35a9b54bE713736',
      payTo: EVM_PAY_TO,
      maxTimeoutSeconds: 300,
      extra: { name: 'USD₮0', version: '1', paymentFlow: 'upfront' },
    })
  })

  const ADDRESS = 'payTo: expected an address, 0x and 40 hexadecimal digits, not '
  const DOLLARS = "price: expected dollars above 0 such as '$0.01', with at most 6 decimals, not "
  test.each([
    ['no amount', { amount: 0n }, 'amount: expected base units above 0, in 256 bits, not 0'],
    ['an amount that is too large', { amount: 1n << 256n }, 'amount: expected base units above 0'],
    ['an account id as receiver', { payTo: '0.0.7001' }, `${ADDRESS}"0.0.7001"`],
    [
      'a key as receiver',
      { payTo: `0x${'11'.repeat(32)}` },
      `${ADDRESS}68 characters that may hold`,
    ],
    ['a zero timeout', { maxTimeoutSeconds: 0 }, 'maxTimeoutSeconds: expected 1 to 900, not 0'],
    ['a timeout over 900 s', { maxTimeoutSeconds: 901 }, 'maxTimeoutSeconds: expected 1 to 900'],
    [
      'a network of another family',
      { asset: { ...asset, network: 'hedera:testnet' } },
      'asset.network: expected a network such as eip155:196, not "hedera:testnet"',
    ],
  ])('%s is our own mistake, and its message names it', (_name, changes, message) => {
    const terms = { asset, amount: 1n, payTo: EVM_PAY_TO, ...changes } as Terms
    expect(() => evmRequirement(terms)).toThrow(message)
  })

  test.each(['0.01', '$0', '$0.0000001', '$1e-2', '$-1', '€1'])('%s is no price', (price) => {
    const terms = { asset, price, payTo: EVM_PAY_TO } as unknown as Terms
    expect(() => evmRequirement(terms)).toThrow(`${DOLLARS}"${price}"`)
  })

  test('a price in dollars is the token’s base units', () => {
    const cent = evmRequirement({ asset, price: '$0.01', payTo: EVM_PAY_TO })
    expect(cent).toEqual(evmRequirement({ asset, amount: 10_000n, payTo: EVM_PAY_TO }))
  })

  test('an asset can be given in a variable; USD₮0 on X Layer by its address alone', () => {
    expect(parseEvmAsset(asset.address.toLowerCase(), NETWORK)).toEqual(asset)
    const text = '0x4ae46a509f6b1d9056937ba4500cb143933d2dc8/USDG/2/6'
    expect(parseEvmAsset(text, NETWORK)).toMatchObject({ name: 'USDG', version: '2', decimals: 6 })
    for (const wrong of [
      '',
      '0x12',
      EVM_PAY_TO,
      `${EVM_PAY_TO}/x`,
      `${text}/7`,
      `${EVM_PAY_TO}/x/1/78`,
    ]) {
      expect(parseEvmAsset(wrong, NETWORK)).toBeUndefined()
    }
  })

  test('a scheme serves assets of one network', () => {
    const { ledger } = new EvmStandIn()
    const clock = manualClock(0)
    const elsewhere = { ...asset, network: 'eip155:1' }
    for (const assets of [[], [asset, elsewhere]]) {
      expect(() => createExactEvmScheme({ assets, ledger, clock })).toThrow(RangeError)
    }
  })
})

describe('G9: the domain is checked against the token', () => {
  test.each([
    ['right', asset],
    ['wrong_domain', { ...asset, name: 'USDT0' }],
    ['wrong_chain', { ...asset, network: 'eip155:1' }],
  ])('%s', async (kind, checked) => {
    expect(await checkEvmDomain(checked, new EvmStandIn().ledger)).toMatchObject({ kind })
  })

  test('an unreachable chain proves nothing, and does not prevent a start', async () => {
    const chain = new EvmStandIn()
    chain.isDown = true
    expect(await checkEvmDomain(asset, chain.ledger)).toMatchObject({ kind: 'unreachable' })
  })
})

describe('the signer', () => {
  test.each(['', '0x12', 'zz'.repeat(32), '00'.repeat(32)])(
    'refuses the key "%s" without repeating it',
    (privateKey) => {
      expect(() => evmSigner({ privateKey })).toThrow(
        'privateKey: expected 32 bytes in hex, or DER in hex; it is ',
      )
    },
  )
})

describe('the client refuses what it cannot pay', () => {
  const wanted = evmRequirement({ asset, amount: 1n, payTo: EVM_PAY_TO }) as PaymentRequirements
  test.each<[string, Partial<PaymentRequirements>]>([
    ['another network family', { network: 'hedera:testnet' }],
    ['an asset that is not an address', { asset: '0.0.0' }],
    ['a receiver that is not an address', { payTo: '0.0.1' }],
    ['no signing domain', { extra: {} }],
    ['another transfer method', { extra: { ...wanted.extra, assetTransferMethod: 'permit2' } }],
    ['a zero amount', { amount: '0' }],
  ])('%s', async (_name, changes) => {
    const client = new ExactEvmClient({ signer: evmPayer })
    await expect(client.createPaymentPayload(2, { ...wanted, ...changes })).rejects.toThrow(
      RangeError,
    )
  })

  test('never signs the same nonce twice', async () => {
    const client = new ExactEvmClient({ signer: evmPayer })
    const payloads = await Promise.all(
      Array.from({ length: 50 }, () => client.createPaymentPayload(2, wanted)),
    )
    expect(new Set(payloads.map(({ payload }) => JSON.stringify(payload))).size).toBe(50)
  })
})

describe('X12: the official server accepts our scheme unchanged', () => {
  const server = new ExactEvmServer({ assets: [asset] })

  test.each([
    ['$0.01', '10000'],
    ['0.20', '200000'],
    [1, '1000000'],
    ['$0.000001', '1'],
  ])('%s is %s base units', async (price, amount) => {
    expect(await server.parsePrice(price, NETWORK)).toEqual({ asset: asset.address, amount })
  })

  test.each(['$0.0000001', '-1', 'free', '1e3'])('%s is not a price', async (price) => {
    await expect(server.parsePrice(price, NETWORK)).rejects.toThrow(RangeError)
  })

  test('an amount of a known asset is accepted as given; another asset is refused', async () => {
    const price = { asset: asset.address, amount: '5' }
    expect(await server.parsePrice(price, NETWORK)).toEqual(price)
    await expect(server.parsePrice({ ...price, asset: EVM_PAY_TO }, NETWORK)).rejects.toThrow(
      RangeError,
    )
    expect(server.getAssetDecimals(asset.address, NETWORK)).toBe(6)
    expect(server.getAssetDecimals(EVM_PAY_TO, NETWORK)).toBeUndefined()
  })

  test('its challenge carries the signing domain', async () => {
    const facilitator = new x402Facilitator().register(NETWORK, new SilentFacilitator())
    const resourceServer = new x402ResourceServer({
      verify: (...order) => facilitator.verify(...order),
      settle: (...order) => facilitator.settle(...order),
      getSupported: async () => facilitator.getSupported() as never,
    }).register(NETWORK, server)
    const http = new x402HTTPResourceServer(resourceServer, {
      'POST /grade': {
        accepts: { scheme: 'exact', network: NETWORK, payTo: EVM_PAY_TO, price: '$0.01' },
      },
    })
    await http.initialize()
    const adapter = {
      getHeader: () => undefined,
      getMethod: () => 'POST',
      getPath: () => '/grade',
      getUrl: () => 'http://shop.example/grade',
      getAcceptHeader: () => '',
      getUserAgent: () => '',
    }
    const result = await http.processHTTPRequest({ adapter, path: '/grade', method: 'POST' })
    if (result.type !== 'payment-error') throw new Error('not challenged')
    const header = result.response.headers['PAYMENT-REQUIRED'] ?? ''
    expect(JSON.parse(Buffer.from(header, 'base64').toString())).toMatchObject({
      accepts: [
        { amount: '10000', extra: { name: 'USD₮0', version: '1', paymentFlow: 'upfront' } },
      ],
    })
  })
})

describe('a hostile or broken node is LedgerUnavailable, never a wrong answer', () => {
  beforeAll(async () => {
    node = await scriptedServer()
  })
  afterAll(() => node.close())

  test.each([
    ['no JSON-RPC', '{}'],
    ['a result that is not a word', '{"jsonrpc":"2.0","id":1,"result":"0x"}'],
    ['a number', '{"jsonrpc":"2.0","id":1,"result":1}'],
    ['an error', '{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"rate limited"}}'],
    ['a revert', '{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted"}}'],
    ['a page', '<html>'],
  ])('%s', async (_name, body) => {
    const ledger = await ledgerThatAnswers(body)
    const key = { asset: EVM_PAY_TO, payer: EVM_PAY_TO, nonce: `0x${'00'.repeat(32)}` } as const
    await expect(ledger.isAuthorizationUsed(key)).rejects.toThrow(LedgerUnavailable)
    await expect(ledger.block()).rejects.toThrow(LedgerUnavailable)
  })

  test.each([
    'execution reverted',
    'invalid opcode: INVALID',
    'invalid jump destination',
    'stack limit reached 1024 (1023)',
    'write protection',
    'EVM error InvalidFEOpcode',
    'EVM error: OpcodeNotFound',
    'EVM error: StateChangeDuringStaticCall',
    'VM execution error.',
  ])('X21: what the wallet’s own code did wrong means no: %s', async (message) => {
    const wallet = walletThatAnswers({ error: { code: -32_000, message } })
    expect(await wallet.isValidSignature(ASKED)).toBe(false)
  })

  test.each([
    'too many requests',
    'header not found',
    'request timed out',
    'method handler crashed',
    'execution aborted (timeout = 5s)',
    'insufficient funds for gas * price + value',
  ])('X21: a node’s own failure says nothing about a wallet: %s', async (message) => {
    const limited = walletThatAnswers({ error: { code: -32_000, message } })
    await expect(limited.isValidSignature(ASKED)).rejects.toThrow(LedgerUnavailable)
  })
})

test('X14, X21: a wallet is asked as in a transaction: by its token, with the gas of a transfer and at the price of gas', async () => {
  node = await scriptedServer()
  await walletThatAnswers({ result: '0x' }).isValidSignature(ASKED)
  const bodies = node.requests.map(({ body }) => body as { readonly params?: readonly object[] })
  const params = bodies.at(-1)?.params ?? []
  const [gas, gasPrice] = [`0x${(250_000).toString(16)}`, '0x3b9aca00']
  expect(params[0]).toMatchObject({ from: TOKEN, to: EVM_PAY_TO, gas, gasPrice })
  expect(params[2]).toEqual({ [TOKEN]: { balance: `0x${(250_000n * 10n ** 9n).toString(16)}` } })
  await node.close()
})

async function ledgerThatAnswers(body: string): Promise<EvmLedger> {
  node.answer = { status: 200, body }
  return createJsonRpcLedger({ url: node.url, clock: manualClock(0) })
}

const TOKEN = `0x${'70'.repeat(20)}`
const ASKED = {
  wallet: EVM_PAY_TO,
  token: TOKEN,
  digest: Buffer.alloc(32),
  signature: Buffer.alloc(65),
} as const

type Call = { readonly id: number; readonly method: string }

/** A chain on which every account is a contract that answers so, and gas costs a gwei. */
function walletThatAnswers(said: object): EvmLedger {
  const known: Readonly<Record<string, object>> = {
    eth_getCode: { result: '0x60' },
    eth_gasPrice: { result: '0x3b9aca00' },
  }
  const answer = ({ id, method }: Call) => ({ jsonrpc: '2.0', id, ...(known[method] ?? said) })
  node.answer = (body) => {
    const answers = Array.isArray(body) ? (body as Call[]).map(answer) : answer(body as Call)
    return { status: 200, body: JSON.stringify(answers) }
  }
  return createJsonRpcLedger({ url: node.url, clock: manualClock(0) })
}

class SilentFacilitator implements SchemeNetworkFacilitator {
  readonly scheme = 'exact'
  readonly caipFamily = 'eip155:*'

  getExtra(): undefined {
    return undefined
  }

  getSigners(): string[] {
    return []
  }

  async verify(): Promise<never> {
    throw new Error('not asked here')
  }

  async settle(): Promise<never> {
    throw new Error('not asked here')
  }
}
