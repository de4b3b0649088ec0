import { scheduleServiceAbi } from '@tallystick/contracts'
import { manualClock } from '@tallystick/service-kit'
import { type Address, encodeFunctionData, type Hex, parseEther } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Devnet, startDevnet } from '../start-devnet.ts'
import {
  accountNamed,
  mirror,
  rpc,
  type TestClient,
  viemClient,
} from '../testing/test-clients.fixture.ts'
import { REVERTING_CONTRACT, SCHEDULING_CONTRACT } from '../testing/tiny-contracts.fixture.ts'

const SCHEDULE_SERVICE = '0x000000000000000000000000000000000000016b'
/** Enough for `scheduleCall` and the call around it. */
const GAS = 1_800_000n
/** The same for a chain, whose calldata the emulated service keeps in storage. */
const CHAIN_GAS = 8_000_000n
const DAY_SECONDS = 86_400

// The ledger's time moves only when a test moves it.
const clock = manualClock(1_800_000_000_000)

let devnet: Devnet
let client: TestClient
let gasPrice: bigint

beforeAll(async () => {
  devnet = await startDevnet({ clock })
  client = viemClient(devnet, accountNamed(devnet, 'owner'))
  gasPrice = await client.getGasPrice()
})
beforeEach(async () => {
  await devnet.controls.scheduleService({})
})
afterAll(async () => {
  await devnet.stop()
})

async function deploy(bytecode: Hex = SCHEDULING_CONTRACT, hbar = '100'): Promise<Address> {
  const hash = await client.deployContract({ abi: [], bytecode, gasPrice })
  const { contractAddress } = await client.waitForTransactionReceipt({ hash })
  if (contractAddress == null) throw new Error('nothing was deployed')
  if (hbar !== '0') {
    await client.sendTransaction({ to: contractAddress, value: parseEther(hbar), gasPrice })
  }
  return contractAddress
}

function scheduleCall(
  to: Address,
  second: number,
  options: { data?: Hex; gas?: bigint } = {},
): Hex {
  const { data = '0x', gas = GAS } = options
  return encodeFunctionData({
    abi: scheduleServiceAbi,
    functionName: 'scheduleCall',
    args: [to, BigInt(second), gas, 0n, data],
  })
}

/** Calldata that schedules itself again and again, `periods` times in total, `everySeconds` apart. */
function chain(to: Address, plan: { second: number; everySeconds: number; periods: number }): Hex {
  const { second, everySeconds, periods } = plan
  if (periods === 0) return '0x'
  const next = chain(to, { ...plan, second: second + everySeconds, periods: periods - 1 })
  return scheduleCall(to, second, { data: next, gas: CHAIN_GAS })
}

async function send(to: Address, data: Hex, gas = 3_000_000n) {
  const hash = await client.sendTransaction({ to, data, gas, gasPrice })
  return client.waitForTransactionReceipt({ hash })
}

async function answer(to: Address, data: Hex): Promise<[number, bigint]> {
  const { data: returned = '0x' } = await client.call({ to, data, account: client.account })
  return [Number(BigInt(returned.slice(0, 66))), BigInt(`0x${returned.slice(66)}`)]
}

