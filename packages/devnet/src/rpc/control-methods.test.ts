import { expect, test } from 'vitest'
import { AnvilRefused, AnvilUnavailable } from '../anvil/anvil-client.ts'
import type { DevnetControls } from '../controls.ts'
import { controlMethods } from './control-methods.ts'

/** `devnet_advanceSeconds` of controls that fail as scripted. */
async function readFailure(failure: Error): Promise<unknown> {
  const methods = controlMethods({
    controls: { advanceSeconds: () => Promise.reject(failure) } as unknown as DevnetControls,
    accounts: [],
    createAccount: () => Promise.reject(failure),
    nowSeconds: () => 0,
    executions: () => [],
  })
  try {
    return await methods['devnet_advanceSeconds']?.([1])
  } catch (cause) {
    return cause
  }
}

test('a control with impossible arguments says why', async () => {
  expect(await readFailure(new Error('there is no account 0.0.7'))).toMatchObject({
    name: 'RpcError',
    code: -32000,
    message: 'Invalid arguments: there is no account 0.0.7',
  })
})

test.each([
  new AnvilUnavailable('anvil does not answer'),
  new AnvilRefused({ code: -32603, message: 'no' }),
])('anvil’s failure is not the fault of the arguments: %s', async (failure) => {
  expect(await readFailure(failure)).toBe(failure)
})
