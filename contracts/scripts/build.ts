// Compiles everything, tests included, where scripts/test.ts finds it.
import { forge, WHOLE_BUILD } from './foundry.ts'

const run = forge(['build'], WHOLE_BUILD)
process.stdout.write(run.stdout)
process.stderr.write(run.stderr)
process.exitCode = run.exitCode
