import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createServiceCalls,
  type LocalStack,
  startLocalStack,
  untilInTime,
} from '../testing/local-stack.ts'
import { firstRequestCode } from './first-request.ts'

let stack: LocalStack

beforeAll(async () => {
  stack = await startLocalStack({ periodSeconds: 3_600, callsAllowed: 1_000 })
})
afterAll(() => stack?.stop())

test('A17: the first request to copy pays and sets the guard: strangers are not served from its window', async () => {
  const service = await stack.startService()
  const calls = createServiceCalls(service)
  await untilInTime(stack, calls.isReady)
  const agent = await stack.agent('first')
  const code = firstRequestCode({
    url: `${service.baseUrl}/api/svc/access`,
    network: 'hedera:testnet',
    amount: '1200000000',
    contract: stack.contract,
  })
  const env = {
    ACCOUNT_ID: agent.accountId,
    PRIVATE_KEY: agent.privateKey,
    LEDGER_RPC_URL: stack.devnet.rpcUrl,
  }
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], { env })
  expect(stdout).toContain('paidThisRequest: true')
  await untilInTime(stack, async () => {
    const { body } = await calls.call(agent.evmAddress)
    return body.error === 'sign_in_required'
  })
})
