// Every mutant of one source file.
import { constantEdits, expressionEdits } from './expression-edits.ts'
import type { Edit, Mutant } from './mutant.ts'
import { lineAt, onOneLine, type SourceFile, statementRange, textAt } from './source-file.ts'
import { removalEdits } from './statement-edits.ts'
import {
  children,
  optionalChild,
  type Range,
  rangeOf,
  type SyntaxNode,
  visits,
} from './syntax-tree.ts'

/** Length of the statement shown on each side of a change, characters. */
const CONTEXT_MAX = 40
/** Length of the replaced text shown, characters. */
const CHANGED_MAX = 80

/** Executable code: a function, modifier or constant. */
type Scope = { readonly name: string; readonly parts: readonly SyntaxNode[] }

type PlacedEdit = { readonly edit: Edit; readonly statement: SyntaxNode }

const isStatement = ({ nodeType }: SyntaxNode): boolean =>
  nodeType.endsWith('Statement') || nodeType === 'Return'

function scopesOf(contract: SyntaxNode): readonly Scope[] {
  return children(contract, 'nodes').flatMap((node) => {
    const isRunning = ['FunctionDefinition', 'ModifierDefinition'].includes(node.nodeType)
    const isConstant = node.nodeType === 'VariableDeclaration' && node['constant'] === true
    if (!isRunning && !isConstant) return []
    const body = optionalChild(node, 'body')
    const parts = isConstant ? [node] : [...children(node, 'modifiers'), ...(body ? [body] : [])]
    const ownName = String(node['name']) || String(node['kind'])
    return [{ name: `${String(contract['name'])}.${ownName}`, parts }]
  })
}

function editsOf(file: SourceFile, part: SyntaxNode): readonly PlacedEdit[] {
  return Array.from(visits(part)).flatMap(({ node, ancestors }) => {
    const edits = [
      ...(node.nodeType === 'VariableDeclaration' && node['constant'] === true
        ? constantEdits(file, node)
        : []),
      ...expressionEdits(file, node),
      ...removalEdits(file, node, ancestors[0]),
    ]
    const statement = [node, ...ancestors].find(isStatement) ?? part
    return edits.map((edit) => ({ edit, statement }))
  })
}

const cut = (text: string): string =>
  text.length <= CHANGED_MAX
    ? text
    : `${text.slice(0, CHANGED_MAX / 2)}…${text.slice(-CHANGED_MAX / 2)}`

/** The change within its statement: `if (a «< → <=» b) return 0;`. */
function shownChange(file: SourceFile, { edit, statement }: PlacedEdit): string {
  const around: Range =
    statement.nodeType === 'IfStatement' ? rangeOf(statement) : statementRange(file, statement)
  const left = onOneLine(textAt(file, { start: around.start, end: edit.range.start }))
  const right = onOneLine(textAt(file, { start: edit.range.end, end: around.end }))
  const before = cut(onOneLine(textAt(file, edit.range)).trim())
  const after = cut(onOneLine(edit.replacement).trim())
  return `${left.slice(-CONTEXT_MAX)}«${before} → ${after}»${right.slice(0, CONTEXT_MAX)}`.trim()
}

/** Every mutant of the contracts and libraries in a file, in text order. Equal changes are numbered. */
export function mutantsOf(file: SourceFile): readonly Mutant[] {
  const seen = new Map<string, number>()
  return children(file.tree, 'nodes')
    .filter((node) => node.nodeType === 'ContractDefinition')
    .flatMap(scopesOf)
    .flatMap(({ name, parts }) =>
      parts
        .flatMap((part) => editsOf(file, part))
        .map((placed) => {
          const title = `${name}: ${shownChange(file, placed)}`
          const count = (seen.get(title) ?? 0) + 1
          seen.set(title, count)
          const key = count === 1 ? title : `${title} (${count})`
          const line = lineAt(file, placed.edit.range.start)
          return { ...placed.edit, key, file: file.path, line }
        }),
    )
}
