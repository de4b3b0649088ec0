import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ServiceRecipe } from './service-process.ts'

/** Where care runs and with which secrets, made anew for each stack. */
export type CarePlace = {
  readonly baseUrl: string
  readonly mcpUrl: string
  readonly writeSecret: string
  readonly tokenSecret: string
}

const SECRET_BYTES = 32

/** Secrets and addresses of the local care service. */
export function carePlace(port: number): CarePlace {
  const baseUrl = `http://127.0.0.1:${port}`
  return { baseUrl, mcpUrl: `${baseUrl}/mcp`, writeSecret: newSecret(), tokenSecret: newSecret() }
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('hex')
}

/** How care is started: on an empty, sealed store of its own. */
export function careRecipe(
  place: CarePlace,
  { port, dataFolder }: { readonly port: number; readonly dataFolder: string },
): ServiceRecipe {
  const folder = join(dataFolder, 'care')
  rmSync(folder, { recursive: true, force: true }) // like the ledger, the records begin anew
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return {
    name: 'care',
    main: 'services/care/src/main.ts',
    readyUrl: `${place.baseUrl}/ready`,
    environment: {
      HOST: '127.0.0.1',
      PORT: String(port),
      BASE_URL: place.baseUrl,
      WRITE_SECRET: place.writeSecret,
      TOKEN_SECRET: place.tokenSecret,
      SEAL_KEYS: `local:${randomBytes(SECRET_BYTES).toString('base64')}`,
      DATABASE_PATH: join(folder, 'care.db'),
    },
  }
}
