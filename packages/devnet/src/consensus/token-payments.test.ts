import {
  AccountAllowanceApproveTransaction,
  AccountCreateTransaction,
  CustomFixedFee,
  CustomFractionalFee,
  FeeAssessmentMethod,
  Hbar,
  PrivateKey,
  TokenCreateTransaction,
  TokenMintTransaction,
  type Transaction,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import { type Address, encodeFunctionData, erc20Abi, parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accountNamed, mirror, viemClient } from '../testing/test-clients.fixture.ts'
import { DELEGATING_CONTRACT } from '../testing/tiny-contracts.fixture.ts'
import { sdkClient, startTransferFixture, toMirrorId } from '../testing/transfer.fixture.ts'

const { client, devnet, payer, payee, readStatus, stop } = await startTransferFixture()
const buyer = accountNamed(devnet, 'agent-2')
const seller = accountNamed(devnet, 'agent-3')
const buyerClient = sdkClient(devnet, buyer)
const asBuyer = viemClient(devnet, buyer)
const asSeller = viemClient(devnet, seller)
afterAll(async () => {
  buyerClient.close()
  await stop()
})

const get = async (path: string) => (await mirror(devnet, `/api/v1/${path}`)).body
const execute = async (transaction: Transaction) =>
  (await transaction.execute(client)).getReceipt(client)

async function createToken(change = (create: TokenCreateTransaction) => create): Promise<string> {
  const create = new TokenCreateTransaction()
    .setTokenName('Dollar')
    .setTokenSymbol('USD')
    .setDecimals(6)
    .setInitialSupply(1_000_000)
    .setTreasuryAccountId(payer.accountId)
  const { tokenId } = await execute(change(create))
  return String(tokenId)
}

const findAddress = (token: string): Address =>
  `0x${Number(token.split('.')[2]).toString(16).padStart(40, '0')}`

const pay = (token: string, amount: number, ends: { from?: string; to?: string } = {}) =>
  new TransferTransaction()
    .addTokenTransfer(token, ends.from ?? payer.accountId, -amount)
    .addTokenTransfer(token, ends.to ?? buyer.accountId, amount)

const balances = async (token: string) => {
  const rows = (await get(`tokens/${token}/balances`))['balances'] as {
    account: string
    balance: number
  }[]
  return Object.fromEntries(rows.map(({ account, balance }) => [account, balance]))
}

const serviceAbi = parseAbi([
  'function associateToken(address account, address token) returns (int64)',
  'function transferToken(address token, address from, address to, int64 amount) returns (int64)',
  'function isToken(address token) view returns (int64, bool)',
  'function associate() returns (uint256)',
  'function isAssociated() view returns (bool)',
])
const SERVICE = '0x0000000000000000000000000000000000000167'

const transfer = (to: Address, amount: bigint) =>
  encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [to, amount] })

const fraction = (isNet: boolean) => {
  const fee = new CustomFractionalFee().setNumerator(1).setDenominator(10).setMin(2).setMax(20)
  return isNet ? fee.setAssessmentMethod(FeeAssessmentMethod.Exclusive) : fee
}

/** An account that takes any token. */
const unlimited = async () => {
  const holder = PrivateKey.generateECDSA()
  const create = new AccountCreateTransaction()
    .setECDSAKeyWithAlias(holder.publicKey)
    .setInitialBalance(new Hbar(1))
    .setMaxAutomaticTokenAssociations(-1)
    .freezeWith(client)
  return { holder, id: String((await execute(await create.sign(holder))).accountId) }
}

const send = async (sender: typeof asBuyer, to: Address, data: `0x${string}`) => {
  const hash = await sender.sendTransaction({ to, data, gas: 1_000_000n })
  return sender.waitForTransactionReceipt({ hash })
}

