import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { errorCode } from './private-file.ts'
import type { UnavailableError } from './unavailable.ts'

/** Ends every schema: SQL that was cut behind any of its statements is valid too, and would make half a store. */
const LAST_LINE = '\n-- end of the schema\n'

/**
 * The text of a schema file. Throws the service's error if the file is missing or was cut: a store that half of it had made could
 * not be opened by the whole program either.
 *
 * @example get migrations() { return [readSchema(new URL('./notes.schema.sql', import.meta.url), NotesUnavailable)] }
 */
export function readSchema(file: URL, Unavailable: UnavailableError): string {
  let text = ''
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
  }
  if (text.endsWith(LAST_LINE)) return text
  throw new Unavailable(
    `${fileURLToPath(file)} is ${text === '' ? 'missing' : 'cut short'}, so this program is damaged: install it again. Nothing was written`,
  )
}
