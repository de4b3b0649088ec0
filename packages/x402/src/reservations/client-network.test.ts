import { expect, test } from 'vitest'
import { clientNetwork } from './same-purchase.ts'

test.each([
  ['203.0.113.7', '203.0.113.7 ::ffff:203.0.113.7 ::FFFF:203.0.113.7 ::ffff:cb00:7107'],
  ['203.0.113.7', '0:0:0:0:0:ffff:203.0.113.7 203.0.113.7:51234'],
  [
    '2001:db8:1:2',
    '2001:db8:1:2:3:4:5:6 2001:db8:1:2::9 2001:0DB8:0001:2::9 [2001:db8:1:2::]:51234',
  ],
  ['2001:db8:0:0', '2001:db8::9 2001:0DB8::'],
  ['1:0:0:2', '1::2:3:4:5:6 1:0:0:2:3:4:5:6'],
  ['0:0:0:0', '::1 :: ::7:8%eth0'],
  ['', ''],
])('X7: %j is the network of %s', (network, spellings) => {
  for (const address of spellings.split(' ')) expect(clientNetwork(address)).toBe(network)
})
