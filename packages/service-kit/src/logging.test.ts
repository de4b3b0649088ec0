import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { createLogger, redacted } from './logging.ts'

describe('logging', () => {
  test('credentials, signatures and record values are redacted at any depth', () => {
    const shown = { agent: '0xab', transaction: '0.0.5@1.2', tokenId: 7 }
    const hidden = {
      authorization: 'hunter2',
      'Payment-Signature': 'hunter2',
      'x-care-signature': 'hunter2',
      FEE_PAYER_PRIVATE_KEY: 'hunter2',
      signature: { nested: 'hunter2' },
      value: 'hunter2',
    }
    const result = redacted({ ...shown, ...hidden, list: [{ headers: hidden }] })
    expect(JSON.stringify(result)).not.toContain('hunter2')
    expect(result).toMatchObject({ ...shown, list: [{ headers: { authorization: '[redacted]' } }] })
  })

  test('lines are JSON with the level by name and an ISO time; errors keep their stack', () => {
    const lines: string[] = []
    const destination = { write: (line: string) => void lines.push(line) }
    const logger = createLogger({ name: 'thing', level: 'info', destination })
    logger.debug({}, 'unheard')
    logger.error({ err: new Error('broken'), token: 'hunter2' }, 'failed')
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'error',
      name: 'thing',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      msg: 'failed',
      token: '[redacted]',
      err: { message: 'broken', stack: expect.stringContaining('logging.test.ts') },
    })
  })

  test('a terminal gets readable lines; elsewhere nothing loads what writes them', () => {
    const logging = new URL('./logging.ts', import.meta.url).href
    const script = `import { createRequire } from 'node:module'
      import { createLogger } from ${JSON.stringify(logging)}
      const isLoaded = () => Object.keys(createRequire(import.meta.url).cache).some((name) => name.includes('pino-pretty'))
      const elsewhere = isLoaded()
      createLogger({ name: 'thing', level: 'info', destination: undefined }).info({ agent: '0xab' }, 'opened')
      console.log(elsewhere, isLoaded())`
    const words = ['--input-type=module', '--eval', script]
    const { stderr, stdout } = spawnSync(process.execPath, words, { encoding: 'utf8' })
    expect(stdout, stderr).toMatch(/INFO: opened\n\s+agent: "0xab"\nfalse true\n$/)
  })
})
