// The files that the report counts: tracked by git and written by a person.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One text file, with its path relative to the root. */
export type SourceFile = { readonly path: string; readonly text: string }

/** Production and test lines of one room. */
type RoomLines = {
  readonly room: string
  readonly production: number
  readonly test: number
}

const GENERATED = /(?:^|\/)(?:artifacts|vectors|generated|tools)\/|(?:^|\/)openapi\.json$/
const CODE = /\.(?:ts|sql|sol|js|mjs|css|html)$/
const TEST =
  /\.(?:test|contract|fixture|bench)\.|\/test\/|\/testing\/|vitest\.|\.t\.sol$|page-testing|^(?:e2e|bench)\//

/** Whether it is code written by a person. */
export const isCode = ({ path }: SourceFile): boolean => CODE.test(path)
/** Whether it serves tests alone: fixtures, shared suites and benches included. */
export const isTest = ({ path }: SourceFile): boolean => TEST.test(path)
/** Lines as `wc -l` counts them. */
const lineCount = ({ text }: SourceFile): number => text.split('\n').length - 1

/** Every file of the checkout with one of these endings, except generated files. */
export function readSources(root: string, endings: readonly string[]): readonly SourceFile[] {
  const listed = ['ls-files', '-co', '--exclude-standard', '--', ...endings.map((end) => `*${end}`)]
  const paths = execFileSync('git', listed, { cwd: root, encoding: 'utf8' }).trim().split('\n')
  return paths
    .filter((path) => !GENERATED.test(path) && existsSync(join(root, path)))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/** A workspace, or one of `contracts/src`, `contracts/test`, … */
export function findRoom(path: string): string {
  const [first = '', second = ''] = path.split('/')
  return ['packages', 'services', 'contracts'].includes(first) ? `${first}/${second}` : first
}

/** Lines per room, rooms in name order; files at the root belong to none. */
export function linesByRoom(files: readonly SourceFile[]): readonly RoomLines[] {
  const rooms = new Map<string, { production: number; test: number }>()
  for (const file of files.filter((each) => isCode(each) && each.path.includes('/'))) {
    const room = findRoom(file.path)
    const lines = rooms.get(room) ?? { production: 0, test: 0 }
    lines[isTest(file) ? 'test' : 'production'] += lineCount(file)
    rooms.set(room, lines)
  }
  return [...rooms]
    .map(([room, lines]) => ({ room, ...lines }))
    .toSorted((left, right) => left.room.localeCompare(right.room))
}
