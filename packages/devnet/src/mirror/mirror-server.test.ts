import { afterAll, describe, expect, test } from 'vitest'
import { startDevnet } from '../start-devnet.ts'
import { mirror } from '../testing/test-clients.fixture.ts'

const devnet = await startDevnet()
afterAll(() => devnet.stop())

describe('/api/v1/network', () => {
  test('exchange rate, fees, nodes, supply', async () => {
    const rate = await mirror(devnet, '/api/v1/network/exchangerate')
    expect(rate.body['current_rate']).toMatchObject({
      cent_equivalent: 234_500,
      hbar_equivalent: 30_000,
    })
    const fees = await mirror(devnet, '/api/v1/network/fees')
    expect(fees.body['fees']).toContainEqual({ gas: 109, transaction_type: 'EthereumTransaction' })
    const nodes = await mirror(devnet, '/api/v1/network/nodes')
    const port = Number(devnet.consensus.address.split(':')[1])
    expect(nodes.body['nodes']).toMatchObject([
      { node_account_id: '0.0.3', service_endpoints: [{ ip_address_v4: '127.0.0.1', port }] },
      { node_account_id: '0.0.4' },
    ])
    expect((await mirror(devnet, '/api/v1/network/supply')).body['total_supply']).toBe(
      '5000000000000000000',
    )
  })

  test('an unknown path is 404 in the mirror node’s form', async () => {
    expect(await mirror(devnet, '/api/v1/nonsense')).toEqual({
      status: 404,
      body: { _status: { messages: [{ message: 'Not found' }] } },
    })
  })
})
