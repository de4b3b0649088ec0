import { EthereumTransaction, Hbar, TransactionRecordQuery } from '@hiero-ledger/sdk'
import { type Hex, hexToBytes, keccak256, parseEther, zeroAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, expect, test } from 'vitest'
import { accountNamed, mirror, rpc, viemClient } from '../testing/test-clients.fixture.ts'
import { sdkClient, startTransferFixture, toMirrorId } from '../testing/transfer.fixture.ts'

const { client, devnet, payer, readStatus, stop } = await startTransferFixture()
afterAll(stop)

const sender = viemClient(devnet, accountNamed(devnet, 'agent-2'))
const receiver = accountNamed(devnet, 'agent-3')
const gasPrice = await sender.getGasPrice()

async function sign(changes: { [field: string]: unknown } = {}): Promise<Hex> {
  const nonce = await sender.getTransactionCount({ address: sender.account.address })
  const base = {
    chainId: 296,
    to: receiver.evmAddress,
    value: parseEther('1'),
    gas: 1_000_000n,
    gasPrice,
    nonce,
  }
  return privateKeyToAccount(accountNamed(devnet, 'agent-2').privateKey).signTransaction({
    ...base,
    type: 'legacy',
    ...changes,
  })
}
const wrap = (raw: Hex) => new EthereumTransaction().setEthereumData(hexToBytes(raw))

test('L8: an EthereumTransaction runs as its sender, who pays, under the id of the account that submits it', async () => {
  const raw = await sign({ data: `0x${'ab'.repeat(9_000)}` })
  const response = await wrap(raw).execute(client)
  const record = await response.getRecord(client)
  const { body } = await mirror(devnet, `/api/v1/contracts/results/${keccak256(raw)}`)
  expect(body).toMatchObject({ result: 'SUCCESS', from: sender.account.address.toLowerCase() })
  const { body: found } = await mirror(
    devnet,
    `/api/v1/transactions/${toMirrorId(response.transactionId)}`,
  )
  expect(found['transactions']).toMatchObject([
    { name: 'ETHEREUMTRANSACTION', consensus_timestamp: body['timestamp'], result: 'SUCCESS' },
  ])
  expect(record.transactionId.accountId?.toString()).toBe(payer.accountId)
})

test('L8: what came through JSON-RPC has a record under the id that the mirror node shows', async () => {
  const { result: hash } = await rpc(devnet, 'eth_sendRawTransaction', [await sign()])
  const { body } = await mirror(devnet, `/api/v1/contracts/results/${String(hash)}`)
  const shown = await mirror(devnet, `/api/v1/transactions?timestamp=${String(body['timestamp'])}`)
  const [{ transaction_id: id, transfers }] = shown.body['transactions'] as [
    { transaction_id: string; transfers: unknown[] },
  ]
  const [account, seconds, nanos] = id.split('-')
  const record = await new TransactionRecordQuery()
    .setTransactionId(`${account}@${seconds}.${nanos}`)
    .execute(client)
  expect(record.receipt.status.toString()).toBe('SUCCESS')
  expect(record.transfers).toHaveLength(transfers.length)
})

// The two ways in give one verdict: each status as consensus names it, and as the JSON-RPC edge words it.
test.each([
  ['WRONG_NONCE', { nonce: 99 }, /^(?:\[Request ID: .+\] )?Nonce too high/],
  ['WRONG_NONCE', { nonce: 0 }, /Nonce too low/],
  ['INSUFFICIENT_TX_FEE', { gasPrice: gasPrice / 2n }, /below configured minimum gas price/],
  ['WRONG_CHAIN_ID', { chainId: 1 }, /ChainId \(0x1\) not supported/],
  ['INSUFFICIENT_GAS', { gas: 20_000n }, /insufficient of intrinsic gas/],
  ['MAX_GAS_LIMIT_EXCEEDED', { gas: 15_000_001n }, /exceeds max gas per sec limit/],
  ['INVALID_SOLIDITY_ADDRESS', { to: zeroAddress }, /Transaction rejected: INVALID_SOLIDITY/],
  ['INSUFFICIENT_PAYER_BALANCE', { value: parseEther('50000') }, /Insufficient funds/],
])('L8: %s %#', async (status, changes, words) => {
  const before = await sender.getTransactionCount({ address: sender.account.address })
  if (before === 0) await rpc(devnet, 'eth_sendRawTransaction', [await sign()])
  const raw = await sign(changes)
  expect(await readStatus(wrap(raw))).toBe(status)
  const { error } = await rpc(devnet, 'eth_sendRawTransaction', [raw])
  expect(error?.message).toMatch(words)
  const { body } = await mirror(devnet, `/api/v1/contracts/results/${keccak256(raw)}`)
  expect(body).toMatchObject({ result: status, status: '0x0', block_number: null, logs: [] })
})

test.each([
  ['all of it', 0n],
  ['the rest', gasPrice / 2n],
])(
  'L8: its payer pays %s for gas that the sender does not offer, as far as it says',
  async (_, offered) => {
    const price = (gasPrice - offered) / 10_000_000_000n
    const short = wrap(await sign({ gasPrice: offered })).setMaxGasAllowanceHbar(
      Hbar.fromTinybars((price * 1_000_000n - 1n).toString()),
    )
    expect(await readStatus(short)).toBe('INSUFFICIENT_TX_FEE')
    const before = await sender.getBalance({ address: sender.account.address })
    const raw = await sign({ gasPrice: offered })
    const allowed = wrap(raw).setMaxGasAllowanceHbar(new Hbar(2))
    const response = await allowed.execute(client)
    await response.getReceipt(client)
    const { body } = await mirror(devnet, `/api/v1/contracts/results/${keccak256(raw)}`)
    const gasUsed = BigInt(body['gas_used'] as number)
    const after = await sender.getBalance({ address: sender.account.address })
    const senderPrice = (offered / 10_000_000_000n) * 10_000_000_000n
    expect(before - after).toBe(parseEther('1') + gasUsed * senderPrice)
    const path = `/api/v1/transactions/${toMirrorId(response.transactionId)}`
    const [{ transfers }] = (await mirror(devnet, path)).body['transactions'] as [
      { transfers: { account: string; amount: number }[] },
    ]
    const added = gasUsed * (gasPrice / 10_000_000_000n - senderPrice / 10_000_000_000n)
    expect(transfers).toContainEqual({
      account: payer.accountId,
      amount: -Number(added),
      is_approval: false,
    })
    expect(transfers.reduce((sum, { amount }) => sum + amount, 0)).toBe(0)
  },
)

test('L8: who sponsors itself needs both parts of the gas, and what it gives away', async () => {
  const { privateKey } = await devnet.createAccount({
    name: 'thrifty',
    balanceTinybar: 200_000_000n,
  })
  const own = accountNamed(devnet, 'thrifty')
  const raw = await privateKeyToAccount(privateKey).signTransaction({
    type: 'legacy',
    chainId: 296,
    to: receiver.evmAddress,
    value: parseEther('1.5'),
    gas: 1_000_000n,
    gasPrice: 0n,
    nonce: 0,
  })
  const through = sdkClient(devnet, own)
  const self = wrap(raw).setMaxGasAllowanceHbar(new Hbar(5))
  expect(await readStatus(self, through)).toBe('INSUFFICIENT_PAYER_BALANCE')
  through.close()
})

test('L8: bytes that are no Ethereum transaction are refused by the node', async () => {
  expect(await readStatus(wrap('0xdeadbeef'))).toBe('INVALID_ETHEREUM_TRANSACTION')
})
