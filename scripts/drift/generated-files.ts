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
import { copyOf, type GeneratedFile, section, wholeFile } from './generated-file.ts'
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

/** Throws if a README lacks its markers. */
export async function generatedFiles(): Promise<readonly GeneratedFile[]> {
  const references = ['access', 'care', 'grading'].map(async (service) =>
    wholeFile(`services/${service}/openapi.json`, await reference(service)),
  )
  const environments = Object.entries(CONFIGURED).flatMap(([folder, schema]) => [
    wholeFile(`${folder}/.env.example`, environmentExample(schema)),
    section(`${folder}/README.md`, { name: 'environment', text: environmentTable(schema) }),
  ])
  return [
    section('docs/how-to/what-a-seller-earns.md', { name: 'tables', text: sellerTables() }),
    copyOf(
      'services/access/src/wire/access-answers.ts',
      'packages/agent/src/generated/access-answers.ts',
    ),
    ...environments,
    ...(await Promise.all(references)),
  ]
}
