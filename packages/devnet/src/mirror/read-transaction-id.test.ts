import { manualClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import { startDevnet } from '../start-devnet.ts'
import { accountNamed, mirror, viemClient } from '../testing/test-clients.fixture.ts'
import { readTransactionId } from './transaction-routes.ts'

test.each([
  ['0.0.2-1700000000-1', '0.0.2-1700000000-000000001'],
  ['0.0.2-1700000000-000000001', '0.0.2-1700000000-000000001'],
  ['0.0.902-1700000000-123456789', '0.0.902-1700000000-123456789'],
])('%s names %s', (text, id) => {
  expect(readTransactionId(text, 'transactionId')).toBe(id)
})

test.each([
  '0.0.2@1700000000.000000001',
  '0.0.2-1700000000',
  '0.0.2-1700000000-1234567890',
  '1.0.2-1700000000-1',
  '',
])('%j names none', (text) => {
  expect(() => readTransactionId(text, 'transactionId')).toThrow('Invalid parameter: transactionId')
})

test('transactions and contract results are also found without the leading zeros', async () => {
  // A clock stopped at a whole second, so that the nanoseconds of what follows begin with zeros.
  const devnet = await startDevnet({ clock: manualClock(1_800_000_000_000) })
  try {
    const client = viemClient(devnet, accountNamed(devnet, 'agent-1'))
    await client.sendTransaction({
      to: client.account.address,
      gasPrice: await client.getGasPrice(),
    })
    const newest = await mirror(devnet, '/api/v1/transactions?limit=1')
    const [row] = newest.body['transactions'] as { transaction_id: string }[]
    const whole = row?.transaction_id ?? ''
    expect(whole).toMatch(/^0\.0\.902-1800000000-0{6}\d{3}$/)
    for (const path of ['/api/v1/transactions', '/api/v1/contracts/results']) {
      const found = await mirror(devnet, `${path}/${whole}`)
      expect(found.status).toBe(200)
      expect(await mirror(devnet, `${path}/${whole.replace('-000000', '-')}`)).toEqual(found)
    }
  } finally {
    await devnet.stop()
  }
})
