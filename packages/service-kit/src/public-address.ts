// Which addresses a stranger's URL may lead to. Everything in IANA's special-purpose registries for IPv4 and IPv6 as of 2026
// is refused, and all multicast and reserved addresses, even those that IANA calls reachable: no webhook is there. So are the
// addresses that a cloud's own machines alone reach, though IANA calls them public.
import { BlockList, isIPv4, isIPv6 } from 'node:net'

const blockNetworks = (family: 'ipv4' | 'ipv6', networks: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const text of networks) {
    const [network = '', prefix] = text.split('/')
    list.addSubnet(network, Number(prefix), family)
  }
  return list
}

const REFUSED_V4 = blockNetworks('ipv4', [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared, behind a carrier's NAT
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local: metadata services
  '161.26.0.0/16', // IBM Cloud: services of its private network
  '166.8.0.0/14', // IBM Cloud: the same
  '168.63.129.16/32', // Azure: the host under a virtual machine
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '199.36.153.4/30', // Google Cloud: its interfaces, from within a private network
  '199.36.153.8/30', // Google Cloud: the same
  '203.0.113.0/24', // documentation
  '224.0.0.0/3', // multicast, reserved, broadcast
])

/**
 * Everything outside 2000::/3 (loopback, v4-mapped, NAT64 with 64:ff9b::/96 and 64:ff9b:1::/48, discard, SRv6, unique local,
 * link-local, multicast), and the special ranges inside it.
 */
const REFUSED_V6 = blockNetworks('ipv6', [
  '::/3',
  '4000::/2',
  '8000::/1',
  '2001::/23', // protocol assignments: Teredo, benchmarks, ORCHID, AMT, DRIP
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: leads back to IPv4
  '2600:2d00:2:1000::/64', // Google Cloud: its interfaces, from within a private network
  '2600:2d00:2:2000::/64', // Google Cloud: the same
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
])

/** Whether an address, as `dns.lookup` spells it, is on the public internet. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !REFUSED_V4.check(address, 'ipv4')
  return isIPv6(address) && !address.includes('%') && !REFUSED_V6.check(address, 'ipv6')
}
