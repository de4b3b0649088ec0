// The local ledger judged by other people's code: the official relay, unmodified, on our mirror and consensus nodes. Without a built
// relay these tests are skipped and say why (official-relay.ts).
import { type Devnet, SEND_LATENCY_MS } from '@tallystick/devnet'
import { createWalletClient, type Hex, http, parseEther, publicActions, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { hederaTestnet } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ALLOWED_DIFFERENCES } from '../../packages/devnet/src/rpc/imitated-relay.ts'
import {
  LOGGING_CONTRACT,
  REVERTING_CONTRACT,
} from '../../packages/devnet/src/testing/tiny-contracts.fixture.ts'
import { devnetAccount } from '../../scripts/stack/recipes.ts'
import { eventually } from './eventually.ts'
import { callEdge, loadEthers, relayMissing, startOfficialRelay } from './official-relay.ts'
import { payForAccess } from './pay-on-stack.ts'
import { type ReplicaStack, startReplicaStack } from './replica-stack.ts'

type Body = { readonly subscription?: { readonly expiresAt: number } }

const PERIOD_SECONDS = 20
const CALLS = 10
const because = relayMissing === undefined ? '' : ` (skipped: ${relayMissing})`

type Call = readonly [method: string, params: readonly unknown[]]

/** One call of each kind about a ledger that has deployed, logged, reverted and paid. */
async function readCalls(devnet: Devnet, relayUrl: string): Promise<Call[]> {
  const account = privateKeyToAccount(devnetAccount(devnet, 'agent-1').privateKey)
  const client = createWalletClient({
    account,
    chain: hederaTestnet,
    transport: http(devnet.rpcUrl),
  }).extend(publicActions)
  const gasPrice = await client.getGasPrice()
  const deploy = async (bytecode: Hex) => {
    const hash = await client.deployContract({ abi: [], bytecode, gasPrice })
    const { contractAddress } = await client.waitForTransactionReceipt({ hash })
    return { hash, to: contractAddress ?? undefined }
  }
  const logging = await deploy(LOGGING_CONTRACT)
  const reverting = await deploy(REVERTING_CONTRACT)
  const to = devnetAccount(devnet, 'agent-2').evmAddress
  const paid = await client.sendTransaction({ to, value: parseEther('1'), gasPrice, gas: 30_000n })
  const logged = await client.sendTransaction({ to: logging.to, data: '0xabcd' })
  const gas = 50_000n
  const reverted = await client.sendTransaction({ to: reverting.to, data: '0xde', gas, gasPrice })
  const { blockHash, blockNumber } = await client.getTransactionReceipt({ hash: logged })
  const at = toHex(blockNumber)
  // The relay's caches of blocks and nonces end within a second.
  const isKnown = async () =>
    (await callEdge(relayUrl, 'eth_getTransactionReceipt', [reverted])).result !== null
  await eventually(isKnown)
  const missing = `0x${'12'.repeat(32)}`
  const hashes = [logging.hash, paid, logged, reverted, missing]
  const call = { from: account.address, to: logging.to, data: '0xabcd' }
  return [
    ['eth_chainId', []],
    ['net_version', []],
    ['net_listening', []],
    ['eth_accounts', []],
    ['eth_syncing', []],
    ['eth_gasPrice', []],
    ['eth_maxPriorityFeePerGas', []],
    ['eth_feeHistory', ['0x2', at, [10]]],
    ['eth_feeHistory', ['0x2', at, []]],
    ['web3_sha3', ['0xabcd']],
    ...hashes.flatMap((hash): Call[] => [
      ['eth_getTransactionByHash', [hash]],
      ['eth_getTransactionReceipt', [hash]],
    ]),
    ['eth_getBlockByNumber', [at, true]],
    ['eth_getBlockByHash', [blockHash, false]],
    ['eth_getBlockByHash', [missing, false]],
    ['eth_getBlockReceipts', [at]],
    ['eth_getBlockTransactionCountByNumber', [at]],
    ['eth_getBlockTransactionCountByHash', [blockHash]],
    ['eth_getTransactionByBlockNumberAndIndex', [at, '0x0']],
    ['eth_getTransactionByBlockHashAndIndex', [blockHash, '0x0']],
    ['eth_getTransactionByBlockHashAndIndex', [blockHash, '0x1']],
    ['eth_getUncleCountByBlockNumber', [at]],
    ['eth_getUncleByBlockHashAndIndex', [blockHash, '0x0']],
    ['eth_getLogs', [{ blockHash }]],
    ['eth_getLogs', [{ address: logging.to, fromBlock: at, toBlock: at }]],
    ['eth_getLogs', [{ toBlock: at }]],
    ['eth_getLogs', [{ fromBlock: at, toBlock: '0x1' }]],
    ['eth_getBalance', [to, 'latest']],
    ['eth_getBalance', [to, at]],
    ['eth_getBalance', ['0x12', 'latest']],
    ['eth_getBalance', [to]],
    ['eth_getTransactionCount', [account.address, 'latest']],
    ['eth_getTransactionCount', [account.address, toHex(blockNumber - 10n)]],
    ['eth_getCode', [logging.to, 'latest']],
    ['eth_getCode', [to, 'latest']],
    ['eth_getCode', [`0x${'16b'.padStart(40, '0')}`, 'latest']],
    ['eth_getCode', [`0x${'167'.padStart(40, '0')}`, 'latest']],
    ['eth_getStorageAt', [logging.to, '0x0', 'latest']],
    ['eth_call', [call, 'latest']],
    ['eth_call', [{ ...call, to: reverting.to }, 'latest']],
    ['eth_estimateGas', [call]],
    ['eth_coinbase', []],
    ['eth_submitWork', []],
    ['eth_blobBaseFee', []],
    ['eth_nonsense', []],
    ['engine_newPayloadV4', []],
    ['eth_getFilterChanges', [missing]],
  ]
}

