import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type DeployedStack, startDeployedStack } from './operator-stack.fixture.ts'

let stack: DeployedStack

beforeAll(async () => {
  stack = await startDeployedStack()
})
afterEach(() => stack.devnet.controls.answerPromptly())
afterAll(() => stack.stop())

const fund = () => stack.run(['fund', '--hbar', '1.5'], stack.deployed)

const reserve = async (): Promise<string | undefined> =>
  /Reserve +([\d.]+) HBAR free/.exec((await stack.run(['status'], stack.deployed)).out)?.[1]

describe('A15: where an answer of the relay is lost', () => {
  test('a transaction whose send was never answered is done once, and found by its receipt', async () => {
    stack.devnet.controls.loseNextAnswers('rpc', 1, 'eth_sendRawTransaction')
    expect(await fund()).toMatchObject({ code: 0, err: '' })
    expect(await reserve()).toBe('51.5')
  })

  test.each([
    'eth_chainId',
    'eth_getCode',
    'eth_call',
    'eth_gasPrice',
    'eth_getTransactionReceipt',
  ])('a lost answer to %s ends no verb', async (method) => {
    stack.devnet.controls.loseNextAnswers('rpc', 1, method)
    expect(await fund()).toMatchObject({ code: 0, err: '' })
  })

  test('a verb right after another waits until the nonce that it reads is up to date', async () => {
    expect(await fund()).toMatchObject({ code: 0 })
    stack.devnet.controls.setNonceLagMs(2_000)
    expect(await fund()).toMatchObject({ code: 0, err: '' })
  })

  test('the URL that does not answer, and the chain that is another, are named', async () => {
    const LEDGER_RPC_URL = 'http://127.0.0.1:1'
    const { err } = await stack.run(['pause'], { ...stack.deployed, LEDGER_RPC_URL })
    expect(err).toContain(`No ledger answers at ${LEDGER_RPC_URL}: `)
    const other = await stack.run(['pause'], { ...stack.deployed, LEDGER_CHAIN_ID: '295' })
    expect(other.err).toBe(`The ledger at ${stack.devnet.rpcUrl} is chain 296, not 295.`)
  })

  test('what the relay refuses is told at once', async () => {
    const OWNER_KEY = `0x${'7'.repeat(64)}`
    const { code, err } = await stack.run(['deploy', '--reserve-hbar', '1'], { OWNER_KEY })
    expect(code).toBe(1)
    expect(err).toContain('The ledger did not take the transaction: ')
  })
})
