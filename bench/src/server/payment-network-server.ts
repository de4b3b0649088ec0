// The payment suites' network in a separate process, so that it shares only the machine with the measured servers: both
// local ledgers with funded payers, and a facilitator for both. First argument: the number of payers on each.

import { startDevnet, startXLayer } from '@tallystick/devnet'
import { parseConsensusNodes, startFacilitator } from '@tallystick/facilitator'
import { keccak256, stringToBytes } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { answerProbe } from './answer-probe.ts'
import type { FundedAccount, PaymentNetworkFacts } from './payment-network-facts.ts'

const [, , payerCount = '0'] = process.argv

/** Each payer's balance on the Hedera stand-in: thousands of purchases of 12 HBAR. */
const PAYER_TINYBAR = 10_000_000_000_000n
/** Each payer's balance on the X Layer stand-in, base units: a million payments of a cent. */
const PAYER_DOLLARS = 10_000_000_000n

const names = Array.from({ length: Number(payerCount) }, (_, index) => `bench-payer-${index}`)
const [devnet, xlayer] = await Promise.all([startDevnet(), startXLayer()])

function named<Account extends { readonly name: string }>(
  accounts: readonly Account[],
  name: string,
): Account {
  const account = accounts.find((candidate) => candidate.name === name)
  if (account === undefined) throw new Error(`there is no account ${name}`)
  return account
}
const devnetAccount = (name: string): FundedAccount => {
  const { accountId, evmAddress, privateKey } = named(devnet.accounts, name)
  return { accountId, evmAddress, privateKey }
}

const { address, name, version } = xlayer.stablecoin
const feePayer = devnetAccount('facilitator')
const facilitator = await startFacilitator({
  network: 'hedera:testnet',
  consensusNodes:
    parseConsensusNodes(`${devnet.consensus.address}=${devnet.consensus.nodeAccountId}`) ?? [],
  mirrorUrl: devnet.mirrorUrl,
  feePayer: feePayer.accountId,
  feePayerKey: feePayer.privateKey,
  evm: {
    rpcUrl: xlayer.rpcUrl,
    chainId: xlayer.chainId,
    privateKey: named(xlayer.accounts, 'facilitator').privateKey,
    assets: [{ ...xlayer.stablecoin, network: `eip155:${xlayer.chainId}` }],
  },
})

const hederaPayers: FundedAccount[] = []
const evmPayerKeys: `0x${string}`[] = []
for (const payer of names) {
  const { accountId, evmAddress, privateKey } = await devnet.createAccount({
    name: payer,
    balanceTinybar: PAYER_TINYBAR,
  })
  hederaPayers.push({ accountId, evmAddress, privateKey })
  const key = keccak256(stringToBytes(payer))
  await xlayer.controls.mint(privateKeyToAddress(key), PAYER_DOLLARS)
  evmPayerKeys.push(key)
}

const facts: PaymentNetworkFacts = {
  facilitatorUrl: facilitator.url,
  ledgerUrl: devnet.rpcUrl,
  mirrorUrl: devnet.mirrorUrl,
  evmUrl: xlayer.rpcUrl,
  stablecoin: { address, name, version },
  evmPayTo: privateKeyToAddress(named(xlayer.accounts, 'operator').privateKey),
  owner: devnetAccount('owner'),
  payTo: devnetAccount('operator'),
  recorder: devnetAccount('recorder'),
  hederaPayers,
  evmPayerKeys,
}

answerProbe({
  url: facilitator.url,
  details: facts,
  async stop() {
    await facilitator.stop()
    await xlayer.stop()
    await devnet.stop()
  },
})
