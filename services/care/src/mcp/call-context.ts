import type { Clock } from '@tallystick/service-kit'
import { mayRead, readableAudiences } from '../domain/care-record.ts'
import type { RecordStore } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import type { McpLimits } from './limits.ts'
import type { RecordAudio } from './record-audio.ts'
import type { McpSession } from './session.ts'
import type { SessionRegistry } from './session-registry.ts'

/** What every method works with. */
export type McpServices = {
  readonly store: RecordStore
  readonly registry: SessionRegistry
  readonly clock: Clock
  /** Absent where nothing can speak. */
  readonly audio: RecordAudio | undefined
  readonly serviceName: string
  readonly version: string
  readonly limits: McpLimits
  /** Resolves when what was saved of the sessions is kept. */
  readonly flush: () => Promise<void>
}

/** A request in its session: what may be seen is decided by the session's present scopes. */
export type CallContext = McpServices & { readonly session: McpSession }

/** Whether the caller may see records of an audience. */
export function canSee({ session }: CallContext, audience: Audience): boolean {
  return mayRead(session.scopes, audience)
}

/** The audiences whose records the caller may see. */
export function visibleAudiences({ session }: CallContext): readonly Audience[] {
  return readableAudiences(session.scopes)
}
