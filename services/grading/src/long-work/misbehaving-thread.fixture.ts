/** A thread that dies, hangs or finds no store as its job says, and does any other job. */
import { parentPort } from 'node:worker_threads'

const wishes: Readonly<Record<string, () => void>> = {
  hang: () => {
    for (;;);
  },
  die: () => process.exit(3),
  throw: () => {
    throw new Error('outside of any job')
  },
  eat: () => {
    const eaten: unknown[] = []
    for (;;) eaten.push(Array.from({ length: 1_000 }, (_, index) => ({ index })))
  },
}

parentPort?.on('message', ({ input, name }: { input: { text?: string }; name: string }) => {
  wishes[input.text ?? '']?.()
  parentPort?.postMessage(
    input.text === 'freeze'
      ? { kind: 'store_unavailable', message: 'frozen' }
      : { kind: 'done', answer: `${name} ${input.text}` },
  )
})
