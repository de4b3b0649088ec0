/**
 * What pages use that the oldest browsers they work in lack (C39), by MDN's compatibility data. Code has no types here: a
 * member counts as newer if everything of its name is; with a known owner (`AbortSignal.any`) that alone decides. What stays
 * hidden (`map` of an iterator) is taken away from a browser instead, by {@link WITHOUT_NEWER}.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Node, parse } from 'acorn'

/** Browser's names are the data's. */
const OLDEST = { chrome: 103, firefox: 102, safari: 15.4, safari_ios: 15.4 } as const
/** The language that all of them parse. */
const LANGUAGE = 2022

type Statement = {
  readonly version_added: string | false | null
  readonly version_removed?: unknown
  readonly flags?: unknown
  readonly prefix?: string
  readonly alternative_name?: string
}
type Feature = {
  readonly __compat?: {
    readonly support: Readonly<Record<string, Statement | readonly Statement[]>>
  }
}
type Group = Feature & { readonly [member: string]: unknown }
type Data = {
  readonly api: Group
  readonly javascript: { readonly builtins: Group }
  readonly css: {
    readonly properties: Group
    readonly selectors: Group
    readonly types: { readonly color: Group }
  }
}

const data: Data = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve('@mdn/browser-compat-data'), 'utf8'),
)

const isThereBy = (statement: Statement, oldest: number): boolean => {
  const { version_added: added } = statement
  const isPlain = [
    statement.version_removed,
    statement.flags,
    statement.prefix,
    statement.alternative_name,
  ].every((limit) => limit === undefined)
  return isPlain && typeof added === 'string' && Number.parseFloat(added.replace('≤', '')) <= oldest
}

function isNewer(feature: Feature): boolean {
  const { __compat: compat } = feature
  if (compat === undefined) return false
  return Object.entries(OLDEST).some(([browser, oldest]) => {
    const statements = [compat.support[browser] ?? []].flat()
    return !statements.some((statement) => isThereBy(statement, oldest))
  })
}

const listMembers = (group: Group): readonly (readonly [string, Group])[] =>
  Object.entries(group).flatMap(([name, member]) =>
    name === '__compat' ? [] : [[name, member as Group] as const],
  )

type Member = {
  readonly owner: string
  readonly name: string
  readonly isNewer: boolean
  /** Of the interface itself; the data does not say it of built-in objects. */
  readonly isStatic: boolean
}

/** Interfaces, built-in objects and global functions; and what each has. */
const globals = new Map<string, boolean>()
const members: Member[] = []
const { builtins } = data.javascript
const interfaces = [...listMembers(data.api), ...listMembers(builtins)]
for (const [owner, feature] of interfaces) globals.set(owner, isNewer(feature))
for (const [owner, feature] of [...interfaces, ...listMembers(builtins['Intl'] as Group)]) {
  for (const [key, member] of listMembers(feature)) {
    const name = key.replace(/_static$/, '')
    // Events, parameters and the like have names of more than one word.
    if (/^[A-Za-z]\w*$/.test(name) && !name.includes('_'))
      members.push({ owner, name, isNewer: isNewer(member), isStatic: key !== name })
  }
}
const byName = Map.groupBy(members, ({ name }) => name)
const byOwner = new Map(
  members.map(({ owner, name, isNewer: newer }) => [`${owner}.${name}`, newer]),
)

const isNewerName = (name: string): boolean =>
  byName.get(name)?.every(({ isNewer: newer }) => newer) === true

type AnyNode = Node & Readonly<Record<string, unknown>>
const isNode = (value: unknown): value is AnyNode =>
  typeof value === 'object' && value !== null && 'type' in value

const featureName = (node: unknown): string | undefined =>
  isNode(node) && node.type === 'Identifier' ? String(node['name']) : undefined

function newerMember(node: AnyNode): string | undefined {
  const name = featureName(node['property'])
  if (name === undefined || node['computed'] === true) return undefined
  const owner = featureName(node['object']) ?? ''
  const known = globals.has(owner) ? byOwner.get(`${owner}.${name}`) : undefined
  if (known ?? isNewerName(name)) return known === undefined ? `.${name}` : `${owner}.${name}`
  return undefined
}

