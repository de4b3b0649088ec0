// Whether two neighbouring statements may be swapped without a difference, as far as the syntax tree shows. Such swaps
// are not mutants; for any other swap a test has to find the difference.
import { child, children, nodesIn, optionalChild, type SyntaxNode } from './syntax-tree.ts'

/** A variable or one of its members: the declaration's id, then member names as far as known. */
type Place = readonly string[]

type Effects = { readonly reads: readonly Place[]; readonly writes: readonly Place[] }

/** All storage, for anything that reads or may write some of it. */
const STATE: Place = ['state']
const LOG: Place = ['log']

const isMember = (node: SyntaxNode): boolean => node.nodeType === 'MemberAccess'

const typeOf = (node: SyntaxNode): string => {
  const descriptions = node['typeDescriptions'] as { readonly typeString?: string } | undefined
  return descriptions?.typeString ?? ''
}

/** `accounts.reserveTinybar` is that member; of an index, the whole array or mapping. */
function placeOf(expression: SyntaxNode): Place | undefined {
  switch (expression.nodeType) {
    case 'Identifier':
      return [String(expression['referencedDeclaration'])]
    case 'MemberAccess': {
      const inner = child(expression, 'expression')
      const base = placeOf(inner)
      return inner.nodeType === 'IndexAccess'
        ? base
        : base && [...base, String(expression['memberName'])]
    }
    case 'IndexAccess':
      return placeOf(child(expression, 'baseExpression'))
    default:
      return undefined
  }
}

/**
 * Whether evaluating a call only reads: a cast, a struct made from its members, or a view without memory arguments that
 * it could change. `gasleft` reads a value that every statement changes.
 */
function isReadOnly(call: SyntaxNode): boolean {
  if (call['kind'] !== 'functionCall') return true
  const callee = child(call, 'expression')
  if (callee['name'] === 'gasleft') return false
  const isGivenMemory = children(call, 'arguments').some((node) => / memory\b/u.test(typeOf(node)))
  return /\) (?:view|pure)\b/u.test(typeOf(callee)) && !isGivenMemory
}

const runsCode = (node: SyntaxNode): boolean =>
  node.nodeType === 'FunctionCall'
    ? !isReadOnly(node)
    : ['Assignment', 'NewExpression', 'UnaryOperation'].includes(node.nodeType)

function readsOf(expression: SyntaxNode): readonly Place[] | undefined {
  const nodes = nodesIn(expression)
  if (nodes.some(runsCode)) return undefined
  // `a` inside `a.b` would count as all of `a`
  const inner = new Set(nodes.filter(isMember).map((node) => child(node, 'expression')))
  const places = nodes
    .filter((node) => !inner.has(node))
    .map(placeOf)
    .filter((place) => place !== undefined)
  const isCalling = nodes.some((node) => node['kind'] === 'functionCall')
  return isCalling ? [STATE, ...places] : places
}

function effectsOfAssignment(assignment: SyntaxNode): Effects | undefined {
  const left = child(assignment, 'leftHandSide')
  const written = placeOf(left)
  const readRight = readsOf(child(assignment, 'rightHandSide'))
  const readLeft = readsOf(left)
  if (!written || !readRight || !readLeft) return undefined
  const isMemory = isMember(left) && / memory\b/u.test(typeOf(child(left, 'expression')))
  return {
    // the base of `a.b = x` is not read: only an index is evaluated
    reads: [
      ...readRight,
      ...(left.nodeType === 'IndexAccess' ? readLeft : []),
      ...(assignment['operator'] === '=' ? [] : [written]),
    ],
    writes: isMemory ? [written] : [written, STATE],
  }
}

/** What an assignment, declaration or event reads and writes; undefined if it may do more. */
function effectsOf(statement: SyntaxNode): Effects | undefined {
  if (statement.nodeType === 'ExpressionStatement') {
    const expression = child(statement, 'expression')
    return expression.nodeType === 'Assignment' ? effectsOfAssignment(expression) : undefined
  }
  if (statement.nodeType === 'VariableDeclarationStatement') {
    const value = optionalChild(statement, 'initialValue')
    const reads = value ? readsOf(value) : []
    const writes = children(statement, 'declarations').map(({ id }) => [String(id)])
    return reads && { reads, writes }
  }
  if (statement.nodeType === 'EmitStatement') {
    const reads = children(child(statement, 'eventCall'), 'arguments').map(readsOf)
    if (reads.includes(undefined)) return undefined
    return { reads: reads.flatMap((places) => places ?? []), writes: [LOG] }
  }
  return undefined
}

/** Whether one is the other or a part of it. */
const overlap = (one: Place, other: Place): boolean =>
  one.slice(0, other.length).every((name, index) => name === other[index])

const touches = (writes: readonly Place[], places: readonly Place[]): boolean =>
  writes.some((write) => places.some((place) => overlap(write, place)))

/**
 * Whether neither statement reads or writes what the other writes. Two that may both revert count as independent: either
 * way the transaction is undone.
 */
export function areIndependent(first: SyntaxNode, second: SyntaxNode): boolean {
  const [one, other] = [effectsOf(first), effectsOf(second)]
  if (!one || !other) return false
  const named = one.writes.filter((place) => place !== STATE) // which storage is written, is known
  return !(
    touches(one.writes, other.reads) ||
    touches(other.writes, one.reads) ||
    touches(named, other.writes)
  )
}
