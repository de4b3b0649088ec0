import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** Types and source maps: read by compilers and debuggers, by no running program. */
const DECLARATION = /\.(d\.[cm]?ts|map)$/

/** Removes them from what was installed: of access's files, a third. Links are not followed. */
export function removeDeclarations(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) removeDeclarations(path)
    else if (entry.isFile() && DECLARATION.test(entry.name)) rmSync(path)
  }
}