/** What one node uses; what is in it is looked at by itself. */
function newerUse(node: AnyNode): string | undefined {
  switch (node.type) {
    case 'MemberExpression':
      return newerMember(node)
    case 'Identifier': {
      const name = String(node['name'])
      return globals.get(name) === true ? name : undefined
    }
    case 'StaticBlock':
      return 'static { }'
    case 'Literal':
      return /\(\?<[=!]/.test(String((node['regex'] as { pattern?: string })?.pattern))
        ? '(?<= )'
        : undefined
    default:
      return undefined
  }
}

function collect(node: AnyNode, found: Set<string>): void {
  const use = newerUse(node)
  if (use !== undefined) found.add(use)
  for (const [key, value] of Object.entries(node)) {
    // A member's own name is judged with its owner.
    const isOwnName = ['property', 'key'].includes(key) && node['computed'] !== true
    for (const child of [value].flat()) if (isNode(child) && !isOwnName) collect(child, found)
  }
}

/** Names of members that the code gives its own objects. */
function collectOwn(node: AnyNode, own: Set<string>): void {
  if (['MethodDefinition', 'PropertyDefinition', 'Property'].includes(node.type))
    own.add(featureName(node['key']) ?? '')
  for (const value of Object.values(node))
    for (const child of [value].flat()) if (isNode(child)) collectOwn(child, own)
}

/**
 * What the scripts of a page use that one of the oldest browsers lacks, by script. A name that they give a member of their own,
 * or that is among `ownNames`, is theirs.
 */
export function newerInScripts(
  scripts: Readonly<Record<string, string>>,
  ownNames: readonly string[] = [],
): Readonly<Record<string, readonly string[]>> {
  const own = new Set(ownNames)
  const found: Record<string, readonly string[]> = {}
  const trees = new Map<string, AnyNode>()
  for (const [path, script] of Object.entries(scripts))
    try {
      const tree = parse(script, { ecmaVersion: LANGUAGE, sourceType: 'module' })
      trees.set(path, tree as unknown as AnyNode)
      collectOwn(tree as unknown as AnyNode, own)
    } catch (error) {
      found[path] = [`syntax: ${(error as Error).message}`]
    }
  for (const [path, tree] of trees) {
    const uses = new Set<string>()
    collect(tree, uses)
    const newer = [...uses].filter((use) => !(use.startsWith('.') && own.has(use.slice(1))))
    if (newer.length > 0) found[path] = newer.toSorted()
  }
  return found
}

/** Properties, selectors and functions of a style sheet that one of the oldest browsers lacks. */
export function newerInStyle(style: string): readonly string[] {
  const { properties, selectors, types } = data.css
  const text = style.replaceAll(/\/\*[^]*?\*\//g, '')
  const named = (pattern: RegExp, group: Group, show: (name: string) => string) =>
    [...text.matchAll(pattern)].flatMap(([, name = '']) => {
      const feature = group[name] as Group | undefined
      return feature !== undefined && isNewer(feature) ? [show(name)] : []
    })
  const found = [
    ...named(/(?:^|[{;])\s*([a-z-]+)\s*:/gm, properties, (name) => name),
    ...named(/:([a-z-]+)(?=[^;{}]*\{)/g, selectors, (name) => `:${name}`),
    ...named(/\b([a-z-]+)\(/g, types.color, (name) => `${name}()`),
  ]
  return [...new Set(found)].toSorted()
}

const TAKEN = JSON.stringify([
  ...[...globals].flatMap(([name, newer]) => (newer ? [[name]] : [])),
  ...members.flatMap(({ owner, name, isNewer: newer, isStatic }) =>
    newer ? [[owner, name, isStatic]] : [],
  ),
])

/** A script that takes away from a newer browser everything that the oldest ones lack. */
export const WITHOUT_NEWER = `for (const [owner, name, isStatic] of ${TAKEN}) {
  const home = globalThis[owner]
  if (name === undefined) delete globalThis[owner]
  else if (home !== undefined) {
    delete home[name]
    if (home.prototype && !isStatic) delete home.prototype[name]
  }
}`