/** An answer without what may differ. */
function comparable(method: string, answer: object): unknown {
  if (method in ALLOWED_DIFFERENCES) return 'may differ'
  const text = JSON.stringify(answer, (key, value: unknown) => {
    const isBlock = value !== null && typeof value === 'object' && 'parentHash' in value
    const isLog = value !== null && typeof value === 'object' && 'logIndex' in value
    const kind = isBlock ? 'block' : isLog ? 'log' : undefined
    if (kind === undefined) return key === 'message' ? String(value).replace(/\[.+?\] /, '') : value
    return Object.fromEntries(
      Object.entries(value as object).filter(
        ([name]) => !(`${kind}.${name}` in ALLOWED_DIFFERENCES),
      ),
    )
  })
  return JSON.parse(text)
}

describe.skipIf(relayMissing !== undefined)(`L20: over the official relay${because}`, () => {
  let stack: ReplicaStack
  let relayUrl: string

  beforeAll(async () => {
    const offer = { periodSeconds: PERIOD_SECONDS, callsAllowed: 50, periodsPerPurchase: 4 }
    stack = await startReplicaStack(offer, 1, async (devnet) => {
      const edge = await startOfficialRelay(devnet)
      relayUrl = edge.rpcUrl
      return edge
    })
  })
  afterAll(() => stack.stop())

  it.each([
    ['an ideal network', {}],
    ['a mirror node 4 s late, and consensus after 1.5 s', { mirror: 4_000, consensus: 1_500 }],
  ])('a contract, a purchase, metered calls, and a renewal by the ledger: %s', async (_, late) => {
    const { devnet, baseUrls } = stack
    const [baseUrl = ''] = baseUrls
    const executed = devnet.executions().length
    const { mirror = 0, consensus = 0 }: { mirror?: number; consensus?: number } = late
    devnet.controls.setMirrorLagMs(mirror)
    devnet.controls.setConsensusDelayMs(consensus)
    const name = `over the relay ${mirror}`
    const agent = await devnet.createAccount({ name, balanceTinybar: 10_000_000_000n })
    const buyer = { ...agent, name }
    await eventually(async () => (await payForAccess(buyer, { baseUrl })).ok)
    const url = `${baseUrl}/api/svc/access?agent=${agent.evmAddress}`
    for (let at = 0; at < CALLS; at += 1) expect((await fetch(url)).status).toBe(200)
    const { subscription } = (await (await fetch(url)).json()) as Body
    await eventually(async () => {
      const answer = await fetch(url)
      const { subscription: now } = (await answer.json()) as Body
      return answer.ok && (now?.expiresAt ?? 0) > (subscription?.expiresAt ?? 0)
    })
    await eventually(() => devnet.executions().length > executed)
    expect(devnet.executions().at(-1)).toMatchObject({ status: 22 })
  })

  it.each([
    ['the ledger’s own edge, as `npm run devnet` starts it', () => stack.devnet.rpcUrl],
    ['the relay', () => relayUrl],
  ])('ethers sends twice in a row and deploys, with its defaults, at %s', async (_, url) => {
    const { devnet } = stack
    devnet.controls.answerPromptly()
    devnet.controls.setSendLatencyMs(SEND_LATENCY_MS)
    // A send through the relay takes as long as consensus, and ethers remembers a nonce for 250 ms.
    devnet.controls.setConsensusDelayMs(500)
    const { ContractFactory, JsonRpcProvider, Wallet } = loadEthers()
    const provider = new JsonRpcProvider(url())
    try {
      const wallet = new Wallet(devnetAccount(devnet, 'agent-3').privateKey, provider)
      const sent = []
      for (let at = 0; at < 2; at += 1)
        sent.push(await wallet.sendTransaction({ to: wallet.address, value: 10n ** 18n }))
      for (const { hash } of sent) expect((await provider.waitForTransaction(hash)).status).toBe(1)
      const contract = await new ContractFactory([], LOGGING_CONTRACT, wallet).deploy()
      expect(await contract.waitForDeployment()).toBe(contract)
    } finally {
      provider.destroy()
    }
  })

  it('every method answers the same there and at the ledger’s own edge, but for the differences that imitated-relay.ts allows', async () => {
    const { devnet } = stack
    devnet.controls.answerPromptly()
    const calls = await readCalls(devnet, relayUrl)
    const shown: { [call: string]: unknown } = {}
    const wanted: { [call: string]: unknown } = {}
    for (const [method, params] of calls) {
      const call = `${method} ${JSON.stringify(params).slice(0, 100)}`
      shown[call] = comparable(method, await callEdge(devnet.rpcUrl, method, params))
      wanted[call] = comparable(method, await callEdge(relayUrl, method, params))
    }
    expect(shown).toEqual(wanted)
  })
})
