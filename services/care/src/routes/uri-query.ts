import { z } from 'zod'

/** The `uri` filter; given twice it names nothing. */
export const uriQuery = z.object({
  uri: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe('A record’s URI: its chain is meant, whichever version the URI names.'),
})
