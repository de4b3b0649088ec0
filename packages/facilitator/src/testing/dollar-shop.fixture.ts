/** Shops that sell for tokens on a local ledger: issuers, holders, our facilitator, and buyers by our client and the reference's form. */
import {
  AccountCreateTransaction,
  AccountId,
  Client,
  type CustomFixedFee,
  type CustomFractionalFee,
  Hbar,
  PrivateKey,
  TokenAssociateTransaction,
  TokenCreateTransaction,
  TokenId,
  type Transaction,
  TransactionId,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import type { Devnet } from '@tallystick/devnet'
import {
  createExactHederaScheme,
  createMirrorAccountDirectory,
  createMirrorNode,
  ExactHederaClient,
  type HederaToken,
  hederaRequirement,
  hederaSigner,
} from '@tallystick/x402/hedera'
import { x402Client } from '@x402/core/client'
import type { PaymentRequirements, SchemeNetworkClient } from '@x402/core/types'
import { NETWORK, startHederaFixture } from './hedera.fixture.ts'
import { openShop } from './shop.fixture.ts'

/** An account with its key, by the SDK. */
type Holder = { readonly accountId: string; readonly key: PrivateKey }

type Fee = CustomFixedFee | CustomFractionalFee

export type DollarFixture = Awaited<ReturnType<typeof startDollarFixture>>

async function startDollarFixture() {
  const fixture = await startHederaFixture()
  const { devnet, facilitator, feePayer, payer } = fixture
  const issuer = { accountId: payer.accountId, key: PrivateKey.fromStringECDSA(payer.privateKey) }
  const { client, execute } = createSdk(devnet, issuer)
  const mirror = createMirrorNode({ url: devnet.mirrorUrl })
  const accounts = createMirrorAccountDirectory({ mirror })
  const scheme = createExactHederaScheme({ networks: [NETWORK], accounts, mirror })
  const closing: (() => Promise<void>)[] = []
  return {
    /** A new account with 10 HBAR that takes so many tokens unasked. */
    async open(autoAssociations: number): Promise<Holder> {
      const key = PrivateKey.generateECDSA()
      const create = new AccountCreateTransaction()
        .setECDSAKeyWithAlias(key.publicKey)
        .setInitialBalance(new Hbar(10))
        .setMaxAutomaticTokenAssociations(autoAssociations)
      const { accountId } = await execute(create, { key })
      return { accountId: String(accountId), key }
    },
    /** A token with six decimals; `collector` signs for the fees that it is to collect. */
    async createToken(fees: readonly Fee[] = [], collector: Holder = issuer): Promise<HederaToken> {
      for (const fee of fees) fee.setFeeCollectorAccountId(collector.accountId)
      const create = new TokenCreateTransaction()
        .setTokenName('Dollar')
        .setTokenSymbol('USD')
        .setDecimals(6)
        .setInitialSupply(1_000_000_000)
        .setTreasuryAccountId(issuer.accountId)
        .setCustomFees([...fees])
        .setMaxTransactionFee(new Hbar(60))
      const { tokenId } = await execute(create, collector)
      return { network: NETWORK, id: String(tokenId), decimals: 6 }
    },
    associate: (token: HederaToken, { accountId, key }: Holder) =>
      execute(new TokenAssociateTransaction().setAccountId(accountId).setTokenIds([token.id]), {
        key,
      }),
    fund: (token: HederaToken, { accountId }: Holder, amount = 1_000_000) =>
      execute(
        new TransferTransaction()
          .addTokenTransfer(token.id, issuer.accountId, -amount)
          .addTokenTransfer(token.id, accountId, amount),
      ),
    /** Base units of a token, undefined without an association; tinybar for `0.0.0`. */
    async balance(asset: string, { accountId }: Pick<Holder, 'accountId'>) {
      if (asset === '0.0.0') return (await mirror.account(accountId))?.balanceTinybar
      for await (const { balance } of mirror.holdings(accountId, asset)) return balance
      return undefined
    },
    feePayer,
    mirror,
    mirrorUrl: devnet.mirrorUrl,
    settle: fixture.settle,
    /** A shop that sells for a cent in a token. */
    async sell(token: HederaToken, { accountId: payTo }: Holder) {
      const { accountId } = feePayer
      const cent = hederaRequirement({ token, price: '$0.01', payTo, feePayer: accountId })
      const shop = await openShop({ scheme, cent, facilitatorUrl: facilitator.url })
      closing.push(shop.close)
      return shop
    },
    async stop() {
      for (const close of closing.splice(0)) await close()
      client.close()
      await fixture.stop()
    },
  }
}

/** A token, a buyer who holds some of it and a seller who takes it. */
export async function startDollarMarket() {
  const fixture = await startDollarFixture()
  const dollars = await fixture.createToken()
  const buyer = await fixture.open(-1)
  const seller = await fixture.open(0)
  await fixture.fund(dollars, buyer)
  await fixture.associate(dollars, seller)
  return { fixture, dollars, buyer, seller }
}

/** The ledger's SDK, for what no client of ours does. */
function createSdk({ consensus }: Devnet, issuer: Holder) {
  const { address, nodeAccountId } = consensus
  const client = Client.forNetwork({ [address]: nodeAccountId }, { scheduleNetworkUpdate: false })
  client.setOperator(issuer.accountId, issuer.key)
  /** Signed by the issuer and another. */
  const execute = async (transaction: Transaction, signer: Pick<Holder, 'key'> = issuer) => {
    const signed = await transaction.freezeWith(client).sign(signer.key)
    return await (await signed.execute(client)).getReceipt(client)
  }
  return { client, execute }
}

/** The official client, with the line that lets it pay a cent in a token. */
export function official(token: HederaToken, scheme: SchemeNetworkClient): x402Client {
  const { id: asset, network } = token
  const allowed = { network: network as 'hedera:testnet', asset, maxAmountPerPayment: '10000' }
  return new x402Client()
    .setSpendControls({ allowedAssets: [allowed] })
    .register('hedera:*', scheme)
}

export const ourScheme = ({ accountId, key }: Holder): SchemeNetworkClient =>
  new ExactHederaClient({
    signer: hederaSigner({ accountId, privateKey: key.toStringRaw() }),
  })

/**
 * Pays by the rules of the reference's client (`@x402/hedera`, which is on no registry here): the SDK's own transfer, its id by the
 * fee payer, frozen for seven nodes of testnet with the SDK's defaults, signed by the payer.
 */
export const referenceScheme = ({ accountId, key }: Holder): SchemeNetworkClient => ({
  scheme: 'exact',
  async createPaymentPayload(x402Version, requirements: PaymentRequirements) {
    const { amount, asset, extra, payTo } = requirements
    const token = TokenId.fromString(asset)
    const client = Client.forTestnet({ scheduleNetworkUpdate: false })
    const transaction = new TransferTransaction()
      .addTokenTransfer(token, AccountId.fromString(accountId), -BigInt(amount))
      .addTokenTransfer(token, AccountId.fromString(payTo), BigInt(amount))
      .setTransactionId(TransactionId.generate(String(extra['feePayer'])))
      .freezeWith(client)
    client.close()
    const signed = await transaction.sign(key)
    return {
      x402Version,
      payload: { transaction: Buffer.from(signed.toBytes()).toString('base64') },
    }
  },
})
