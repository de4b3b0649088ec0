import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A temporary folder that is removed when its scope ends. */
export function temporaryFolder(): Disposable & { readonly file: (name: string) => string } {
  const path = mkdtempSync(join(tmpdir(), 'tallystick-bench-'))
  return {
    file: (name) => join(path, name),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}
