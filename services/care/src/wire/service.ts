/** What the service says about itself. */
import { z } from 'zod'

/** Protected-resource metadata (RFC 9728). */
export const metadataAnswer = z.object({
  resource: z.string(),
  authorization_servers: z.array(z.string()),
  scopes_supported: z.array(z.string()),
  bearer_methods_supported: z.array(z.string()),
  resource_documentation: z.string(),
})

export const healthAnswer = z.object({ ok: z.literal(true), sessions: z.int().min(0) })
