import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Linux counts CPU in ticks of this long, microseconds. */
const TICK_MICROS = 10_000

/** CPU of a PostgreSQL server's processes so far, those that have ended too, microseconds; of the server in a folder. */
export function readDatabaseCpuMicros(folder: string): number {
  const server = readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0] ?? ''
  const processes = readFileSync(`/proc/${server}/task/${server}/children`, 'utf8').split(' ')
  return TICK_MICROS * (readTicks(server, 4) + sum(processes.map((pid) => readTicks(pid, 2))))
}

/** Of a process: of its own, 2 numbers, and of those of its children that have ended, 2 more. */
function readTicks(pid: string, numbers: 2 | 4): number {
  if (pid === '') return 0
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // Behind the name, which may have blanks, the fields begin with the third.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return sum(fields.slice(11, 11 + numbers).map(Number))
  } catch {
    // It has just ended: now the server has its ticks.
    return 0
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)
