import { describe, expect, test } from 'vitest'
import { errorAnswers } from './error-answer.ts'

const answer = errorAnswers({
  conflict: { status: 409, meaning: 'Somebody else has it.' },
  busy: { status: 503, meaning: 'Too many wait.', retryAfterSeconds: 5 },
})

describe('the answers of a table of codes', () => {
  test('are never cached', () => {
    expect(answer('conflict')).toEqual({
      status: 409,
      error: 'conflict',
      headers: { 'cache-control': 'no-store' },
    })
  })

  test('carry the row’s retry time, unless the case has its own', () => {
    expect(answer('busy').headers?.['retry-after']).toBe('5')
    expect(answer('busy', { retryAfterSeconds: 7 }).headers?.['retry-after']).toBe('7')
    expect(answer('busy', { retryAfterSeconds: undefined }).headers?.['retry-after']).toBe('5')
    expect(answer('conflict', { retryAfterSeconds: 0 }).headers?.['retry-after']).toBe('0')
  })

  test('carry the case’s details and headers', () => {
    expect(answer('conflict', { details: { owner: 'a' }, headers: { allow: 'GET' } })).toEqual({
      status: 409,
      error: 'conflict',
      details: { owner: 'a' },
      headers: { 'cache-control': 'no-store', allow: 'GET' },
    })
  })
})
