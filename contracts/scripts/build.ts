// Compiles everything, tests included, into the folder that scripts/test.ts uses.
import { forge, WHOLE_BUILD } from './foundry.ts'

const run = forge(['build'], WHOLE_BUILD)
process.stdout.write(run.stdout)
process.stderr.write(run.stderr)
process.exitCode = run.exitCode
