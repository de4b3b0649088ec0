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
const README_SECTION = 'environment'

const printer = fileURLToPath(new URL('print-reference.ts', import.meta.url))

/** A service's OpenAPI document. Rejects with the printer's error output. */
async function reference(service: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [printer, service], {
    maxBuffer: REFERENCE_BYTES_MAX,
  })
  return stdout
}

/** Throws if a README lacks its markers. */
export async function generatedFiles(): Promise<readonly GeneratedFile[]> {
  const [access, care, grading] = await Promise.all([
    reference('access'),
    reference('care'),
    reference('grading'),
  ])
  return [
    section('docs/how-to/what-a-seller-earns.md', { name: 'tables', text: sellerTables() }),
    wholeFile('services/access/.env.example', environmentExample(accessConfigSchema)),
    wholeFile('services/access/openapi.json', access),
    section('services/access/README.md', {
      name: README_SECTION,
      text: environmentTable(accessConfigSchema),
    }),
    copyOf(
      'services/access/src/wire/access-answers.ts',
      'packages/agent/src/generated/access-answers.ts',
    ),
    wholeFile('services/care/.env.example', environmentExample(careConfigSchema)),
    wholeFile('services/care/openapi.json', care),
    section('services/care/README.md', {
      name: README_SECTION,
      text: environmentTable(careConfigSchema),
    }),
    wholeFile('services/grading/.env.example', environmentExample(gradingConfigSchema)),
    wholeFile('services/grading/openapi.json', grading),
    section('services/grading/README.md', {
      name: README_SECTION,
      text: environmentTable(gradingConfigSchema),
    }),
    wholeFile('packages/facilitator/.env.example', environmentExample(facilitatorConfig)),
    section('packages/facilitator/README.md', {
      name: README_SECTION,
      text: environmentTable(facilitatorConfig),
    }),
    wholeFile('packages/issuer/.env.example', environmentExample(issuerConfigSchema)),
    section('packages/issuer/README.md', {
      name: README_SECTION,
      text: environmentTable(issuerConfigSchema),
    }),
  ]
}
