// Every generated file of the repository but the contracts' artifacts, with what it should say.
import {
  environmentExample,
  environmentTable,
  type ServiceApp,
  systemClock,
} from '@tallystick/service-kit'
import { facilitatorConfig } from '../../packages/facilitator/src/config.ts'
import { buildAccessApp } from '../../services/access/src/app.ts'
import { accessConfigSchema } from '../../services/access/src/config.ts'
import { careConfigSchema } from '../../services/care/src/config.ts'
import { buildReferenceApp } from '../../services/care/src/reference-app.ts'
import { type GeneratedFile, section, wholeFile } from './generated-file.ts'

const README_SECTION = 'environment'

/** Stands in for what routes do: a reference is made from their schemas alone. */
function notCalled(): never {
  throw new Error('the API reference is made without calling any route')
}

async function reference(app: ServiceApp): Promise<string> {
  await app.ready()
  const text = `${JSON.stringify(app.swagger(), null, 2)}\n`
  await app.close()
  return text
}

async function accessReference(): Promise<string> {
  return await reference(
    await buildAccessApp({
      serviceName: 'svc',
      callAccess: notCalled,
      readStatus: notCalled,
      gate: { challenge: notCalled },
      encodeSettlement: notCalled,
      clock: systemClock,
    }),
  )
}

/** Throws where a README lacks its markers. */
export async function generatedFiles(): Promise<readonly GeneratedFile[]> {
  return [
    wholeFile('services/access/.env.example', environmentExample(accessConfigSchema)),
    wholeFile('services/access/openapi.json', await accessReference()),
    section('services/access/README.md', {
      name: README_SECTION,
      text: environmentTable(accessConfigSchema),
    }),
    wholeFile('services/care/.env.example', environmentExample(careConfigSchema)),
    wholeFile('services/care/openapi.json', await reference(await buildReferenceApp())),
    section('services/care/README.md', {
      name: README_SECTION,
      text: environmentTable(careConfigSchema),
    }),
    wholeFile('packages/facilitator/.env.example', environmentExample(facilitatorConfig)),
    section('packages/facilitator/README.md', {
      name: README_SECTION,
      text: environmentTable(facilitatorConfig),
    }),
  ]
}
