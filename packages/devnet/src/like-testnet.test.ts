// The network as it is: slow, lagging, limited, and sometimes silent. The ledger's clock stands still, so a wait ends when the
// test says so.
import { AccountId, Hbar, Status, TransactionId, TransferTransaction } from '@hiero-ledger/sdk'
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { type Hex, parseEther } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { seededChance } from './ledger/network-faults.ts'
import { type Devnet, startDevnet } from './start-devnet.ts'
import {
  accountNamed,
  mirror,
  rpc,
  type TestClient,
  viemClient,
} from './testing/test-clients.fixture.ts'
import { sdkClient, toMirrorId } from './testing/transfer.fixture.ts'

let clock: ManualClock
let devnet: Devnet
let client: TestClient
let gasPrice: bigint

beforeAll(async () => {
  clock = manualClock(1_800_000_000_000)
  devnet = await startDevnet({ clock })
  client = viemClient(devnet, accountNamed(devnet, 'agent-1'))
  gasPrice = await client.getGasPrice()
})
beforeEach(() => devnet.controls.seedChance(1))
afterEach(() => {
  devnet.controls.answerPromptly()
  clock.advanceMs(120_000)
})
afterAll(() => devnet.stop())

const receiver = '0x00000000000000000000000000000000000003ea'

const signOne = (nonce: number): Promise<Hex> =>
  client.signTransaction({
    to: receiver,
    value: parseEther('1'),
    gas: 21_000n,
    gasPrice,
    nonce,
    type: 'legacy',
  })

const makeNonce = () => client.getTransactionCount({ address: client.account.address })

/** Starts a send and waits until its timers run. */
async function startSend(raw: Hex): Promise<{ answered: Promise<unknown>; isAnswered(): boolean }> {
  const before = clock.pendingCount()
  let isAnswered = false
  const answered = rpc(devnet, 'eth_sendRawTransaction', [raw]).finally(() => {
    isAnswered = true
  })
  await expect.poll(() => clock.pendingCount()).toBeGreaterThanOrEqual(before + 2)
  return { answered, isAnswered: () => isAnswered }
}

describe('L18: send latency', () => {
  test('L18: setSendLatencyMs: a send answers only after its time, which lies between the two', async () => {
    devnet.controls.setSendLatencyMs({ min: 3_000, max: 8_000 })
    const send = await startSend(await signOne(await makeNonce()))
    clock.advanceMs(3_000)
    // Through the whole edge and back: an answer would have overtaken it.
    await rpc(devnet, 'eth_chainId')
    expect(send.isAnswered()).toBe(false)
    clock.advanceMs(5_000)
    expect(await send.answered).toMatchObject({ result: expect.stringMatching(/^0x/) })
  })

  test('sends that overlap reach consensus in the order of their arrival', async () => {
    devnet.controls.setSendLatencyMs({ min: 3_000, max: 8_000 })
    const nonce = await makeNonce()
    const raws = await Promise.all([0, 1, 2, 3].map((more) => signOne(nonce + more)))
    const sends: Promise<unknown>[] = []
    for (const raw of raws) sends.push((await startSend(raw)).answered)
    clock.advanceMs(8_000)
    for (const answer of await Promise.all(sends)) expect(answer).toHaveProperty('result')
    expect(await makeNonce()).toBe(nonce + 4)
  })

  test('what the relay itself refuses is refused at once; a gap in the nonces only by consensus', async () => {
    devnet.controls.setSendLatencyMs({ min: 3_000, max: 3_000 })
    const nonce = await makeNonce()
    const low = await rpc(devnet, 'eth_sendRawTransaction', [await signOne(nonce - 1)])
    expect(low.error?.message).toMatch(/Nonce too low/)
    const gap = await startSend(await signOne(nonce + 1))
    clock.advanceMs(3_000)
    expect(await gap.answered).toMatchObject({ error: { message: /Nonce too high/ } })
  })

  test('seedChance: the same seed draws the same latencies and losses', () => {
    expect(drawn(7)).toEqual(drawn(7))
    expect(drawn(7)).not.toEqual(drawn(8))
    expect(drawn(7).every((single) => single >= 0 && single < 1)).toBe(true)
  })
})