describe('L21: a token in the EVM', () => {
  let token: string
  let address: Address

  beforeAll(async () => {
    token = await createToken()
    address = findAddress(token)
  })

  const read = (functionName: 'balanceOf', account: Address) =>
    asBuyer.readContract({ address, abi: erc20Abi, functionName, args: [account] })
  test('what it says of itself, and the code that the network shows at its address', async () => {
    const facts = await Promise.all(
      (['name', 'symbol', 'decimals', 'totalSupply'] as const).map((functionName) =>
        asBuyer.readContract({ address, abi: erc20Abi, functionName }),
      ),
    )
    expect(facts).toEqual(['Dollar', 'USD', 6, 1_000_000n])
    expect(await asBuyer.getCode({ address })).toBe(`0xef0100${SERVICE.slice(2)}`)
    const isToken = (args: readonly [Address]) =>
      asBuyer.readContract({ address: SERVICE, abi: serviceAbi, functionName: 'isToken', args })
    expect(await isToken([address])).toEqual([22n, true])
    expect(await isToken([buyer.evmAddress])).toEqual([22n, false])
    expect((await mirror(devnet, `/api/v1/contracts/${address}`)).status).toBe(404)
    expect((await mirror(devnet, `/api/v1/accounts/${address}`)).status).toBe(404)
  })

  test('an account associates itself, is paid natively, and pays on in the EVM', async () => {
    const refused = await send(asBuyer, address, transfer(seller.evmAddress, 1n))
    expect(refused.status).toBe('reverted')
    expect(await readStatus(pay(token, 100))).toBe('TOKEN_NOT_ASSOCIATED_TO_ACCOUNT')
    const associate = encodeFunctionData({ abi: serviceAbi, functionName: 'associate' })
    expect((await send(asBuyer, address, associate)).status).toBe('success')
    const ofSeller = encodeFunctionData({
      abi: serviceAbi,
      functionName: 'associateToken',
      args: [seller.evmAddress, address],
    })
    expect((await send(asSeller, SERVICE, ofSeller)).status).toBe('success')
    expect(await get(`accounts/${buyer.accountId}/tokens`)).toMatchObject({
      tokens: [{ token_id: token, balance: 0, automatic_association: false }],
    })
    expect(await readStatus(pay(token, 100))).toBe('SUCCESS')
    expect(await read('balanceOf', buyer.evmAddress)).toBe(100n)
    const paid = await send(asBuyer, address, transfer(seller.evmAddress, 40n))
    expect(paid.logs).toMatchObject([{ address, data: `0x${'28'.padStart(64, '0')}` }])
    expect(await balances(token)).toMatchObject({ [buyer.accountId]: 60, [seller.accountId]: 40 })
    const { transactions } = await get('transactions?transactiontype=ETHEREUMTRANSACTION&limit=1')
    expect(transactions).toMatchObject([
      {
        entity_id: token,
        token_transfers: [
          { account: buyer.accountId, amount: -40, token_id: token },
          { account: seller.accountId, amount: 40, token_id: token },
        ],
      },
    ])
  })

  test('an account is found by its number too, and a number that nobody has takes nothing', async () => {
    const byNumber = findAddress(seller.accountId)
    expect(await read('balanceOf', byNumber)).toBe(await read('balanceOf', seller.evmAddress))
    const before = await balances(token)
    expect((await send(asBuyer, address, transfer(byNumber, 1n))).status).toBe('success')
    const nobody = await send(asBuyer, address, transfer(findAddress('0.0.99999'), 1n))
    expect(nobody.status).toBe('reverted')
    const none = await send(asBuyer, address, transfer(payee.evmAddress, 1n))
    expect(none.status).toBe('reverted')
    expect(await balances(token)).toEqual({
      ...before,
      [buyer.accountId]: (before[buyer.accountId] ?? 0) - 1,
      [seller.accountId]: (before[seller.accountId] ?? 0) + 1,
    })
  })

  test('what the service refuses comes back as a code and changes nothing', async () => {
    const before = await balances(token)
    const args = [address, buyer.evmAddress, seller.evmAddress, 1n] as const
    const { result } = await asSeller.simulateContract({
      address: SERVICE,
      abi: serviceAbi,
      functionName: 'transferToken',
      args,
    })
    // SPENDER_DOES_NOT_HAVE_ALLOWANCE
    expect(result).toBe(292n)
    const data = encodeFunctionData({ abi: serviceAbi, functionName: 'transferToken', args })
    expect((await send(asSeller, SERVICE, data)).status).toBe('success')
    expect(await balances(token)).toEqual(before)
  })

  test('an allowance given natively is used in the EVM, and one given there natively', async () => {
    const allow = new AccountAllowanceApproveTransaction()
      .approveTokenAllowance(token, payer.accountId, seller.accountId, 10)
      .approveHbarAllowance(payer.accountId, buyer.accountId, new Hbar(2))
    expect(await readStatus(allow)).toBe('SUCCESS')
    const takes = (amount: bigint) =>
      encodeFunctionData({
        abi: erc20Abi,
        functionName: 'transferFrom',
        args: [payer.evmAddress, seller.evmAddress, amount],
      })
    expect((await send(asSeller, address, takes(11n))).status).toBe('reverted')
    expect((await send(asSeller, address, takes(10n))).status).toBe('success')
    expect((await send(asSeller, address, takes(1n))).status).toBe('reverted')
    const approve = encodeFunctionData({
      abi: erc20Abi,
      functionName: 'approve',
      args: [buyer.evmAddress, 7n],
    })
    const { logs } = await send(asSeller, address, approve)
    expect(logs).toMatchObject([{ address }])
    const take = (amount: number) =>
      new TransferTransaction()
        .addApprovedTokenTransfer(token, seller.accountId, -amount)
        .addTokenTransfer(token, buyer.accountId, amount)
    const status = (transaction: Transaction) => readStatus(transaction, buyerClient)
    expect(await status(take(8))).toBe('AMOUNT_EXCEEDS_ALLOWANCE')
    expect(await status(take(7))).toBe('SUCCESS')
    expect(await status(take(1))).toBe('SPENDER_DOES_NOT_HAVE_ALLOWANCE')
    const takeHbar = (hbar: number) =>
      new TransferTransaction()
        .addApprovedHbarTransfer(payer.accountId, new Hbar(-hbar))
        .addHbarTransfer(buyer.accountId, new Hbar(hbar))
    expect(await status(takeHbar(3))).toBe('AMOUNT_EXCEEDS_ALLOWANCE')
    expect(await status(takeHbar(2))).toBe('SUCCESS')
    expect(await status(takeHbar(1))).toBe('SPENDER_DOES_NOT_HAVE_ALLOWANCE')
  })

  test('a native transfer leaves the logs of its token, as a transaction that is no contract result', async () => {
    const response = await pay(token, 3).execute(client)
    await response.getReceipt(client)
    const { logs } = (await get(`contracts/${token}/results/logs?limit=1`)) as {
      logs: { address: string; contract_id: string; transaction_hash: string }[]
    }
    expect(logs).toMatchObject([{ address, contract_id: token }])
    const hash = logs[0]?.transaction_hash ?? ''
    expect((await mirror(devnet, `/api/v1/contracts/results/${hash}`)).status).toBe(404)
    const receipt = await asBuyer.getTransactionReceipt({ hash: hash as Address })
    expect(receipt.logs).toMatchObject([{ address }])
    const { transactions } = await get(`transactions/${toMirrorId(response.transactionId)}`)
    expect(transactions).toMatchObject([{ name: 'CRYPTOTRANSFER', result: 'SUCCESS' }])
  })

  test('a snapshot goes back with what everybody holds', async () => {
    const before = await balances(token)
    const id = await devnet.controls.snapshot()
    expect(await readStatus(pay(token, 5))).toBe('SUCCESS')
    expect(await balances(token)).not.toEqual(before)
    await devnet.controls.revert(id)
    expect(await balances(token)).toEqual(before)
    expect(await read('balanceOf', buyer.evmAddress)).toBe(BigInt(before[buyer.accountId] ?? 0))
  })

  test('under DELEGATECALL the service answers nothing, as it would move nothing', async () => {
    const hash = await asBuyer.deployContract({ abi: [], bytecode: DELEGATING_CONTRACT })
    const { contractAddress } = await asBuyer.waitForTransactionReceipt({ hash })
    const args = [address, buyer.evmAddress, seller.evmAddress, 1n] as const
    const data = encodeFunctionData({ abi: serviceAbi, functionName: 'transferToken', args })
    await expect(asBuyer.call({ to: contractAddress as Address, data })).rejects.toThrow(
      'Execution reverted',
    )
  })

  test('what is not there is refused by name', async () => {
    const mint = new TokenMintTransaction().setTokenId(token).setAmount(1)
    expect(await readStatus(mint)).toBe('NOT_SUPPORTED')
  })
})

