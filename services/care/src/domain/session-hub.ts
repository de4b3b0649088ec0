// The port through which an accepted write reaches MCP sessions. mcp/ implements it; publish-record.ts calls it.
import type { CareRecord } from './care-record.ts'

export type SessionHub = {
  /**
   * Stores and sends the frames of an accepted write: `resources/updated` to the subscribed, the revision notice and, for
   * a new chain, `list_changed` to all who may see it. Returns how many subscribed sessions there are.
   */
  publish(record: CareRecord, previous: CareRecord | undefined): Promise<number>
  /** Open sessions. */
  sessions(): number
}