describe('L18: receipts and transfers', () => {
  test('setReceiptDelayMs: a receipt shows up later than its block and its balances', async () => {
    const before = await client.getBalance({ address: receiver })
    devnet.controls.setReceiptDelayMs(2_000)
    const raw = await signOne(await makeNonce())
    const hash = await client.sendRawTransaction({ serializedTransaction: raw })
    expect(await client.getBalance({ address: receiver })).toBe(before + parseEther('1'))
    const receipt = () => rpc(devnet, 'eth_getTransactionReceipt', [hash])
    expect((await receipt()).result).toBeNull()
    expect((await rpc(devnet, 'eth_getTransactionByHash', [hash])).result).toBeNull()
    clock.advanceMs(1_999)
    expect((await receipt()).result).toBeNull()
    clock.advanceMs(1)
    expect((await receipt()).result).toMatchObject({ status: '0x1' })
  })

  test('setConsensusDelayMs: a native transfer is unknown to the mirror node until consensus', async () => {
    devnet.controls.setConsensusDelayMs(2_000)
    const own = sdkClient(devnet, accountNamed(devnet, 'agent-2'))
    const { transactionId } = await transfer().execute(own)
    const path = `/api/v1/transactions/${toMirrorId(transactionId)}`
    expect((await mirror(devnet, path)).status).toBe(404)
    clock.advanceMs(2_000)
    await expect.poll(async () => (await mirror(devnet, path)).status).toBe(200)
    own.close()
  })
})

describe('L18: losses', () => {
  test('setNodeDown: a transaction for that node is refused, one for the other is taken', async () => {
    devnet.controls.setNodeDown('0.0.3', true)
    const own = sdkClient(devnet, accountNamed(devnet, 'agent-2')).setMaxAttempts(1)
    await expect(transfer().execute(own)).rejects.toThrow(/UNAVAILABLE|max attempts/i)
    own.setNetwork({ [devnet.consensus.address]: new AccountId(4) })
    const response = await transfer().execute(own)
    expect((await response.getReceipt(own)).status).toBe(Status.Success)
    expect(() => devnet.controls.setNodeDown('0.0.9', true)).toThrow('no node 0.0.9')
    own.close()
  })

  test('loseNextAnswers: the send is carried out, and its answer lost', async () => {
    const nonce = await makeNonce()
    devnet.controls.loseNextAnswers('rpc', 1, 'eth_sendRawTransaction')
    expect(await makeNonce()).toBe(nonce)
    const send = rpc(devnet, 'eth_sendRawTransaction', [await signOne(nonce)])
    await expect(send).rejects.toThrow('fetch failed')
    expect(await makeNonce()).toBe(nonce + 1)
  })

  test('loseNextAnswers: a transfer reaches consensus, and its client hears nothing', async () => {
    devnet.controls.loseNextAnswers('consensus', 1, 'cryptoTransfer')
    const own = sdkClient(devnet, accountNamed(devnet, 'agent-2')).setMaxAttempts(1)
    const id = TransactionId.generate(accountNamed(devnet, 'agent-2').accountId)
    const sent = transfer().setTransactionId(id).execute(own)
    await expect(sent).rejects.toThrow(/UNAVAILABLE|max attempts/i)
    const path = `/api/v1/transactions/${toMirrorId(id)}`
    await expect.poll(async () => (await mirror(devnet, path)).status).toBe(200)
    own.close()
  })

  test('loseNextAnswers: the mirror node falls silent once', async () => {
    devnet.controls.loseNextAnswers('mirror', 1, '/accounts')
    expect((await mirror(devnet, '/api/v1/blocks?limit=1')).status).toBe(200)
    await expect(mirror(devnet, '/api/v1/accounts/0.0.1001')).rejects.toThrow('fetch failed')
    expect((await mirror(devnet, '/api/v1/accounts/0.0.1001')).status).toBe(200)
  })

  test('setAnswerLoss: that share of answers is lost', async () => {
    devnet.controls.setAnswerLoss({ rpc: 0.5 })
    const requested = Array.from({ length: 40 }, () =>
      rpc(devnet, 'eth_chainId').then(
        () => true,
        () => false,
      ),
    )
    const answered = (await Promise.all(requested)).filter(Boolean).length
    expect(answered).toBeGreaterThan(5)
    expect(answered).toBeLessThan(35)
  })
})

