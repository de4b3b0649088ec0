// What checking one payment costs in CPU, before anything is reserved or settled: in dollars on EVM, and in HBAR on
// Hedera for one node and for the seven that official clients sign for. The baselines do the same with the libraries
// under the reference implementations.
import { PublicKey, Transaction } from '@hiero-ledger/sdk'
import {
  type EvmLedger,
  ExactEvmClient,
  evmRequirement,
  evmSigner,
  verifyEvmPayment,
} from '@tallystick/x402/evm'
import { TRANSFER_TYPES } from '@tallystick/x402/evm-client'
import {
  type AccountDirectory,
  ExactHederaClient,
  type HederaSigner,
  hederaRequirement,
  hederaSigner,
  verifyHederaPayment,
} from '@tallystick/x402/hedera'
import type { PaymentRequirements } from '@x402/core/types'
import { recoverTypedDataAddress } from 'viem'
import { type Aim, type Figure, judgeFigure } from '../figure.ts'
import { median } from '../quantile.ts'
import { BENCH_CHAIN, CENT_BASE_UNITS } from '../server/payment-network-facts.ts'

/** Payments in one sample: each is checked once, as in a server. */
const PAYMENTS = 400
/** The libraries take twenty times as long, so a few of the same payments are enough. */
const BASE_PAYMENTS = 40
const REPEATS = 9
const KEY = '11'.repeat(32)
const PAY_TO = `0x${'22'.repeat(20)}` as const

const evmAsset = {
  network: BENCH_CHAIN,
  address: '0x779Ded0c9e1022225f8E0630b35a9b54bE713736',
  name: 'USD₮0',
  version: '1',
  decimals: 6,
} as const
const dollars = evmRequirement({ asset: evmAsset, amount: CENT_BASE_UNITS, payTo: PAY_TO })
const hbar = hederaRequirement({
  network: 'hedera:testnet',
  amountTinybar: 300_000_000n,
  payTo: '0.0.7001',
  feePayer: '0.0.5001',
})

const nowSeconds = (): number => Math.floor(Date.now() / 1000)

/** CPU microseconds per payment, checked one at a time. */
async function measureMicros<Payment>(
  payments: readonly Payment[],
  check: (payment: Payment) => unknown,
): Promise<number> {
  const before = process.cpuUsage()
  for (const payment of payments) {
    if ((await check(payment)) !== true) throw new Error('a payment was not found valid')
  }
  const { system, user } = process.cpuUsage(before)
  return (user + system) / payments.length
}

type Compared = {
  readonly name: string
  readonly baseName: string
  readonly aim: Aim
  /** Signs a payment, never the same twice. */
  readonly sign: () => Promise<unknown>
  readonly check: (payload: unknown) => unknown
  readonly checkBase: (payload: unknown) => unknown
}

async function compare(compared: Compared): Promise<Figure> {
  const { aim, baseName, check, checkBase, name, sign } = compared
  const ours: number[] = []
  const base: number[] = []
  for (let repeat = 0; repeat <= REPEATS; repeat += 1) {
    const payments = await Promise.all(Array.from({ length: PAYMENTS }, sign))
    const checked = await measureMicros(payments, check)
    const checkedBase = await measureMicros(payments.slice(0, BASE_PAYMENTS), checkBase)
    // The first round warms up.
    if (repeat === 0) continue
    ours.push(checked)
    base.push(checkedBase)
  }
  return judgeFigure({
    name,
    value: median(ours),
    unit: 'µs',
    baseline: { name: baseName, value: median(base) },
    aim,
  })
}

/** No contract signs here, so a question to the chain is a bug in this suite. */
const noLedger: Pick<EvmLedger, 'isValidSignature'> = {
  isValidSignature: () => Promise.reject(new Error('the chain was asked')),
}

async function compareEvm(): Promise<Figure> {
  const signer = evmSigner({ privateKey: KEY })
  const client = new ExactEvmClient({ signer })
  const { address: verifyingContract, name, version } = evmAsset
  return await compare({
    name: 'verification, EVM',
    baseName: "viem's recovery",
    aim: { kind: 'at-most', value: 100 },
    sign: async () =>
      (await client.createPaymentPayload(2, dollars as PaymentRequirements)).payload,
    check: async (payload) => {
      const context = { assets: [evmAsset], ledger: noLedger, nowSeconds: nowSeconds() }
      return (await verifyEvmPayment(payload, dollars, context)).kind === 'valid'
    },
    checkBase: async (payload) => {
      const { authorization, signature } = payload as {
        authorization: Record<string, string>
        signature: `0x${string}`
      }
      const message = authorization as never
      const domain = { name, version, chainId: 196, verifyingContract }
      const primaryType = 'TransferWithAuthorization'
      const found = await recoverTypedDataAddress({
        domain,
        types: TRANSFER_TYPES,
        primaryType,
        message,
        signature,
      })
      return found.toLowerCase() === signer.address
    },
  })
}

async function compareHedera(
  signer: HederaSigner,
  nodes: { readonly count: number; readonly ids?: readonly string[] },
): Promise<Figure> {
  const { keyKind, publicKey } = signer
  const client = new ExactHederaClient({
    signer,
    ...(nodes.ids === undefined ? {} : { nodeAccountIds: nodes.ids }),
  })
  const account = {
    accountId: signer.accountId,
    evmAddress: `0x${'33'.repeat(20)}`,
    key: { kind: keyKind, publicKey },
    isDeleted: false,
  } as const
  const accounts: AccountDirectory = { account: async () => account, refresh: async () => account }
  const sdkKey =
    keyKind === 'ecdsa'
      ? PublicKey.fromBytesECDSA(publicKey)
      : PublicKey.fromBytesED25519(publicKey)
  return await compare({
    name: `verification, Hedera, ${keyKind === 'ecdsa' ? 'ECDSA' : 'Ed25519'}, ${nodes.count === 1 ? 'one node' : `${nodes.count} nodes`}`,
    baseName: "the SDK's fromBytes and verifyTransaction",
    aim: { kind: 'none' },
    sign: async () => (await client.createPaymentPayload(2, hbar as PaymentRequirements)).payload,
    check: async (payload) => {
      const context = { accounts, nowSeconds: nowSeconds() }
      return (await verifyHederaPayment(payload, hbar, context)).kind === 'valid'
    },
    checkBase: (payload) => {
      const { transaction } = payload as { transaction: string }
      return sdkKey.verifyTransaction(Transaction.fromBytes(Buffer.from(transaction, 'base64')))
    },
  })
}

/** Verification of one payment of each kind. */
export async function measureX402Verify(): Promise<readonly Figure[]> {
  const accountId = '0.0.9001'
  const ecdsa = hederaSigner({ accountId, privateKey: KEY })
  const ed25519 = hederaSigner({ accountId, privateKey: KEY, keyKind: 'ed25519' })
  const seven = ['0.0.3', '0.0.4', '0.0.5', '0.0.6', '0.0.7', '0.0.8', '0.0.9']
  return [
    await compareEvm(),
    await compareHedera(ecdsa, { count: 1, ids: ['0.0.3'] }),
    await compareHedera(ecdsa, { count: 7, ids: seven }),
    await compareHedera(ed25519, { count: 1, ids: ['0.0.3'] }),
    await compareHedera(ed25519, { count: 7, ids: seven }),
  ]
}
