import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { runTokenCommand } from './token-command.ts'
import { createTokenKeys } from './token-keys.ts'
import { verifyToken } from './verify-token.ts'

const secret = 'correct horse battery staple, thirty-two'
const audience = 'http://localhost:3002/mcp'
const options = ['--sub', 'nurse-ada', '--scope', 'care.read.user care.write']
const good = [...options, '--audience', audience, '--typ', 'care+jwt']

const folder = mkdtempSync(join(tmpdir(), 'tallystick-token-'))
const file = join(folder, 'secret')
writeFileSync(file, `${secret}\nan older secret of thirty-two bytes\n`)
afterAll(() => rmSync(folder, { recursive: true }))

const run = (changes: {
  readonly arguments?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}) => runTokenCommand(changes.arguments ?? good, changes.environment ?? { TOKEN_SECRET: secret })

const readVerdict = (token: string) =>
  verifyToken(token.trimEnd(), {
    keys: createTokenKeys([Buffer.from(secret)]),
    audience,
    nowSeconds: Date.now() / 1_000,
  })

/** The claims as written in the token. */
const readClaims = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

describe('tallystick-token', () => {
  test('prints a token that its service accepts', () => {
    const result = run({})
    expect(result).toMatchObject({ exitCode: 0, stderr: '' })
    expect(readVerdict(result.stdout)).toMatchObject({
      kind: 'valid',
      claims: { sub: 'nurse-ada', scopes: ['care.read.user', 'care.write'] },
    })
    expect(readClaims(result.stdout).jti).not.toBe(readClaims(run({}).stdout).jti)
  })

  test('--lifetime-seconds sets exp', () => {
    const result = run({ arguments: [...good, '--lifetime-seconds', '60'] })
    const { exp, iat } = readClaims(result.stdout)
    expect(exp - iat).toBe(60)
    expect(Math.abs(iat - Date.now() / 1_000)).toBeLessThan(30)
  })

  test('the secret may come from a file, without its trailing newline; the first line signs', () => {
    const result = run({ environment: { TOKEN_SECRET_FILE: file } })
    expect(readVerdict(result.stdout).kind).toBe('valid')
  })

  test.each([
    ['no secret', {}, 'TOKEN_SECRET: expected at least one secret.'],
    [
      'a short one',
      { TOKEN_SECRET: 'hunter2' },
      'TOKEN_SECRET: secret 1: expected at least 32 bytes.',
    ],
    ['both forms', { TOKEN_SECRET: secret, TOKEN_SECRET_FILE: 'f' }, 'not both'],
    ['no such file', { TOKEN_SECRET_FILE: '/none' }, 'expected the path of a readable file'],
  ])('exit 1, naming the variable but not the secret: %s', (_, environment, problem) => {
    const result = run({ environment })
    expect(result).toMatchObject({ exitCode: 1, stdout: '' })
    expect(result.stderr).toContain(problem)
    expect(result.stderr).not.toMatch(/hunter2|horse|\/none/)
  })

  test.each([
    ['an argument missing', good.slice(2), '--sub is missing.'],
    ['an empty scope', [...good, '--scope', ' '], '--scope is missing.'],
    ['a secret as an argument', [...good, '--secret', secret], 'does not know'],
    ['a slip', [...good, '--life', '60'], 'does not know. Did you mean --lifetime-seconds?'],
    ['a bare word', [...good, secret], 'does not know'],
    ['no lifetime', [...good, '--lifetime-seconds', '0'], 'a whole number from 1'],
    ['over a year', [...good, '--lifetime-seconds', '31536001'], 'to 31536000'],
  ])('exit 2 with the usage: %s', (_, args, problem) => {
    const result = run({ arguments: args })
    expect(result).toMatchObject({ exitCode: 2, stdout: '' })
    expect(result.stderr).toContain(problem)
    expect(result.stderr).toContain('Usage: tallystick-token')
    expect(result.stderr).not.toContain('horse')
  })

  test('--help has an example and --version the version, both with exit 0', () => {
    const help = run({ arguments: ['-h'] })
    expect(help).toMatchObject({ exitCode: 0, stderr: '' })
    expect(help.stdout).toContain('Example: ')
    expect(run({ arguments: ['--version'] })).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(/^tallystick-token \d+\.\d+\.\d+\n$/),
      stderr: '',
    })
  })

  test('the command itself: environment in, token out', async () => {
    const main = fileURLToPath(new URL('main.ts', import.meta.url))
    const start = promisify(execFile)
    const { stdout } = await start(process.execPath, [main, ...good], {
      env: { TOKEN_SECRET_FILE: file },
    })
    expect(readVerdict(stdout)).toMatchObject({ kind: 'valid', claims: { sub: 'nurse-ada' } })
    await expect(start(process.execPath, [main, ...good], { env: {} })).rejects.toMatchObject({
      code: 1,
      stdout: '',
    })
  })
})