const move = async (token: string, amount: number, from: Awaited<ReturnType<typeof unlimited>>) => {
  const { id: to } = await unlimited()
  const lines = pay(token, amount, { from: from.id, to }).freezeWith(client)
  const response = await (await lines.sign(from.holder)).execute(client)
  const receipt = await response
    .getReceipt(client)
    .catch((cause: unknown) => cause as { status: unknown })
  return { to, response, status: String(receipt.status) }
}

describe('L21: custom fees, as the record tells of them', () => {
  const key = PrivateKey.generateECDSA()
  let collector: string

  beforeAll(async () => {
    const create = new AccountCreateTransaction()
      .setECDSAKeyWithAlias(key.publicKey)
      .setMaxAutomaticTokenAssociations(-1)
      .freezeWith(client)
    collector = String((await execute(await create.sign(key))).accountId)
  })

  const withFee = (fee: CustomFixedFee | CustomFractionalFee) =>
    createToken((create) => {
      fee.setFeeCollectorAccountId(collector)
      const frozen = create.setCustomFees([fee]).setMaxTransactionFee(new Hbar(60))
      return frozen.freezeWith(client)
    })
  test.each([
    { isNet: false, moved: 100, gives: -100, gets: 90, fee: 10 },
    { isNet: true, moved: 100, gives: -110, gets: 100, fee: 10 },
    { isNet: false, moved: 5, gives: -5, gets: 3, fee: 2 },
    { isNet: false, moved: 500, gives: -500, gets: 480, fee: 20 },
  ])('a fraction of $moved, net of transfers: $isNet', async (row) => {
    const create = () =>
      new TokenCreateTransaction()
        .setTokenName('Fee')
        .setTokenSymbol('FEE')
        .setInitialSupply(1_000)
        .setTreasuryAccountId(payer.accountId)
        .setMaxTransactionFee(new Hbar(60))
        .setCustomFees([fraction(row.isNet).setFeeCollectorAccountId(collector)])
        .freezeWith(client)
    expect(await readStatus(create())).toBe('INVALID_SIGNATURE')
    const token = String((await execute(await create().sign(key))).tokenId)
    const from = await unlimited()
    // The treasury pays no fee.
    expect(await readStatus(pay(token, 600, { to: from.id }))).toBe('SUCCESS')
    const { to, response, status } = await move(token, row.moved, from)
    expect(status).toBe('SUCCESS')
    const record = await response.getRecord(client)
    expect(record.assessedCustomFees).toMatchObject([{ feeCollectorAccountId: expect.anything() }])
    const { transactions } = await get(`transactions/${toMirrorId(response.transactionId)}`)
    expect(transactions).toMatchObject([
      {
        assessed_custom_fees: [
          { amount: row.fee, collector_account_id: collector, token_id: token },
        ],
      },
    ])
    const [{ token_transfers }] = transactions as [{ token_transfers: object[] }]
    expect(token_transfers).toEqual(
      expect.arrayContaining([
        { account: from.id, amount: row.gives, token_id: token, is_approval: false },
        { account: to, amount: row.gets, token_id: token, is_approval: false },
        { account: collector, amount: row.fee, token_id: token, is_approval: false },
      ]),
    )
    expect(await balances(token)).toMatchObject({ [to]: row.gets, [collector]: row.fee })
  })

  test('a fixed fee in HBAR comes from the sender, who must have it', async () => {
    const token = await withFee(new CustomFixedFee().setHbarAmount(new Hbar(0.6)))
    expect(await get(`tokens/${token}`)).toMatchObject({
      custom_fees: {
        fixed_fees: [
          { amount: 60_000_000, collector_account_id: collector, denominating_token_id: null },
        ],
        fractional_fees: [],
      },
    })
    const from = await unlimited()
    expect(await readStatus(pay(token, 50, { to: from.id }))).toBe('SUCCESS')
    const { to, status } = await move(token, 10, from)
    expect(status).toBe('SUCCESS')
    expect(await balances(token)).toMatchObject({ [from.id]: 40, [to]: 10 })
    expect(await get(`accounts/${from.id}`)).toMatchObject({ balance: { balance: 40_000_000 } })
    expect((await move(token, 10, from)).status).toBe(
      'INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE',
    )
    expect(await balances(token)).toMatchObject({ [from.id]: 40 })
  })

  test('a fixed fee in another token, which the collector must be associated with', async () => {
    const dollars = await createToken()
    const fee = new CustomFixedFee().setAmount(7).setDenominatingTokenId(dollars)
    const refused = new TokenCreateTransaction()
      .setTokenName('Fee')
      .setTokenSymbol('FEE')
      .setTreasuryAccountId(payer.accountId)
      .setMaxTransactionFee(new Hbar(60))
      .setCustomFees([fee.setFeeCollectorAccountId(collector)])
    expect(await readStatus(refused)).toBe('TOKEN_NOT_ASSOCIATED_TO_FEE_COLLECTOR')
    expect(await readStatus(pay(dollars, 1, { to: collector }))).toBe('SUCCESS')
    const token = await withFee(fee)
    const from = await unlimited()
    expect(await readStatus(pay(token, 50, { to: from.id }))).toBe('SUCCESS')
    expect(await readStatus(pay(dollars, 9, { to: from.id }))).toBe('SUCCESS')
    expect((await move(token, 10, from)).status).toBe('SUCCESS')
    expect(await balances(dollars)).toMatchObject({ [from.id]: 2, [collector]: 8 })
    expect((await move(token, 10, from)).status).toBe(
      'INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE',
    )
  })

  test('in the EVM such a token is not moved, since its fees are assessed by the consensus node alone', async () => {
    const token = await withFee(new CustomFixedFee().setHbarAmount(new Hbar(1)))
    const from = viemClient(devnet, payer)
    const data = encodeFunctionData({
      abi: erc20Abi,
      functionName: 'transfer',
      args: [(await get(`accounts/${collector}`))['evm_address'] as Address, 1n],
    })
    const hash = await from.sendTransaction({ to: findAddress(token), data, gas: 1_000_000n })
    expect((await from.waitForTransactionReceipt({ hash })).status).toBe('reverted')
    expect(await balances(token)).toEqual({ [payer.accountId]: 1_000_000 })
  })
})