describe('L18: a server’s wrong clock', () => {
  test('setServerClockOffMs: servers in the process are ahead of the ledger or behind it', () => {
    const offMs = () => devnet.serverClock.unixMs() - devnet.clock.unixMs()
    devnet.controls.setServerClockOffMs(30_000)
    expect(offMs()).toBe(30_000)
    devnet.controls.setServerClockOffMs(-30_000)
    expect(offMs()).toBe(-30_000)
    devnet.controls.setServerClockOffMs(0)
  })

  test.each([30, -30])(
    'serverClockOffMs: the machine’s clock is %i s off the ledger’s, for services in other processes',
    async (seconds) => {
      const machine = manualClock(1_800_000_000_000)
      const own = await startDevnet({ clock: machine, serverClockOffMs: seconds * 1_000 })
      expect(own.clock.unixMs()).toBe(machine.unixMs() - seconds * 1_000)
      expect(own.serverClock.unixMs()).toBe(machine.unixMs())
      const block = await viemClient(own, accountNamed(own, 'agent-1')).getBlock()
      expect(Math.abs(Number(block.timestamp) - own.nowSeconds())).toBeLessThan(5)
      await own.stop()
    },
  )
})

describe('L18: the profile', () => {
  test('likeTestnet sets everything at once, answerPromptly ends it', async () => {
    // block-windows.test.ts shows what windows do.
    devnet.controls.likeTestnet({ answerLoss: { rpc: 0, mirror: 0, consensus: 0 }, blockMs: 0 })
    const nonce = await makeNonce()
    const send = await startSend(await signOne(nonce))
    clock.advanceMs(8_000)
    const { result: hash } = (await send.answered) as { result: Hex }
    expect((await rpc(devnet, 'eth_getTransactionReceipt', [hash])).result).toBeNull()
    clock.advanceMs(4_999)
    expect((await rpc(devnet, 'eth_getTransactionReceipt', [hash])).result).toBeNull()
    clock.advanceMs(1)
    expect((await rpc(devnet, 'eth_getTransactionReceipt', [hash])).result).not.toBeNull()
    expect(await makeNonce()).toBe(nonce)
    devnet.controls.answerPromptly()
    expect(await makeNonce()).toBe(nonce + 1)
  })

  test('every condition can be set over JSON-RPC, and nonsense is refused', async () => {
    const calls: readonly (readonly [string, readonly unknown[]])[] = [
      ['likeTestnet', []],
      ['likeTestnet', [{ sendLatencyMs: { min: 1, max: 2 }, downNodes: [] }]],
      ['seedChance', [7]],
      ['setSendLatencyMs', [{ min: 1, max: 2 }]],
      ['setReceiptDelayMs', [1]],
      ['setConsensusDelayMs', [1]],
      ['setBlockMs', [2_000]],
      ['setRequestLimits', ['public']],
      ['setRequestLimits', [{ mirrorPerSecond: 1 }]],
      ['setNodeDown', ['0.0.4', true]],
      ['setAnswerLoss', [{ mirror: 0.1 }]],
      ['loseNextAnswers', ['mirror', 0]],
      ['setServerClockOffMs', [-30_000]],
      ['answerPromptly', []],
      ['setServerClockOffMs', [0]],
    ]
    for (const [name, parameters] of calls) {
      expect(await rpc(devnet, `devnet_${name}`, parameters), name).toMatchObject({ result: null })
    }
    for (const [name, parameter] of [
      ['likeTestnet', { sendLatency: 1 }],
      ['setSendLatencyMs', { min: 2, max: 1 }],
      ['setAnswerLoss', { rpc: 2 }],
      ['setNodeDown', '0.0.9'],
    ] as const) {
      expect(await rpc(devnet, `devnet_${name}`, [parameter, true]), name).toHaveProperty('error')
    }
  })
})

function drawn(seed: number): number[] {
  const chance = seededChance(seed)
  return Array.from({ length: 100 }, () => chance())
}

function transfer(): TransferTransaction {
  return new TransferTransaction()
    .addHbarTransfer('0.0.1007', new Hbar(-1))
    .addHbarTransfer('0.0.1002', new Hbar(1))
}
