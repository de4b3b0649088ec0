/** The public part of a ledger entry (G7). */
import { z } from 'zod'

const members = z.record(z.string(), z.unknown())

const entryViewSchema = z.object({
  seq: z.int(),
  hash: z.string().describe('RFC 9162 leaf hash, hex.'),
  entry: members.exactOptional().describe('The entry as hashed (RFC 8785).'),
  redacted: members
    .exactOptional()
    .describe('Everything but the prices, which may not be redistributed.'),
  opened: members.exactOptional().describe('A committed pick, once its event has started.'),
})
export type EntryView = z.output<typeof entryViewSchema>

export const publicEntrySchema = entryViewSchema
  .extend({
    inclusion: z.object({
      size: z.int(),
      root: z.string(),
      proof: z.array(z.string()).readonly(),
    }),
  })
  .meta({ id: 'LedgerEntry' })
export type PublicEntry = z.output<typeof publicEntrySchema>

export const ledgerPageSchema = z
  .object({
    size: z.int().describe('Entries in the ledger.'),
    root: z.string(),
    entries: z.array(entryViewSchema).readonly().describe('Newest first, without their proofs.'),
  })
  .meta({ id: 'LedgerPage' })
export type LedgerPage = z.output<typeof ledgerPageSchema>
