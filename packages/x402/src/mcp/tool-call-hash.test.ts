/** X20: the hash that binds a payment to one call: server, tool and arguments. */
import { describe, expect, test } from 'vitest'
import vectors from '../../vectors/tool-call.json' with { type: 'json' }
import { toolCallHash } from './paid-tool.ts'

const SERVER = 'https://shop.example/mcp'

describe('X20: golden vectors', () => {
  test.for(vectors.calls)('$name $arguments', ({ domain, hash, ...call }) => {
    expect(toolCallHash(call, domain)).toBe(hash)
  })

  test('server, tool and arguments each change the hash, and no arguments are empty ones', () => {
    const call = { server: SERVER, name: 'grade_pick', arguments: {} }
    const { arguments: _left, ...bare } = call
    expect(toolCallHash(bare)).toBe(toolCallHash(call))
    const others = [
      { ...call, server: `${SERVER}/` },
      { ...call, name: 'audit_picks' },
      { ...call, arguments: { a: 1 } },
    ]
    expect(new Set([call, ...others].map((each) => toolCallHash(each))).size).toBe(4)
  })
})
