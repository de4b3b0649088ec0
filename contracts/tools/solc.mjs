#!/usr/bin/env node
// A `solc` for forge on machines without a native compiler: solc-js behind solc's command line.
// forge calls `--version` once and `--standard-json` (input on stdin) per compilation.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const solc = createRequire(import.meta.url)('solc')
const args = process.argv.slice(2)
let out
if (args.includes('--version')) {
  // solc-js says "0.8.37+commit.x.Emscripten.clang"; svm/semver wants the native form
  out = `solc, the solidity compiler commandline interface\nVersion: ${solc.version().replace('.Emscripten.clang', '.Linux.g++')}\n`
} else if (args.includes('--standard-json')) {
  out = solc.compile(readFileSync(0, 'utf8'))
} else {
  process.stderr.write(`solc shim: unsupported arguments: ${args.join(' ')}\n`)
  process.exit(1)
}
// exit only after the pipe took everything: process.exit() right after write() cuts output at 64 KiB
process.stdout.write(out, () => process.exit(0))
