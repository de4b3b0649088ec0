import {
  hostField,
  httpUrlField,
  logLevelField,
  metricsTokenField,
  portField,
  secretField,
  withFieldMeta,
} from '@tallystick/service-kit'
import { HEDERA_NETWORKS, isAccountId } from '@tallystick/x402/hedera'
import { z } from 'zod'
import { parseConsensusNodes } from './hedera/consensus-nodes.ts'
import { parsePrivateKey } from './hedera/fee-payer-key.ts'

const networkExpected = `one of ${HEDERA_NETWORKS.join(', ')}`
const nodesExpected = 'host:port=account pairs, separated by commas, e.g. 127.0.0.1:50211=0.0.3'
const accountExpected = 'an account id such as 0.0.1001'
const keyExpected = 'a private key in hex: 32 bytes of an ECDSA key, or DER of either kind'

/** The facilitator's environment (S3). */
export const facilitatorConfig = z.object({
  PORT: portField(4020),
  HOST: hostField(),
  NETWORK: withFieldMeta(z.enum(HEDERA_NETWORKS, { error: networkExpected }), {
    expected: networkExpected,
  })
    .prefault('hedera:testnet')
    .describe(
      'Ledger on which payments are settled, as CAIP-2; a local ledger goes by the name it stands in for.',
    ),
  CONSENSUS_NODES: withFieldMeta(
    z
      .string()
      .transform((text) => parseConsensusNodes(text))
      .refine((nodes) => nodes !== undefined, nodesExpected)
      .transform((nodes) => nodes ?? []),
    { expected: nodesExpected },
  )
    .optional()
    .describe('Consensus nodes to submit to; without them the public nodes of NETWORK.'),
  MIRROR_URL: httpUrlField()
    .prefault('https://testnet.mirrornode.hedera.com')
    .describe('Mirror node that accounts, keys and balances are read from.'),
  FEE_PAYER: withFieldMeta(z.string().refine(isAccountId, accountExpected), {
    expected: accountExpected,
  }).describe('Account that pays the fees of settlements.'),
  FEE_PAYER_KEY: withFieldMeta(
    secretField().refine((secret) => parsePrivateKey(secret.reveal()) !== undefined, keyExpected),
    { expected: keyExpected, isSecret: true },
  ).describe('Private key of FEE_PAYER.'),
  LOG_LEVEL: logLevelField(),
  METRICS_TOKEN: metricsTokenField(),
})
