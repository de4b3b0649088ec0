import { openNote, parseCheckpoint } from '@tallystick/hashchain'
import type { GradingStore } from './grading-store.ts'

/** Entries that a checkpoint of our own signs. */
function sizeOf(signed: { readonly note: string; readonly verifierKey: string }): number {
  const opened = openNote(signed)
  const parsed = parseCheckpoint(opened.kind === 'opened' ? opened.text : '')
  if (parsed.kind !== 'checkpoint') throw new Error('the ledger signed no checkpoint')
  return parsed.checkpoint.size
}

/**
 * An export, line by line: every entry as it is hashed, and the signed checkpoint last. The checkpoint is taken first, and
 * the entries are those that it signs: a service may be writing meanwhile.
 */
export async function* exportLines(
  store: Pick<GradingStore, 'checkpoint' | 'entries'>,
): AsyncGenerator<string> {
  const signed = await store.checkpoint()
  for await (const { seq, text, hash } of store.entries({ from: 0, to: sizeOf(signed) }))
    yield JSON.stringify({ seq, text, hash })
  yield JSON.stringify({ checkpoint: signed.note, key: signed.verifierKey })
}
