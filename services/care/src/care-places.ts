import type { CareConfig } from './config.ts'
import { METADATA_PATH } from './routes/metadata-routes.ts'

/** Where things are, as clients see them. */
export type CarePlaces = {
  /** Without a trailing slash. */
  readonly baseUrl: string
  /** The MCP endpoint, which is the tokens' audience. */
  readonly resource: string
  /** The protected-resource metadata that a 401 names. */
  readonly metadataUrl: string
}

/** The places that follow from the configuration. */
export function carePlaces(config: Pick<CareConfig, 'BASE_URL'>): CarePlaces {
  const baseUrl = config.BASE_URL
  return { baseUrl, resource: `${baseUrl}/mcp`, metadataUrl: `${baseUrl}${METADATA_PATH}` }
}
