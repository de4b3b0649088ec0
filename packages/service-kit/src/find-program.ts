import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of the first executable file called `name` in the folders of a `PATH`; undefined if there is none. */
export function findProgram(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isExecutableFile)
}

function isExecutableFile(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
