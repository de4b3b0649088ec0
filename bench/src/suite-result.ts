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

/** The value of figures, by name. */
const valuesSchema = z.record(z.string(), z.number())

export type FigureValues = z.output<typeof valuesSchema>

/** When a suite ran, and beside what load. */
const runSchema = z.object({
  /** ISO 8601 date. */
  measuredOn: z.string(),
  /** Over one minute, before and after: the machine's other load. */
  loadAverage: z.object({ before: z.number(), after: z.number() }),
})

/** The content of `results/<suite>.json`. */
export const suiteResultSchema = z.object({
  suite: z.string(),
  ...runSchema.shape,
  /** Processor, cores, Node. */
  machine: z.string(),
  figures: z.array(figureSchema),
  /** The same figures on a network as slow and as late as the public one, for what has to do with access. */
  likeTestnet: runSchema.extend({ values: valuesSchema }).optional(),
})

export type SuiteResult = z.output<typeof suiteResultSchema>
