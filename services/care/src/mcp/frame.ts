import type { Audience } from '../wire/records.ts'

/** One message to clients, held once in memory and shared by the rings of all its recipients. */
export type Frame = {
  readonly number: number
  /** The JSON-RPC message as text. */
  readonly text: string
  /** Of the text in UTF-8, counted once for all streams that get it. */
  readonly bytes: number
  /** The URI whose scope the frame asks for. */
  readonly about: string
  /** Audiences whose scope a reader needs, judged from the message and `about`; undefined: nobody may have it. */
  readonly audiences: readonly Audience[] | undefined
  /** Rings that hold it; at 0 it is forgotten. */
  holders: number
}
