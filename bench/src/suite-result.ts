import { z } from 'zod'

const figureSchema = z.object({
  name: z.string(),
  value: z.number(),
  unit: z.string(),
  baseline: z.object({ name: z.string(), value: z.number() }),
  ratio: z.number(),
  aim: z.string(),
  met: z.boolean(),
})

/** The content of `results/<suite>.json`. */
export const suiteResultSchema = z.object({
  suite: z.string(),
  /** ISO 8601 date. */
  measuredOn: z.string(),
  /** Processor, cores, Node. */
  machine: z.string(),
  /** Over one minute, before and after: the machine's other load. */
  loadAverage: z.object({ before: z.number(), after: z.number() }),
  figures: z.array(figureSchema),
})

export type SuiteResult = z.output<typeof suiteResultSchema>
