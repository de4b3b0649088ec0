import { expect, test } from 'vitest'
import { decodeFile } from './decode-file.ts'

const text = 'Date,Home,Away,Odds\n2024-04-23,Köln,Málaga,2.1\n'
const little = Buffer.from(text, 'utf16le')

test.each([
  ['UTF-8', Buffer.from(text)],
  ['UTF-8 with its mark', Buffer.from(`\uFEFF${text}`)],
  ['UTF-16 LE with its mark', Buffer.from(`\uFEFF${text}`, 'utf16le')],
  ['UTF-16 BE with its mark', Buffer.from(`\uFEFF${text}`, 'utf16le').swap16()],
  ['UTF-16 LE without it', little],
  ['UTF-16 BE without it', Buffer.from(little).swap16()],
  ['Windows-1252', Buffer.from(text, 'latin1')],
])('a file in %s is read', (_name, bytes) => {
  expect(decodeFile(bytes)).toBe(text)
})
