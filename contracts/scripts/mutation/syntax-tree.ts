// The part of solc's syntax tree that mutations need. Positions are byte offsets in the UTF-8 source.

/** A node of solc's compact tree. */
export type SyntaxNode = {
  readonly nodeType: string
  readonly src: string
  readonly [field: string]: unknown
}

/** Bytes of a file, `end` excluded. */
export type Range = { readonly start: number; readonly end: number }

/** A node and its ancestors, nearest first. */
type Visit = { readonly node: SyntaxNode; readonly ancestors: readonly SyntaxNode[] }

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'nodeType' in value

/** A node's position, which solc writes as `start:length:file`. */
export function rangeOf(node: SyntaxNode): Range {
  const [start = 0, length = 0] = node.src.split(':').map(Number)
  return { start, end: start + length }
}

/** The node in that field. @throws Error if there is none: then this code does not understand the tree. */
export function child(node: SyntaxNode, field: string): SyntaxNode {
  const value = node[field]
  if (!isNode(value)) throw new Error(`${node.nodeType} at ${node.src} has no ${field}`)
  return value
}

/** The node in that field; undefined if the field is null or absent. */
export function optionalChild(node: SyntaxNode, field: string): SyntaxNode | undefined {
  const value = node[field]
  return isNode(value) ? value : undefined
}

/** The nodes in that field; tuples hold null for omitted elements. */
export function children(node: SyntaxNode, field: string): readonly SyntaxNode[] {
  const value = node[field]
  return Array.isArray(value) ? value.filter(isNode) : []
}

/** Every node at and below `root`, outer before inner, with its ancestors. */
export function* visits(root: SyntaxNode, ancestors: readonly SyntaxNode[] = []): Generator<Visit> {
  yield { node: root, ancestors }
  const below = [root, ...ancestors]
  for (const value of Object.values(root)) {
    for (const inner of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
      if (isNode(inner)) yield* visits(inner, below)
    }
  }
}
