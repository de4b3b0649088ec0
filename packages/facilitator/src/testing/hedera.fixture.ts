/**
 * A facilitator over real HTTP on a local ledger over real gRPC, and payments for it, signed by the official SDK and by
 * our own client. Calls through `client` use the official HTTPFacilitatorClient.
 */
import { AccountId, Hbar, PrivateKey, TransactionId, TransferTransaction } from '@hiero-ledger/sdk'
import { type Devnet, type DevnetAccount, startDevnet } from '@tallystick/devnet'
import { createLogger } from '@tallystick/service-kit'
import type { PaymentRequirement } from '@tallystick/x402'
import { ExactHederaClient, hederaRequirement, hederaSigner } from '@tallystick/x402/hedera'
import { HTTPFacilitatorClient } from '@x402/core/http'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { parseConsensusNodes } from '../hedera/consensus-client.ts'
import { startFacilitator } from '../service.ts'

export const NETWORK = 'hedera:testnet'

/** The price of every payment, tinybar. */
export const PRICE = 300_000_000n

/** What `changeBy` returns if nothing moved. */
export const NOTHING_MOVED = { payer: 0n, seller: 0n }

/** The result of an attempt whose payment is refused before anything is submitted. */
export const refusal = (reason: string) => ({
  change: NOTHING_MOVED,
  settled: { success: false, errorReason: reason, transaction: '' },
  verified: { isValid: false, invalidReason: reason },
})

export type HederaFixture = Awaited<ReturnType<typeof startHederaFixture>>

/** A payload as clients send it. */
export const wrap = (requirements: PaymentRequirements, transaction: string): PaymentPayload => ({
  x402Version: 2,
  accepted: requirements,
  payload: { transaction },
})

/** Posts a payment to a facilitator's `/settle`, for answers on which the official client throws. */
export async function post(url: string, payload: PaymentPayload) {
  const response = await fetch(`${url}/settle`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      x402Version: 2,
      paymentPayload: payload,
      paymentRequirements: payload.accepted,
    }),
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

type Purse = Pick<DevnetAccount, 'accountId' | 'privateKey'>
type Parties = { readonly feePayer: Purse; readonly payer: Purse; readonly seller: Purse }
type Changes = {
  readonly feePayer?: Purse
  readonly nodes?: string
  readonly callMs?: number
  readonly outcomeMs?: number
}

/** A ledger with a fee payer, a payer and a seller, and two facilitators, one of them impatient. */
export async function startHederaFixture() {
  const devnet = await startDevnet()
  const account = (name: string, hbar: bigint) =>
    devnet.createAccount({ name, balanceTinybar: hbar * 100_000_000n })
  const parties = {
    feePayer: await account('facilitator-test-fee-payer', 1_000n),
    payer: await account('facilitator-test-payer', 10_000n),
    seller: await account('facilitator-test-seller', 10n),
  }
  const lines: string[] = []
  const start = (changes: Changes = {}) =>
    startOn(devnet, { feePayer: parties.feePayer, ...changes, lines })
  const facilitator = await start()
  /** Gives the network little time, for answers that never come. */
  const impatient = await start({ callMs: 1_000, outcomeMs: 600 })
  const client = new HTTPFacilitatorClient({ url: facilitator.url })
  const settle = (payload: PaymentPayload) => client.settle(payload, payload.accepted)
  return {
    ...parties,
    ...createPayments(parties),
    devnet,
    start,
    facilitator,
    client,
    impatient,
    impatientClient: new HTTPFacilitatorClient({ url: impatient.url }),
    /** Everything the facilitators have logged. */
    lines,
    settle,
    changeBy: (act: () => Promise<unknown>) => changeBy(devnet, { parties, act }),
    /** The result of settling and then verifying a payment, and what it moved. */
    async attempt(payload: PaymentPayload) {
      let settled: unknown
      const act = async () => {
        settled = await settle(payload)
      }
      const change = await changeBy(devnet, { parties, act })
      return { change, settled, verified: await client.verify(payload, payload.accepted) }
    },
    async stop() {
      await facilitator.stop()
      await impatient.stop()
      await devnet.stop()
    },
  }
}

function startOn(
  { consensus, mirrorUrl }: Devnet,
  changes: Changes & { readonly feePayer: Purse; readonly lines: string[] },
) {
  const { callMs = 3_000, feePayer, lines, outcomeMs = 15_000 } = changes
  const { nodes = `${consensus.address}=${consensus.nodeAccountId}` } = changes
  return startFacilitator({
    network: NETWORK,
    consensusNodes: parseConsensusNodes(nodes) ?? [],
    mirrorUrl,
    feePayer: feePayer.accountId,
    feePayerKey: feePayer.privateKey,
    limits: { callMs, outcomeMs },
    logger: createLogger({
      name: 'facilitator',
      level: 'debug',
      destination: { write: (line: string) => void lines.push(line) },
    }),
  })
}

/** Runs `act` and returns how the balances of payer and seller changed, tinybar. */
async function changeBy(
  devnet: Devnet,
  { act, parties }: { readonly parties: Parties; readonly act: () => Promise<unknown> },
) {
  const { payer, seller } = parties
  const balance = async ({ accountId }: Purse): Promise<bigint> => {
    const response = await fetch(`${devnet.mirrorUrl}/api/v1/accounts/${accountId}`)
    const body = (await response.json()) as { balance: { balance: number } }
    return BigInt(body.balance.balance)
  }
  const before = { payer: await balance(payer), seller: await balance(seller) }
  await act()
  return {
    payer: (await balance(payer)) - before.payer,
    seller: (await balance(seller)) - before.seller,
  }
}

function createPayments({ feePayer, payer, seller }: Parties) {
  const makeRequirement = (changes: Partial<PaymentRequirement> = {}): PaymentRequirements =>
    ({
      ...hederaRequirement({
        network: NETWORK,
        amountTinybar: PRICE,
        payTo: seller.accountId,
        feePayer: feePayer.accountId,
      }),
      ...changes,
    }) as PaymentRequirements
  return {
    makeRequirement,
    /** A payment by our own client. */
    async pay(requirements = makeRequirement(), purse: Purse = payer): Promise<PaymentPayload> {
      const client = new ExactHederaClient({ signer: hederaSigner(purse) })
      const { payload } = await client.createPaymentPayload(2, requirements)
      return wrap(requirements, String(payload['transaction']))
    },
    /** A payment by the official SDK; `edit` changes the transaction before it is frozen. */
    async payBySdk(
      options: {
        readonly id?: TransactionId
        readonly nodes?: readonly number[]
        readonly edit?: (transaction: TransferTransaction) => unknown
        readonly sign?: (transaction: TransferTransaction) => Promise<unknown>
      } = {},
    ): Promise<PaymentPayload> {
      const transaction = new TransferTransaction()
        .addHbarTransfer(payer.accountId, Hbar.fromTinybars(`-${PRICE}`))
        .addHbarTransfer(seller.accountId, Hbar.fromTinybars(PRICE.toString()))
        .setTransactionId(options.id ?? TransactionId.generate(feePayer.accountId))
        .setNodeAccountIds((options.nodes ?? [3]).map((node) => new AccountId(node)))
        .setMaxTransactionFee(new Hbar(1))
      options.edit?.(transaction)
      transaction.freeze()
      await options.sign?.(transaction)
      await transaction.sign(PrivateKey.fromStringECDSA(payer.privateKey))
      return wrap(makeRequirement(), Buffer.from(transaction.toBytes()).toString('base64'))
    },
  }
}
