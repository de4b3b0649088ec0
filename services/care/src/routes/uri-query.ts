import { z } from 'zod'
import { uriExample } from './examples.ts'

/** The `uri` filter; given twice it names nothing. */
export const uriQuery = z.object({
  uri: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .meta({
      description: 'A record’s URI: its chain is meant, whichever version the URI names.',
      examples: [uriExample],
    }),
})
