/** Which files and which rooms import each other, types included. */
import { posix } from 'node:path'
import { type Entries, listImports } from './imports.ts'
import { findRoom, isTest, type SourceFile } from './source-files.ts'

type Arrows = ReadonlyMap<string, ReadonlySet<string>>

function readArrows(files: readonly SourceFile[], entries: Entries): Arrows {
  const paths = new Set(files.map(({ path }) => path))
  return new Map(
    files.map((file) => {
      const targets = listImports(file, entries).map(({ target }) => target)
      return [file.path, new Set(targets.filter((target) => paths.has(target)))]
    }),
  )
}

/** Everything that a file imports, and what that imports. */
function findReach(arrows: Arrows, from: string): ReadonlySet<string> {
  const reach = new Set<string>()
  const left = [...(arrows.get(from) ?? [])]
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    if (reach.has(path)) continue
    reach.add(path)
    left.push(...(arrows.get(path) ?? []))
  }
  return reach
}

/** Groups of files each of which imports, in the end, itself. */
export function findCircles(files: readonly SourceFile[], entries: Entries): readonly string[] {
  const arrows = readArrows(files, entries)
  const reaches = new Map(
    [...arrows.keys()]
      .map((path) => [path, findReach(arrows, path)] as const)
      .filter(([path, reach]) => reach.has(path)),
  )
  const circles = [...reaches].map(([path, reach]) =>
    [...reach]
      .filter((other) => reaches.get(other)?.has(path))
      .toSorted()
      .join(', '),
  )
  return [...new Set(circles)]
}

/** A folder of a workspace; each file beside its folders is a room of its own. */
const findFolder = (path: string): string =>
  posix.basename(posix.dirname(path)) === 'src' ? path : posix.dirname(path)

/** Imports between two rooms of a workspace that import each other, in the direction that is rarer. Tests may import anything. */
export function findArrowsUp(files: readonly SourceFile[], entries: Entries): readonly string[] {
  const production = files.filter((file) => !isTest(file))
  const byRooms = new Map<string, string[]>()
  for (const [path, targets] of readArrows(production, entries)) {
    for (const target of targets) {
      const rooms = [findFolder(path), findFolder(target)]
      if (rooms[0] === rooms[1] || findRoom(path) !== findRoom(target)) continue
      const key = rooms.join(' ')
      byRooms.set(key, [...(byRooms.get(key) ?? []), `${path} imports ${target}`])
    }
  }
  return [...byRooms].flatMap(([key, imports]) => {
    const back = byRooms.get(key.split(' ').toReversed().join(' '))?.length ?? 0
    return imports.length < back ? imports : []
  })
}