describe('scheduled calls', () => {
  test('L5: run at their second and never before it, from the contract that scheduled them, which pays', async () => {
    const contract = await deploy()
    const second = devnet.nowSeconds() + 3
    const count = devnet.executions().length
    await send(contract, scheduleCall(contract, second))
    const before = await client.getBalance({ address: contract })
    await devnet.controls.advanceSeconds(0)
    clock.advanceMs(2_999)
    await devnet.controls.advanceSeconds(0)
    expect(devnet.executions()).toHaveLength(count)
    clock.advanceMs(1)
    await expect.poll(() => devnet.executions().length, { interval: 5 }).toBe(count + 1)
    const execution = devnet.executions().at(-1)
    expect(execution).toMatchObject({ status: 22, expirySecond: second, payer: contract })
    expect(execution?.executedAtMs).toBeGreaterThanOrEqual(second * 1000)
    const receipt = await client.getTransactionReceipt({ hash: execution?.hash ?? '0x' })
    expect(receipt.from).toBe(contract)
    const paid = before - (await client.getBalance({ address: contract }))
    expect(paid).toBe(receipt.gasUsed * gasPrice)
    const { timestamp } = await client.getBlock({ blockNumber: receipt.blockNumber })
    expect(Number(timestamp)).toBe(second - 2)
  })

  test('renew themselves: thirty days of daily renewals in one travel, each in its second', async () => {
    const contract = await deploy(SCHEDULING_CONTRACT, '1000')
    const second = devnet.nowSeconds() + DAY_SECONDS
    const count = devnet.executions().length
    await send(
      contract,
      chain(contract, { second, everySeconds: DAY_SECONDS, periods: 30 }),
      15_000_000n,
    )
    await devnet.controls.advanceSeconds(31 * DAY_SECONDS)
    const run = devnet.executions().slice(count)
    expect(run.map(({ status }) => status)).toEqual(Array(30).fill(22))
    expect(run.map(({ expirySecond }) => expirySecond)).toEqual(
      Array.from({ length: 30 }, (_, day) => second + day * DAY_SECONDS),
    )
    for (const { executedAtMs, expirySecond } of run) {
      expect(executedAtMs - expirySecond * 1000).toBeGreaterThanOrEqual(0)
    }
    const latest = await client.getBlock()
    expect(Number(latest.timestamp)).toBeGreaterThanOrEqual(second + 30 * DAY_SECONDS - 3)
  })

  test('INSUFFICIENT_PAYER_BALANCE: a payer that cannot cover gas × price is not called', async () => {
    const contract = await deploy(SCHEDULING_CONTRACT, '1')
    const second = devnet.nowSeconds() + 60
    await send(contract, scheduleCall(contract, second))
    await devnet.controls.advanceSeconds(61)
    expect(devnet.executions().at(-1)).toMatchObject({ status: 10, hash: undefined, gasUsed: 0n })
    expect(await client.getBalance({ address: contract })).toBe(parseEther('1'))
  })

  test('CONTRACT_REVERT_EXECUTED: a call that reverts is charged, and not retried', async () => {
    const contract = await deploy()
    const target = await deploy(REVERTING_CONTRACT, '0')
    await send(contract, scheduleCall(target, devnet.nowSeconds() + 60))
    const count = devnet.executions().length
    await devnet.controls.advanceSeconds(200)
    expect(devnet.executions().length).toBe(count + 1)
    const execution = devnet.executions().at(-1)
    expect(execution).toMatchObject({ status: 33, to: target, payer: contract })
    expect(await client.getBalance({ address: contract })).toBe(
      parseEther('100') - (execution?.gasUsed ?? 0n) * gasPrice,
    )
  })

  test('L6: SCHEDULE_EXPIRY_IS_BUSY 370, any forced code, and a second that has passed 307', async () => {
    const contract = await deploy()
    const data = scheduleCall(contract, devnet.nowSeconds() + 60)
    expect((await answer(contract, data))[0]).toBe(22)
    await devnet.controls.scheduleService({ gasPerSecond: 1n })
    expect(await answer(contract, data)).toEqual([370, 0n])
    await devnet.controls.scheduleService({ forcedCode: 306 })
    expect(await answer(contract, data)).toEqual([306, 0n])
    await devnet.controls.scheduleService({})
    expect(await answer(contract, scheduleCall(contract, devnet.nowSeconds() - 5))).toEqual([
      307,
      0n,
    ])
    expect((await answer(contract, data))[0]).toBe(22)
  })

  test('starved: with too little gas the schedule service reverts without data', async () => {
    const contract = await deploy()
    const data = scheduleCall(contract, devnet.nowSeconds() + 60)
    expect((await send(contract, data, 1_300_000n)).status).toBe('reverted')
    await devnet.controls.scheduleService({ createGas: 20_000_000n })
    expect((await send(contract, data)).status).toBe('reverted')
    await devnet.controls.scheduleService({})
    expect((await send(contract, data)).gasUsed).toBeGreaterThan(1_410_000n)
  })

  test('L6: if gas costs a third, a scheduleCall takes three times the gas, for the same money', async () => {
    const contract = await deploy()
    const data = () => scheduleCall(contract, devnet.nowSeconds() + 60)
    const usual = await send(contract, data())
    await devnet.controls.makeGasCheaper(3)
    const cheaper = await send(contract, data(), 5_000_000n)
    expect(Number(cheaper.gasUsed) / Number(usual.gasUsed)).toBeCloseTo(3, 1)
    expect(cheaper.effectiveGasPrice).toBe(360_000_000_000n)
    await devnet.controls.scheduleService({})
    clock.advanceMs(1_000)
    expect((await send(contract, data(), 3_000_000n)).status).toBe('reverted')
    expect(await rpc(devnet, 'devnet_makeGasCheaper', [1])).toMatchObject({ result: null })
    clock.advanceMs(1_000)
    expect((await send(contract, data())).gasUsed).toBeLessThan(1_600_000n)
    await expect(devnet.controls.makeGasCheaper(1_000)).rejects.toThrow('1000 times cheaper')
  })

  test('timestamp lag: a block may begin in the second of its call', async () => {
    await devnet.controls.scheduleService({ timestampLagSeconds: 0 })
    const contract = await deploy()
    const second = devnet.nowSeconds() + 60
    await send(contract, scheduleCall(contract, second))
    await devnet.controls.advanceSeconds(61)
    const { blockNumber } = await client.getTransactionReceipt({
      hash: devnet.executions().at(-1)?.hash ?? '0x',
    })
    expect(Number((await client.getBlock({ blockNumber })).timestamp)).toBe(second)
  })

  test('the mirror node shows a schedule as pending, then executed; and as deleted', async () => {
    const contract = await deploy()
    const second = devnet.nowSeconds() + 60
    const data = scheduleCall(contract, second)
    const [, address] = await answer(contract, data)
    await send(contract, data)
    const path = `/api/v1/schedules/0.0.${address}`
    const pending = await mirror(devnet, path)
    expect(pending.body).toMatchObject({
      deleted: false,
      executed_timestamp: null,
      expiration_time: `${second}.000000000`,
      wait_for_expiry: true,
    })
    const payerId = String(pending.body['payer_account_id'])
    expect((await mirror(devnet, `/api/v1/contracts/${payerId}`)).body['evm_address']).toBe(
      contract,
    )
    await devnet.controls.advanceSeconds(61)
    const { body } = await mirror(devnet, path)
    expect(Math.floor(Number(body['executed_timestamp']))).toBe(second)

    const other = scheduleCall(contract, devnet.nowSeconds() + 600)
    const [, doomed] = await answer(contract, other)
    await send(contract, other)
    const deletion = encodeFunctionData({
      abi: scheduleServiceAbi,
      functionName: 'deleteSchedule',
      args: [`0x${doomed.toString(16).padStart(40, '0')}`],
    })
    await send(contract, deletion)
    expect((await mirror(devnet, `/api/v1/schedules/0.0.${doomed}`)).body).toMatchObject({
      deleted: true,
      executed_timestamp: null,
    })
    const listed = await mirror(devnet, '/api/v1/schedules?limit=1&order=desc')
    expect(listed.body).toMatchObject({
      schedules: [{ schedule_id: `0.0.${doomed}`, deleted: true }],
    })
    const single = await mirror(devnet, `/api/v1/schedules?schedule.id=0.0.${doomed}`)
    expect(single.body['schedules']).toEqual(listed.body['schedules'])
    const others = await mirror(devnet, '/api/v1/schedules?account.id=0.0.2')
    expect(others.body).toEqual({ schedules: [], links: { next: null } })
    expect((await mirror(devnet, '/api/v1/schedules/0.0.5')).status).toBe(404)
    expect((await mirror(devnet, '/api/v1/schedules/five')).status).toBe(400)
  })

  test('the emulated system contract leaves no logs that the network would not have', async () => {
    const contract = await deploy()
    const receipt = await send(contract, scheduleCall(contract, devnet.nowSeconds() + 600))
    expect(receipt.logs).toEqual([])
    const { result } = await rpc(devnet, 'eth_getLogs', [{ address: SCHEDULE_SERVICE }])
    expect(result).toEqual([])
  })
})

describe('time', () => {
  test('L14: travel moves nowSeconds, blocks and the clock given to services', async () => {
    let isFired = false
    devnet.clock.after(3_600_000, () => {
      isFired = true
    })
    const before = { second: devnet.nowSeconds(), ms: devnet.clock.unixMs() }
    const block = await client.getBlock()
    await devnet.controls.advanceSeconds(3_599)
    expect(isFired).toBe(false)
    await devnet.controls.advanceSeconds(1)
    expect(isFired).toBe(true)
    expect(devnet.nowSeconds() - before.second).toBeGreaterThanOrEqual(3_600)
    expect(devnet.clock.unixMs() - before.ms).toBeGreaterThanOrEqual(3_600_000)
    expect(Number((await client.getBlock()).timestamp - block.timestamp)).toBeGreaterThanOrEqual(
      3_600,
    )
  })

  test('L4: an idle ledger closes a block every two seconds, as the network does', async () => {
    const number = await client.getBlockNumber({ cacheTime: 0 })
    clock.advanceMs(2_000)
    await expect
      .poll(() => client.getBlockNumber({ cacheTime: 0 }), { interval: 5 })
      .toBe(number + 1n)
  })
})
