import { z } from 'zod'

/** Who may hear a record: `user` may be spoken to the person, `assistant` must never be. Fixed for a chain. */
export const audience = z.enum(['user', 'assistant'])

export type Audience = z.infer<typeof audience>

/** Both, in the order of journals and exports. */
export const AUDIENCES = audience.options
