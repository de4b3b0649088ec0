// Every generated file of the repository except the contracts' artifacts, with its expected text.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { environmentExample, environmentTable } from '@tallystick/service-kit'
import { facilitatorConfig } from '../../packages/facilitator/src/config.ts'
import { issuerConfigSchema } from '../../packages/issuer/src/config.ts'
import { accessConfigSchema } from '../../services/access/src/config.ts'
import { careConfigSchema } from '../../services/care/src/config.ts'
import { gradingConfigSchema } from '../../services/grading/src/config.ts'
import { composeEnvironments } from './compose-environment.ts'
import { describeCopy, type GeneratedFile, section, sections, wholeFile } from './generated-file.ts'
import { sellerTables } from './seller-tables.ts'

/** Far above any of our references, unlike the default of 1 MiB. */
const REFERENCE_BYTES_MAX = 16 * 1024 * 1024

const printer = fileURLToPath(new URL('print-reference.ts', import.meta.url))

/** A service's OpenAPI document. Rejects with the printer's error output. */
async function reference(service: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [printer, service], {
    maxBuffer: REFERENCE_BYTES_MAX,
  })
  return stdout
}

/** What each program reads from its environment, by its folder. */
const CONFIGURED = {
  'services/access': accessConfigSchema,
  'services/care': careConfigSchema,
  'services/grading': gradingConfigSchema,
  'packages/facilitator': facilitatorConfig,
  'packages/issuer': issuerConfigSchema,
}

/** How docker-compose.yml gives each service its variables; names that earlier env files have stay as they are. */
const COMPOSE = {
  access: {
    schema: accessConfigSchema,
    named: {
      BASE_URL: 'ACCESS_BASE_URL=http://localhost:3001',
      NETWORK: 'HEDERA_NETWORK=hedera:testnet',
      LEDGER_RPC_URL: 'LEDGER_RPC_URL',
      LEDGER_CHAIN_ID: 'LEDGER_CHAIN_ID=296',
      PAY_TO_KEY: 'ACCESS_PAY_TO_KEY',
      RECORDER_KEY: 'ACCESS_RECORDER_KEY',
      SESSION_SECRET: 'ACCESS_SESSION_SECRET',
    },
  },
  care: {
    schema: careConfigSchema,
    fixed: { DATABASE_PATH: '/data/care.db' },
    named: {
      BASE_URL: 'CARE_BASE_URL=http://localhost:3002',
      WRITE_SECRET: 'CARE_WRITE_SECRET',
      SEAL_KEYS: 'CARE_SEAL_KEYS',
      TRUSTED_ISSUERS: 'CARE_TRUSTED_ISSUERS',
    },
  },
  grading: {
    schema: gradingConfigSchema,
    fixed: { DATABASE_PATH: '/data/grading.db' },
    named: {
      BASE_URL: 'GRADING_BASE_URL=http://localhost:3003',
      LEDGER_RPC_URL: 'X_LAYER_RPC_URL',
      ASSET: 'GRADING_ASSET',
    },
  },
  issuer: {
    schema: issuerConfigSchema,
    fixed: {
      USERS_PATH: '/data/users.json',
      KEYS_PATH: '/data/keys.json',
      DATABASE_PATH: '/data/issuer.db',
    },
    named: {
      BASE_URL: 'ISSUER_BASE_URL=http://localhost:3004',
      RESOURCES: 'ISSUER_RESOURCES',
      CLIENTS: 'ISSUER_CLIENTS',
      REGISTRATION: 'ISSUER_REGISTRATION',
      UPSTREAM_ISSUER: 'ISSUER_UPSTREAM',
      UPSTREAM_CLIENT_ID: 'ISSUER_UPSTREAM_CLIENT_ID',
      UPSTREAM_CLIENT_SECRET: 'ISSUER_UPSTREAM_CLIENT_SECRET',
      UPSTREAM_GRANTS: 'ISSUER_UPSTREAM_GRANTS',
    },
  },
  facilitator: {
    schema: facilitatorConfig,
    named: {
      NETWORK: 'HEDERA_NETWORK=hedera:testnet',
      FEE_PAYER: 'FACILITATOR_FEE_PAYER',
      FEE_PAYER_KEY: 'FACILITATOR_FEE_PAYER_KEY',
      SERVED_PAY_TO: 'FACILITATOR_SERVED_PAY_TO',
      EVM_RPC_URL: 'X_LAYER_RPC_URL',
      EVM_CHAIN_ID: 'X_LAYER_CHAIN_ID=196',
      EVM_KEY: 'FACILITATOR_EVM_KEY',
      EVM_ASSETS: 'FACILITATOR_EVM_ASSETS',
    },
  },
}

/** Throws if a README lacks its markers. */
export async function generatedFiles(): Promise<readonly GeneratedFile[]> {
  const references = ['access', 'care', 'grading'].map(async (service) =>
    wholeFile(`services/${service}/openapi.json`, await reference(service)),
  )
  const environments = Object.entries(CONFIGURED).flatMap(([folder, schema]) => [
    wholeFile(`${folder}/.env.example`, environmentExample(schema)),
    section(`${folder}/README.md`, { name: 'environment', text: environmentTable(schema) }),
  ])
  const compose = Object.entries(composeEnvironments(COMPOSE)).map(([service, text]) => ({
    name: `environment of ${service}`,
    text,
  }))
  return [
    sections('docker-compose.yml', compose),
    section('docs/how-to/what-a-seller-earns.md', { name: 'tables', text: sellerTables() }),
    describeCopy(
      'services/access/src/wire/access-answers.ts',
      'packages/agent/src/generated/access-answers.ts',
    ),
    ...environments,
    ...(await Promise.all(references)),
  ]
}
